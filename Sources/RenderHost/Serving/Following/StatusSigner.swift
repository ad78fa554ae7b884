import Bundles
import HTTPTransport
import Signing
import Synchronization

/// Signs the status of the release that is served, with an online key of this host.
final class StatusSigner: Sendable {
  let command: SigningCommand
  /// The time that a status is signed for. In the middle of it, it is signed anew.
  private let validity: Duration
  /// `true` if the published status is another server's, which this host does not extend: whoever hides newer ones from
  /// it would hide them from its clients too.
  private let isBounded: Bool
  private let last = Mutex<Int64>(0)

  /// - Returns: `nil` if the settings name no command.
  /// - Throws: ``SettingsError/combination(_:)`` if the public key cannot be used.
  convenience init?(_ settings: Settings) throws {
    guard let command = try settings.statusCommand() else { return nil }
    self.init(command, validity: settings.statusSignedFor, isBounded: settings.manifest != nil)
  }

  init(_ command: SigningCommand, validity: Duration, isBounded: Bool) {
    (self.command, self.validity, self.isBounded) = (command, validity, isBounded)
  }

  /// Gives a signed manifest the status of this host.
  ///
  /// - Parameters:
  ///   - release: the manifest's release.
  ///   - former: the contents of the same release that are served now; `nil` for the first.
  /// - Throws: ``SigningCommandError``, ``TrustError``.
  func addStatus(
    to signed: inout SignedContents, of release: StoredRelease, isHalted: Bool, after former: SignedContents?,
    at now: SignedTime
  ) async throws {
    if let former, let renewed = former.statusRenewed, now < renewed, former.isHalted == isHalted,
      former.manifest == signed.manifest, former.published?.bytes == signed.published?.bytes
    {
      (signed.status, signed.statusRenewed, signed.isHalted) = (former.status, renewed, isHalted)
      return
    }
    let named = ReleaseStatus.Release(
      name: release.name, sequence: release.sequence, sha256: try SHA256Digest(of: signed.manifest))
    let published = try signed.published.map { try ReleaseStatus(reading: $0.bytes) }
    let sequence = last.withLock { last in
      last = Self.sequence(after: max(last, former?.statusSequence ?? 0, published?.sequence ?? 0), at: now)
      return last
    }
    guard
      let status = ReleaseStatus(
        renewing: published, of: named, sequence: sequence, isHalted: isHalted, signedFor: validity,
        isBounded: isBounded, at: now)
    else { return }
    let bytes = try status.encoded()
    var file = try SignatureFile(of: bytes, as: .status)
    file.add(try await command.sign(bytes, as: .status))
    signed.status = PublishedStatus(bytes: bytes, signatures: try file.encoded())
    signed.statusRenewed = now.advanced(by: .seconds((status.expires.seconds - now.seconds) / 2))
    signed.isHalted = isHalted
  }

  /// The time as a number, so that a host that has lost its store, or a second one, never lowers it.
  static func sequence(after last: Int64, at now: SignedTime) -> Int64 {
    max(now.seconds, last == .max ? last : last + 1)
  }
}

extension ReleaseStatus {
  /// The status that a host signs in the place of a published one.
  ///
  /// - Parameters:
  ///   - published: the status beside the manifest, by a person or another server; `nil` for none. What it disables stays
  ///     so; its halt and its way back are those of its own release.
  ///   - isHalted: `true` if this host halts the release.
  ///   - isBounded: `true` to end with the published one.
  /// - Returns: `nil` if the published one is over.
  init?(
    renewing published: ReleaseStatus?, of release: Release, sequence: Int64, isHalted: Bool,
    signedFor validity: Duration,
    isBounded: Bool, at now: SignedTime
  ) {
    var expires = now.advanced(by: validity)
    if isBounded, let published { expires = min(expires, published.expires) }
    guard now < expires else { return nil }
    let isSame = published.map { ($0.release.name, $0.release.sequence) == (release.name, release.sequence) } ?? false
    self.init(
      sequence: sequence, signed: now, expires: expires, release: release, disabled: published?.disabled ?? [],
      rollbackTo: isSame ? published?.rollbackTo : nil, isHalted: isHalted || isSame && published?.isHalted == true)
  }
}
