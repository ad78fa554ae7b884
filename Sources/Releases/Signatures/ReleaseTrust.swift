import HTTPTransport

/// The keys whose signatures a host asks for, as a root lists them.
///
/// The root that the app has is the beginning: the host follows it to the newest one that is published beside the
/// manifest, each of which enough keys of the one before have signed.
public struct ReleaseTrust: Hashable, Sendable {
  package let root: TrustRoot
  /// The longest time since a manifest was signed, or the status beside it if the root has the role `online`; `nil` if
  /// only the end counts that they give themselves. A server that hides newer releases is found out after this time.
  public var freshFor: Duration?
  /// `false` for a release that comes without its server, whose status would be over.
  package var needsStatus = true

  /// Makes the trust in a root that the app has.
  ///
  ///     configuration.releases.trust = try ReleaseTrust(root: Data(contentsOf: rootFile), freshFor: .seconds(7 * 86_400))
  ///
  /// - Parameters:
  ///   - root: the bytes of a root, as `bundlectl root new` writes them.
  ///   - freshFor: the longest time since a manifest or its status was signed.
  /// - Throws: ``TrustError/unreadable(_:reason:)`` if the bytes are not a root.
  public init(root: some Sequence<UInt8>, freshFor: Duration? = nil) throws {
    self.init(try TrustRoot(reading: Array(root)), freshFor: freshFor)
  }

  package init(_ root: TrustRoot, freshFor: Duration? = nil) { (self.root, self.freshFor) = (root, freshFor) }

  /// The same for a release that comes without its server.
  package var withoutStatus: ReleaseTrust {
    var trust = self
    trust.needsStatus = false
    return trust
  }
}

/// Decides if a manifest, and the status beside it, are trusted: signed by enough of a root's keys, still valid, and not
/// older than what was trusted before.
package struct ManifestTrust: Sendable {
  package var root: TrustRoot
  /// The longest time since a manifest, or its status, was signed; `nil` if only its `expires` counts. A server that hides
  /// newer releases is found out after this time.
  package var freshFor: Duration?

  /// The time by which the signer's clock may be ahead of the host's.
  static let clockSkew: Duration = .seconds(300)

  package init(root: TrustRoot, freshFor: Duration? = nil) { (self.root, self.freshFor) = (root, freshFor) }

  /// - Parameters:
  ///   - bytes: the manifest's, as they were signed.
  ///   - signatures: those beside it; `nil` if there are none.
  ///   - known: the newest manifest that was trusted before, `nil` if it is not stored any more; `nil` for the first.
  /// - Returns: the times that it is signed for.
  /// - Throws: ``TrustError``.
  @discardableResult
  package func check(
    _ manifest: Manifest, _ bytes: [UInt8], _ signatures: SignatureFile?,
    after known: (sequence: Int64, manifest: Manifest?)?,
    at now: SignedTime
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

  /// Checks a status: that it is signed by enough of the root's keys, still valid, not older than the one that was trusted
  /// before, and of the manifest beside it.
  ///
  /// - Parameters:
  ///   - bytes: the status's, as they were signed.
  ///   - signatures: those beside it; `nil` if there are none.
  ///   - manifest: the one that the server has now.
  ///   - known: the newest status that was trusted before, whose bytes are `nil` if they are not stored any more; `nil` for
  ///     the first.
  /// - Throws: ``TrustError``.
  package func checkStatus(
    _ bytes: [UInt8], _ signatures: SignatureFile?, of manifest: ReleaseStatus.Manifest,
    after known: (sequence: Int64, bytes: [UInt8]?)?, at now: SignedTime
  ) throws -> ReleaseStatus {
    try root.checkExpiry(at: now)
    try root.checkStatus(bytes, signatures)
    let status = try ReleaseStatus(reading: bytes)
    guard now < status.expires else { throw TrustError.expired(.status, at: status.expires) }
    if let freshFor {
      // One from the future would stay fresh for as long as it is ahead.
      let latest = now.advanced(by: Self.clockSkew)
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
    guard status.release.sha256 == manifest.sha256, status.release.sequence == manifest.sequence else {
      throw TrustError.otherManifest(
        named: status.release.name, sequence: status.release.sequence, sha256: status.release.sha256,
        found: manifest.sha256)
    }
    return status
  }
}

/// The times that a manifest was signed for.
package struct SignedSpan: Hashable, Sendable {
  /// `nil` if it does not say.
  package let signed: SignedTime?
  package let expires: SignedTime

  package init(signed: SignedTime?, expires: SignedTime) { (self.signed, self.expires) = (signed, expires) }
}

extension Manifest {
  /// The time from which the manifest is not used any more; `nil` if it does not say.
  package var expires: SignedTime? { time("expires") }
  /// The time at which it was signed; `nil` if it does not say.
  package var signed: SignedTime? { time("signed") }

  private func time(_ key: String) -> SignedTime? {
    guard case .string(let text) = additional[key] else { return nil }
    return SignedTime(text)
  }

  /// Sets both times.
  package mutating func setTimes(signed: SignedTime, expires: SignedTime) {
    additional["signed"] = .string(signed.description)
    additional["expires"] = .string(expires.description)
  }

  /// Removes both times.
  package mutating func removeTimes() {
    additional["signed"] = nil
    additional["expires"] = nil
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
  package func listsTheSame(as other: Manifest) -> Bool {
    release == other.release && base == other.base && bundles == other.bundles && files == other.files
      && identity == other.identity
  }
}
