import HTTPTransport
import Signing

/// Decides if a manifest is trusted: signed by enough of a root's keys, still valid, and not older than what was trusted
/// before.
package struct ManifestTrust: Sendable {
  package var root: TrustRoot
  /// The longest time since a manifest was signed; `nil` if only its `expires` counts. A server that hides newer
  /// releases is found out after this time.
  package var freshFor: Duration?

  /// The time by which the clock of whoever signs may be ahead of the host's.
  static let clockSkew: Duration = .seconds(300)

  /// The newest manifest that was trusted.
  package struct Known: Sendable {
    package let sequence: Int64
    /// `nil` if it is not stored any more.
    package let manifest: Manifest?

    package init(sequence: Int64, manifest: Manifest?) { (self.sequence, self.manifest) = (sequence, manifest) }
  }

  package init(root: TrustRoot, freshFor: Duration? = nil) { (self.root, self.freshFor) = (root, freshFor) }

  /// - Parameters:
  ///   - bytes: the manifest's, as they were signed.
  ///   - signatures: those beside it; `nil` if there are none.
  ///   - known: the newest manifest that was trusted before; `nil` for the first.
  /// - Returns: the times that it is signed for.
  /// - Throws: ``TrustError``.
  @discardableResult
  package func check(
    _ manifest: Manifest, _ bytes: [UInt8], _ signatures: SignatureFile?, after known: Known?, at now: SignedTime
  ) throws -> SignedSpan {
    try root.checkExpiry(at: now)
    try root.check(bytes, signatures, by: .release, as: .manifest)
    try manifest.checkSignable()
    guard let expires = manifest.expires else { throw TrustError.unlimited }
    let span = SignedSpan(signed: manifest.signed, expires: expires)
    try check(span, at: now)
    if let known {
      guard manifest.sequence >= known.sequence else {
        throw TrustError.rollback(known: known.sequence, found: manifest.sequence)
      }
      // It may be signed anew with a later time.
      guard manifest.sequence > known.sequence || known.manifest.map(manifest.listsTheSame) ?? true else {
        throw TrustError.ambiguous(sequence: manifest.sequence)
      }
    }
    return span
  }

  /// Checks that a manifest may still be used.
  ///
  /// - Throws: ``TrustError/expired(_:at:)``, ``TrustError/frozen(_:signed:oldest:)``,
  ///   ``TrustError/future(_:signed:latest:)``.
  package func check(_ span: SignedSpan, at now: SignedTime) throws {
    guard now < span.expires else { throw TrustError.expired(at: span.expires) }
    guard let freshFor else { return }
    let oldest = now.advanced(by: .zero - freshFor)
    guard let signed = span.signed, signed > oldest else {
      throw TrustError.frozen(signed: span.signed, oldest: oldest)
    }
    // One from the future would stay fresh for as long as it is ahead.
    let latest = now.advanced(by: Self.clockSkew)
    guard signed <= latest else { throw TrustError.future(signed: signed, latest: latest) }
  }
}

extension Manifest {
  /// The time from which the manifest is not used any more; `nil` if it does not say.
  package var expires: SignedTime? { time(.expires) }
  /// The time at which it was signed; `nil` if it does not say.
  package var signed: SignedTime? { time(.signed) }

  private enum TimeKey: String {
    case expires, signed
  }

  private func time(_ key: TimeKey) -> SignedTime? {
    guard case .string(let text) = additional[key.rawValue] else { return nil }
    return SignedTime(text)
  }

  /// Sets both times.
  package mutating func setTimes(signed: SignedTime, expires: SignedTime) {
    additional[TimeKey.signed.rawValue] = .string(signed.description)
    additional[TimeKey.expires.rawValue] = .string(expires.description)
  }

  /// Removes both times.
  package mutating func removeTimes() {
    additional[TimeKey.signed.rawValue] = nil
    additional[TimeKey.expires.rawValue] = nil
  }

  /// Checks that a signature of the manifest binds every byte of the release.
  ///
  /// - Throws: ``TrustError/foreign(dialect:)``, ``TrustError/unbound(entry:count:)``.
  package func checkSignable() throws {
    guard dialect == .pageKit else { throw TrustError.foreign(dialect: dialect == .eros ? "Eros" : "weexbox") }
    let unbound = (bundles + files).filter { $0.sha256 == nil || $0.size == nil }
    if let first = unbound.first {
      throw TrustError.unbound(entry: first.name.quotedForMessage, count: unbound.count)
    }
  }

  /// Returns `true` if both are the same release.
  func listsTheSame(as other: Manifest) -> Bool {
    release == other.release && base == other.base && bundles == other.bundles && files == other.files
      && identity == other.identity
  }
}
