import Foundation
import PageKit
import ServerKit

extension Settings {
  /// The keys of ``root``; `nil` if no signatures are asked for.
  ///
  /// - Throws: ``SettingsError/combination(_:)`` if the file is no root.
  func trust() throws -> ReleaseTrust? {
    guard let root else { return nil }
    guard let data = FileManager.default.contents(atPath: root) else {
      throw SettingsError.combination("--root: the file \(root) cannot be read")
    }
    do {
      return try ReleaseTrust(root: Array(data), freshFor: freshFor)
    } catch {
      throw SettingsError.combination("--root: \(root): \(error)")
    }
  }
}
