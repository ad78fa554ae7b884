import Foundation
import PageKit
import ServerKit

/// The framework files and preludes that settings name.
enum FrameworkFiles {
  /// The names of the known types.
  static var known: String {
    let names = BundleType.allCases.map(\.rawValue)
    return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
  }

  /// Reads the files of types.
  ///
  /// - Parameters:
  ///   - files: paths by the names of types.
  ///   - key: the setting that names them.
  /// - Throws: ``SettingsError/combination(_:)`` for the first that cannot be used.
  static func read(_ files: [String: String], of key: SettingKey) throws -> [BundleType: String] {
    var texts: [BundleType: String] = [:]
    for (name, file) in files.sorted(by: { $0.key < $1.key }) {
      let (type, text) = try read(name, file, of: key)
      texts[type] = text
    }
    return texts
  }

  /// - Throws: ``SettingsError/combination(_:)``.
  static func read(_ name: String, _ file: String, of key: SettingKey) throws -> (BundleType, String) {
    guard let type = BundleType(named: name) else {
      throw SettingsError.combination("\(key.flag): there is no type \"\(name)\": use \(known)")
    }
    guard let data = FileManager.default.contents(atPath: file) else {
      throw SettingsError.combination("\(key.flag): the file \(file) of \(name) cannot be read")
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw SettingsError.combination("\(key.flag): the file \(file) of \(name) is not UTF-8")
    }
    return (type, text)
  }
}
