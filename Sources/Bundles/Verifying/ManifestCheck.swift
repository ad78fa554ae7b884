import HTTPCaching
import HTTPTransport
import Logging
import Signing

/// One question to the server for its manifest, and what follows from the answer.
struct ManifestCheck: Sendable {
  let store: BundleStore
  let fetcher: ManifestFetcher
  /// `nil` if no signatures are asked for.
  let signatures: SignatureVerifier?
  /// `nil` if nobody gets the releases from this host.
  let keeper: SignatureKeeper?
  /// The host, of which the release depends.
  let audience: Audience
  let logger: Logger

  /// The wait until a manifest that does not fit its signatures is asked for again.
  private static let publishingPause: Duration = .milliseconds(500)

  /// Asks the server, and registers its manifest in the store.
  ///
  /// - Parameter conditionally: `false` to have the manifest sent even if it is unchanged.
  /// - Throws: ``SourceError``, ``StoreError``, `CancellationError`.
  func ask(conditionally: Bool) async throws -> Verified {
    do {
      return try await askOnce(conditionally: conditionally, isRepeated: false)
    } catch SourceError.untrusted(_, let error) where error.mayBePublishing {
      // The manifest, its signatures and the status are several files: while a release is published, they may be of
      // different ones.
      try await fetcher.pause(Self.publishingPause)
      return try await askOnce(conditionally: false, isRepeated: true)
    }
  }

  /// - Parameter isRepeated: `true` if what the server had before did not fit together.
  private func askOnce(conditionally: Bool, isRepeated: Bool) async throws -> Verified {
    let known = try await store.source(fetcher.source)?.latest
    let former = try await store.choice(of: fetcher.source)
    // An unchanged manifest may have another release for another audience.
    let isConditional = conditionally && former.audience == audience.text
    let answer = try await fetcher.fetch(validators: isConditional ? try await validators(of: known) : Validators())
    switch answer {
    case .unchanged(let validators):
      guard let known else { throw SourceError.notStored(fetcher.source) }
      try await signatures?.check(unchanged: known, namedBy: former.manifest)
      if let keeper, try await store.signatures(of: known) != nil { try await keeper.keepOthers() }
      if validators != known.validators { try await store.setValidators(validators, of: known) }
      logger.debug("the manifest is unchanged", metadata: ["source": "\(fetcher.source)", "release": "\(known.name)"])
      return Verified(release: known, isUnchanged: true)
    case .manifest(let fetched, var validators):
      let (manifest, bytes) = (fetched.manifest, fetched.bytes)
      let listed = try await listed(by: known, beside: manifest, bytes)
      let signatures: ManifestSignatures?
      if let verifier = self.signatures {
        signatures = try await verifier.verify(fetched, sameSequence: listed, conditionally: isConditional)
      } else {
        let kept = try await kept(of: fetched, isRepeated: isRepeated)
        // With the next check the server sends the manifest again, and may have its signatures.
        if case .unusable = kept { validators = Validators() }
        signatures = if case .signatures(let found) = kept { found } else { nil }
      }
      var choice = SourceChoice()
      choice.audience = audience.text
      let verified: Verified
      if let other = try await other(than: fetched, known, validators, isRepeated: isRepeated) {
        choice.manifest = .init(sequence: manifest.sequence, digest: try SHA256Digest(of: bytes))
        verified = other
      } else {
        let release = try await store.register(
          manifest, bytes: bytes, bundles: fetched.bundles, for: fetcher.source, validators: validators,
          signatures: signatures, renewing: listed?.listsTheSame(as: manifest) == true ? known : nil)
        verified = Verified(release: release, isUnchanged: release.id == known?.id && release.name == known?.name)
      }
      if signatures != nil { try await keeper?.keepOthers() }
      if choice != former { try await store.setChoice(choice, of: fetcher.source) }
      logger.debug(
        "the server has a manifest", metadata: ["source": "\(fetcher.source)", "release": "\(verified.release.name)"])
      return verified
    }
  }

  /// The release that this host gets in place of the manifest's; `nil` if it gets that one.
  ///
  /// - Parameter validators: those of the source's manifest, with which it is asked for again.
  private func other(
    than fetched: FetchedManifest, _ known: StoredRelease?, _ validators: Validators, isRepeated: Bool
  ) async throws -> Verified? {
    let manifest = fetched.manifest
    let hasTaken = known.map { $0.sequence == manifest.sequence && $0.name == manifest.release } ?? false
    let install = manifest.rollout == nil ? "" : try await store.installID()
    switch try ManifestChoice(of: manifest, for: audience, install: install, hasTaken: hasTaken) {
    case .this: return nil
    case .none(let reason): throw SourceError.notForThisHost(fetcher.source, reason: reason)
    case .other(let reference):
      if var known, known.digest == reference.sha256 {
        if known.validators != validators { try await store.setValidators(validators, of: known) }
        known.validators = validators
        return Verified(release: known, isUnchanged: true)
      }
      let other = try await fetcher.fetch(reference, namedAt: fetched.url)
      let signed: ManifestSignatures?
      if let signatures {
        signed = try await signatures.verify(named: other)
      } else if case .signatures(let found) = try await kept(of: other, isRepeated: isRepeated) {
        signed = found
      } else {
        signed = nil
      }
      let release = try await store.register(
        other.manifest, bytes: other.bytes, bundles: other.bundles, for: fetcher.source, validators: validators,
        signatures: signed,
        renewing: nil)
      return Verified(release: release, isUnchanged: release.id == known?.id)
    }
  }

  /// The manifest of a known release, if one that is signed or rolled out has the same sequence; `nil` in all other cases.
  private func listed(
    by known: StoredRelease?, beside manifest: Manifest, _ bytes: [UInt8]
  ) async throws -> Manifest? {
    guard let known, known.sequence == manifest.sequence else { return nil }
    let stored = try await store.manifestBytes(of: known)
    let listed = stored == bytes ? manifest : try await fetcher.manifest(reading: stored)
    let isSigned = (signatures != nil || keeper != nil) && manifest.expires != nil
    // Also a rollout that is over: its release stays the same.
    return isSigned || manifest.rollout != nil || listed.rollout != nil ? listed : nil
  }

  /// The signatures that a host without keys keeps for others.
  private func kept(of fetched: FetchedManifest, isRepeated: Bool) async throws -> SignatureKeeper.Kept {
    try await keeper?.signatures(of: fetched, mayBePublishing: !isRepeated) ?? .unsigned
  }

  /// The validators with which the server may say that a release is unchanged.
  private func validators(of known: StoredRelease?) async throws -> Validators {
    guard let known else { return Validators() }
    // Without its signatures an unchanged manifest could not be checked.
    if signatures != nil, try await store.signatures(of: known) == nil { return Validators() }
    return known.validators
  }
}

extension TrustError {
  /// `true` if the manifest, its signatures, the status and its signatures do not fit.
  fileprivate var mayBePublishing: Bool {
    switch self {
    case .unsigned(let kind), .wronglySigned(let kind, _, _), .otherBytes(let kind): kind != .root
    case .noStatus, .otherManifest: true
    default: false
    }
  }
}
