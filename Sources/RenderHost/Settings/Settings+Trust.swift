import Foundation
import PageKit
import ServerKit
import Signing

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

  /// The command that signs the folder's releases; `nil` if none does.
  ///
  /// - Throws: ``SettingsError/combination(_:)`` if the public key cannot be used.
  func signingCommand() throws -> SigningCommand? {
    guard let signWith, let publicKey else { return nil }
    guard let data = FileManager.default.contents(atPath: publicKey) else {
      throw SettingsError.combination("--public-key: the file \(publicKey) cannot be read")
    }
    do {
      return SigningCommand(signWith, key: try VerificationKey(pem: Array(data)))
    } catch {
      throw SettingsError.combination("--public-key: \(publicKey): \(error)")
    }
  }
}
