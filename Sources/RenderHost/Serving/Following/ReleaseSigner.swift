import Blobs
import Bundles
import Foundation
import HTTPTransport
import NIOPosix
import PageKit
import Releases
import ServerKit
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

  /// - Throws: ``DescribedError``, ``TrustError``.
  func sign(_ manifest: Manifest, at now: SignedTime) async throws -> SignedContents {
    var manifest = manifest
    manifest.setTimes(signed: now, expires: now.advanced(by: validity))
    try manifest.checkSignable()
    let bytes = try manifest.servedJSON()
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

/// Signs the status of the release that is served, with an online key of this host.
struct StatusSigner: Sendable {
  let command: SigningCommand
  /// The time that a status is signed for. In the middle of it, it is signed anew.
  let validity: Duration
  /// `true` if the published status is another server's. An attacker who hides newer ones from this host must not hide
  /// them from its clients too: a status is signed for the time of the other server's last answer, and ends with its own.
  let isBounded: Bool

  /// - Returns: `nil` if the settings name no command.
  /// - Throws: ``SettingsError/combination(_:)`` if the public key cannot be used.
  init?(_ settings: Settings) throws {
    guard let command = try settings.statusCommand() else { return nil }
    self.init(command, validity: settings.statusSignedFor, isBounded: settings.manifest != nil)
  }

  init(_ command: SigningCommand, validity: Duration, isBounded: Bool) {
    (self.command, self.validity, self.isBounded) = (command, validity, isBounded)
  }

  /// Gives a signed manifest the status of this host. Where none can be signed, it keeps the published one.
  ///
  /// - Parameters:
  ///   - release: the manifest's release.
  ///   - former: the contents of the same release that are served now; `nil` for the first.
  ///   - root: the newest root that is known; `nil` if none is.
  ///   - verified: the time at which the other server last answered; `nil` if it has not.
  ///   - sequence: returns the next sequence, which is not lower than its argument.
  /// - Throws: ``TrustError``, ``DescribedError``.
  func addStatus(
    to signed: inout SignedContents, of release: StoredRelease, isHalted: Bool, after former: SignedContents?,
    root: TrustRoot?, verified: SignedTime?, at now: SignedTime, sequence: (Int64) async throws -> Int64
  ) async throws {
    if let root, !root.allowsStatuses(of: command.key) {
      throw DescribedError(
        "root \(root.version) does not give the key \(command.key.id) of --status-public-key the role \"online\", so that "
          + "hosts refuse what it signs: make a root that does")
    }
    let published: PublishedDirectives? = try signed.published.map { status in
      isBounded
        ? PublishedDirectives(try ReleaseStatus(reading: status.bytes))
        : PublishedDirectives(try ReleaseStatus.Directives(reading: status.bytes))
    }
    guard let times = times(published, verified: verified, at: now) else { return }
    if let former, let own = former.ownStatus, own.isHalted == isHalted, former.manifest == signed.manifest,
      former.published?.bytes == signed.published?.bytes, now < own.times.renewed || times.signed <= own.times.signed
    {
      (signed.status, signed.ownStatus) = (former.status, own)
      return
    }
    let status = ReleaseStatus(
      published?.directives,
      of: ReleaseStatus.Release(
        name: release.name, sequence: release.sequence, sha256: try SHA256Digest(of: signed.manifest)),
      sequence: try await sequence(max(now.seconds, published?.next ?? 0)), signed: times.signed,
      expires: times.expires, isHalted: isHalted)
    if let fault = status.fault { throw TrustError.unreadable("the status", reason: fault) }
    let bytes = try status.encoded()
    var file = try SignatureFile(of: bytes, as: .status)
    file.add(try await command.sign(bytes, as: .status))
    signed.status = PublishedStatus(bytes: bytes, signatures: try file.encoded())
    signed.ownStatus = (times, isHalted)
  }

  /// The times of a status that is signed now; `nil` if it would be over.
  func times(_ published: PublishedDirectives?, verified: SignedTime?, at now: SignedTime) -> StatusTimes? {
    var times = StatusTimes(signed: now, expires: now.advanced(by: validity))
    if isBounded {
      guard let signed = verified ?? published?.signed else { return nil }
      times.signed = min(signed, now)
      times.expires = times.signed.advanced(by: validity)
      if let end = published?.expires { times.expires = min(times.expires, end) }
    }
    return now < times.expires ? times : nil
  }
}

/// The time that a status is signed for.
struct StatusTimes: Hashable, Sendable {
  var signed: SignedTime
  var expires: SignedTime

  /// The time at which it is signed anew.
  var renewed: SignedTime { SignedTime(seconds: signed.seconds + (expires.seconds - signed.seconds) / 2) }
}

/// The status of the folder or of another server, from which this host makes its own.
struct PublishedDirectives: Hashable, Sendable {
  let directives: ReleaseStatus.Directives
  /// `nil` for a folder's, which is what its owner wants now.
  var sequence: Int64?
  var signed: SignedTime?
  var expires: SignedTime?

  /// The least sequence of a status that is made from it.
  var next: Int64? { sequence.map { $0 < .max ? $0 + 1 : $0 } }

  init(_ directives: ReleaseStatus.Directives) { self.directives = directives }

  init(_ status: ReleaseStatus) {
    directives = ReleaseStatus.Directives(status)
    (sequence, signed, expires) = (status.sequence, status.signed, status.expires)
  }
}
