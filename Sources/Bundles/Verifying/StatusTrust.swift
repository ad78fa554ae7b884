import HTTPTransport
import Signing

/// Decides if a status is trusted: signed by enough of a root's keys, still valid, not older than what was trusted
/// before, and of the manifest beside it.
package struct StatusTrust: Sendable {
  package var root: TrustRoot
  /// The longest time since a status was signed; `nil` if only its `expires` counts. A server that hides newer statuses,
  /// and with them newer releases, is found out after this time.
  package var freshFor: Duration?

  package init(root: TrustRoot, freshFor: Duration? = nil) { (self.root, self.freshFor) = (root, freshFor) }

  /// A manifest whose signatures were checked.
  package struct SignedManifest: Hashable, Sendable {
    package let sequence: Int64
    /// The SHA-256 of its bytes.
    package let digest: SHA256Digest

    package init(sequence: Int64, digest: SHA256Digest) { (self.sequence, self.digest) = (sequence, digest) }
  }

  /// The newest status that was trusted.
  package struct Known: Sendable {
    package let sequence: Int64
    /// Its bytes; `nil` if they are not stored any more.
    package let bytes: [UInt8]?

    package init(sequence: Int64, bytes: [UInt8]?) { (self.sequence, self.bytes) = (sequence, bytes) }
  }

  /// - Parameters:
  ///   - bytes: the status's, as they were signed.
  ///   - signatures: those beside it; `nil` if there are none.
  ///   - manifest: the one that the server has now.
  ///   - known: the newest status that was trusted before; `nil` for the first.
  /// - Throws: ``TrustError``.
  package func check(
    _ bytes: [UInt8], _ signatures: SignatureFile?, of manifest: SignedManifest, after known: Known?,
    at now: SignedTime
  ) throws -> ReleaseStatus {
    try root.checkExpiry(at: now)
    try root.checkStatus(bytes, signatures)
    let status = try ReleaseStatus(reading: bytes)
    guard now < status.expires else { throw TrustError.expired(.status, at: status.expires) }
    if let freshFor {
      // One from the future would stay fresh for as long as it is ahead.
      let latest = now.advanced(by: ManifestTrust.clockSkew)
      guard status.signed <= latest else { throw TrustError.future(.status, signed: status.signed, latest: latest) }
      let oldest = now.advanced(by: .zero - freshFor)
      guard status.signed > oldest else { throw TrustError.frozen(.status, signed: status.signed, oldest: oldest) }
    }
    if let known {
      guard status.sequence >= known.sequence else {
        throw TrustError.rollback(.status, known: known.sequence, found: status.sequence)
      }
      guard status.sequence > known.sequence || known.bytes.map({ $0 == bytes }) ?? true else {
        throw TrustError.ambiguous(.status, sequence: status.sequence)
      }
    }
    guard status.release.sha256 == manifest.digest, status.release.sequence == manifest.sequence else {
      throw TrustError.otherManifest(named: status.release, found: manifest.digest)
    }
    return status
  }
}
