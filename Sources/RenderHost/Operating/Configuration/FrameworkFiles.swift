import Foundation
import PageKit

/// The framework files that settings name.
enum FrameworkFiles {
  /// The types that there are.
  static var known: String {
    let names = BundleType.allCases.map(\.rawValue)
    return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
  }

  /// Texts by their types.
  ///
  /// - Throws: ``SettingsError/combination(_:)`` for the first that cannot be used.
  static func read(_ settings: Settings) throws -> [BundleType: String] {
    var texts: [BundleType: String] = [:]
    for (name, file) in settings.frameworks.sorted(by: { $0.key < $1.key }) {
      let (type, text) = try read(name, file)
      texts[type] = text
    }
    return texts
  }

  /// - Throws: ``SettingsError/combination(_:)``.
  static func read(_ name: String, _ file: String) throws -> (BundleType, String) {
    guard let type = BundleType(named: name) else {
      throw SettingsError.combination("--framework: there is no type \"\(name)\": use \(known)")
    }
    guard let data = FileManager.default.contents(atPath: file) else {
      throw SettingsError.combination("--framework: the file \(file) of \(name) cannot be read")
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw SettingsError.combination("--framework: the file \(file) of \(name) is not UTF-8")
    }
    return (type, text)
  }
}
