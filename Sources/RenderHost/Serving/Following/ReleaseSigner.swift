import Bundles
import DiskStorage
import Foundation
import HTTPTransport
import NIOPosix
import Signing
import SystemPackage

/// Signs the releases of a folder, for hosts that ask for signatures.
struct ReleaseSigner: Hashable, Sendable {
  let command: SigningCommand
  /// The time that a manifest is signed for. In the middle of it, it is signed anew.
  let validity: Duration
  /// The folder of the bundles, which has the roots and the status too.
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
    manifest.setTimes(signed: now, expires: now.advanced(by: validity))
    try manifest.checkSignable()
    let bytes = try ServedJSON.bytes(manifest)
    var file = try SignatureFile(of: bytes, as: .manifest)
    file.add(try await command.sign(bytes, as: .manifest))
    return SignedContents(
      manifest: bytes, signatures: try file.encoded(), roots: try await roots(), published: try await status(),
      renewed: now.advanced(by: validity / 2))
  }

  /// Returns `true` if a manifest has to be signed: in the middle of its time, or since there are other roots.
  ///
  /// - Parameter signed: `nil` for a manifest that was not signed yet.
  func isDue(_ signed: SignedContents?, at now: SignedTime) async throws -> Bool {
    guard let signed, let renewed = signed.renewed, now < renewed else { return true }
    return try await signed.roots != roots()
  }

  /// The roots in the folder.
  private func roots() async throws -> [PublishedRoot] {
    try await NIOThreadPool.singleton.runIfActive { [self] in
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      let found = names.compactMap { name -> PublishedRoot? in
        guard let version = PublishedRoot.version(ofFile: name), let bytes = read(name) else { return nil }
        return PublishedRoot(version: version, bytes: bytes, signatures: read(name + SignatureFile.suffix))
      }
      return found.sorted { $0.version < $1.version }
    }
  }

  /// The status in the folder; `nil` if it has none.
  func status() async throws -> PublishedStatus? {
    try await NIOThreadPool.singleton.runIfActive { [self] in
      let signatures = read(ReleaseStatus.fileName + SignatureFile.suffix)
      return read(ReleaseStatus.fileName).map { PublishedStatus(bytes: $0, signatures: signatures) }
    }
  }

  private func read(_ name: String) -> [UInt8]? {
    FileSystem.contents(of: StorePath(FilePath(folder), [name]), upTo: Int(TrustRoot.byteLimit), followsLink: true)
  }
}
