import HTTPTransport

/// The reason why something signed is not trusted. Nothing of it is used.
package enum TrustError: Error, Hashable, CustomStringConvertible {
  /// A file is not what it should be.
  ///
  /// - Parameters:
  ///   - subject: such as `the root`.
  ///   - reason: a clause.
  case unreadable(_ subject: String, reason: String)
  /// There is no signature.
  case unsigned(SignedKind)
  /// Fewer keys have signed than must.
  case wronglySigned(SignedKind, valid: Int, threshold: Int)
  /// The signature file says that it is of other bytes.
  case otherBytes(SignedKind)
  /// A root's time is over.
  case expiredRoot(version: Int64, at: SignedTime)
  /// A root is not the next one.
  case wrongRootVersion(expected: Int64, found: Int64)
  /// The time of a manifest or a status is over.
  case expired(SignedKind = .manifest, at: SignedTime)
  /// A manifest has no `expires`.
  case unlimited
  /// The sequence of a manifest or a status is lower than one that was trusted before.
  case rollback(SignedKind = .manifest, known: Int64, found: Int64)
  /// Two manifests, or two statuses, have the same sequence.
  case ambiguous(SignedKind = .manifest, sequence: Int64)
  /// A manifest or a status does not say when it was signed, or that was too long ago.
  case frozen(SignedKind = .manifest, signed: SignedTime?, oldest: SignedTime)
  /// A manifest or a status says that it was signed later than now.
  case future(SignedKind = .manifest, signed: SignedTime, latest: SignedTime)
  /// There are more roots than are followed at once. Those that were followed are remembered.
  case moreRoots(after: Int64)
  /// The root has the role `online`, and there is no status.
  case noStatus
  /// The status is of another manifest than the one that the server has.
  case otherManifest(named: ReleaseStatus.Release, found: SHA256Digest)
  /// Entries lack the `sha256` or `size` that binds their bytes.
  case unbound(entry: String, count: Int)
  /// A manifest is of another program, whose form binds no bytes.
  case foreign(dialect: String)

  package var description: String {
    switch self {
    case .unreadable(let subject, let reason): return "\(subject) cannot be read: \(reason)"
    case .unsigned(let kind): return "the \(kind.noun) is not signed: there is no signature file of it"
    case .wronglySigned(let kind, let valid, let threshold):
      return "the \(kind.noun) has valid signatures of \(valid) trusted keys, \(threshold) are needed"
    case .otherBytes(let kind): return "the signature file beside the \(kind.noun) is of other bytes"
    case .expiredRoot(let version, let time):
      return "the root, version \(version), has expired at \(time): its keys have to sign the next one"
    case .wrongRootVersion(let expected, let found):
      return "the next root must have version \(expected), found \(found)"
    case .expired(let kind, let time): return "the \(kind.noun) has expired at \(time): it has to be signed anew"
    case .unlimited: return "the manifest is signed for ever: give it \"expires\", a time such as 2027-01-01T00:00:00Z"
    case .rollback(let kind, let known, let found):
      return "the \(kind.noun) has sequence \(found), but \(known) was trusted before: a server may not go back"
    case .ambiguous(let kind, let sequence):
      return "the \(kind.noun) has sequence \(sequence), which another one with other bytes has too"
    case .frozen(let kind, let signed, let oldest):
      let found = signed.map { "was signed at \($0)" } ?? "does not say when it was signed (\"signed\")"
      return "the \(kind.noun) \(found), which must be after \(oldest): the server may hide newer ones"
    case .future(let kind, let signed, let latest):
      return
        "the \(kind.noun) was signed at \(signed), which must not be after \(latest): check the clocks of this host and of the one that signs"
    case .moreRoots(let version):
      return
        "root \(version) is trusted, and newer ones follow it: nothing is taken until the newest is reached, and the next check goes on from there"
    case .noStatus:
      return
        "there is no \(ReleaseStatus.fileName) beside the manifest, which the root's role \"online\" asks for: make one with \"bundlectl manifest status\""
    case .otherManifest(let named, let found):
      return
        "the status is of release \(named.name), sequence \(named.sequence), whose manifest has the SHA-256 \(named.sha256); the server's has \(found)"
    case .unbound(let entry, let count):
      let rest = count > 1 ? ", and \(count - 1) more entries," : ""
      return "the manifest's \(entry)\(rest) must have \"sha256\" and \"size\", so that the signature binds the bytes"
    case .foreign(let dialect):
      return "the manifest is of \(dialect), whose form cannot be signed: build one with \"bundlectl manifest build\""
    }
  }
}
