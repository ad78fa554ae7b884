import Bundles
import Foundation
import HTTPTransport
import Signing

/// Signs the releases of a folder, for hosts that ask for signatures.
struct ReleaseSigner: Hashable, Sendable {
  let command: SigningCommand
  /// The time that a manifest is signed for. In the middle of it, it is signed anew.
  let validity: Duration
  /// The folder of the bundles, which has the roots too.
  let folder: String

  /// - Returns: `nil` if the settings name no command.
  /// - Throws: ``SettingsError/combination(_:)`` if the public key cannot be used.
  init?(_ settings: Settings) throws {
    guard let bundles = settings.bundles, let command = try settings.signingCommand() else { return nil }
    (self.command, validity) = (command, settings.signedFor)
    folder = URL(fileURLWithPath: bundles).standardizedFileURL.path
  }

  /// - Throws: ``SigningCommandError``, ``TrustError``.
  func sign(_ manifest: Manifest, at now: SignedTime) async throws -> SignedContents {
    var manifest = manifest
    let expires = now.advanced(by: validity)
    manifest.setTimes(signed: now, expires: expires)
    try manifest.checkSignable()
    let bytes = try ServedRelease.bytes(manifest)
    var file = try SignatureFile(of: bytes, as: .manifest)
    file.add(
      .init(
        keyID: command.key.id,
        bytes: try await command.signature(over: SignedKind.manifest.message(bytes))))
    return SignedContents(
      manifest: bytes, signatures: try file.encoded(), roots: roots(), renewed: now.advanced(by: validity / 2))
  }

  /// Returns `true` if a manifest has to be signed anew: in time, or since there are other roots.
  func isDue(_ signed: SignedContents, at now: SignedTime) -> Bool {
    signed.renewed.map { now >= $0 } ?? true || signed.roots != roots()
  }

  /// The roots in the folder. Those that are none are left out.
  private func roots() -> [PublishedRoot] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let found = names.compactMap { name -> PublishedRoot? in
      guard let version = PublishedRoot.version(ofFile: name), let bytes = read(name) else { return nil }
      return PublishedRoot(version: version, bytes: bytes, signatures: read(name + SignatureFile.suffix))
    }
    return found.sorted { $0.version < $1.version }
  }

  private func read(_ name: String) -> [UInt8]? {
    guard let file = FileHandle(forReadingAtPath: "\(folder)/\(name)") else { return nil }
    defer { try? file.close() }
    guard let data = try? file.read(upToCount: Int(TrustRoot.byteLimit) + 1), data.count <= TrustRoot.byteLimit else {
      return nil
    }
    return Array(data)
  }
}
