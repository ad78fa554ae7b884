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
    return try Self.file(root, of: .root) { try ReleaseTrust(root: $0, freshFor: freshFor) }
  }

  /// The command that signs the folder's releases; `nil` if none does.
  ///
  /// - Throws: ``SettingsError/combination(_:)`` if the public key cannot be used.
  func signingCommand() throws -> SigningCommand? {
    guard let signWith, let publicKey else { return nil }
    return SigningCommand(
      signWith, key: try Self.file(publicKey, of: .publicKey) { try VerificationKey(pem: $0) })
  }

  /// The command that signs statuses; `nil` if none does.
  ///
  /// - Throws: ``SettingsError/combination(_:)`` if the public key cannot be used.
  func statusCommand() throws -> SigningCommand? {
    guard let statusSignWith, let statusPublicKey else { return nil }
    let key = try Self.file(statusPublicKey, of: .statusPublicKey) { try VerificationKey(pem: $0) }
    return SigningCommand(statusSignWith, key: key, option: SettingKey.statusSignWith.flag)
  }

  /// The keys with which the tokens of installs are checked; none if no reports are taken.
  ///
  /// - Throws: ``SettingsError/combination(_:)`` if one cannot be used.
  func reportVerificationKeys() throws -> [VerificationKey] {
    try reportKeys.map { try Self.file($0, of: .reportKey) { try VerificationKey(pem: $0) } }
  }

  /// Reads the file of a setting.
  ///
  /// - Throws: ``SettingsError/combination(_:)`` with the flag and the path.
  private static func file<Value>(
    _ path: String, of key: SettingKey, _ read: ([UInt8]) throws -> Value
  ) throws -> Value {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw SettingsError.combination("\(key.flag): the file \(path) cannot be read")
    }
    do {
      return try read(Array(data))
    } catch {
      throw SettingsError.combination("\(key.flag): \(path): \(error.sentence)")
    }
  }
}
