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
  /// A manifest's time is over.
  case expired(at: SignedTime)
  /// A manifest has no `expires`.
  case unlimited
  /// A manifest's sequence is lower than one that was trusted before.
  case rollback(known: Int64, found: Int64)
  /// Two manifests have the same sequence.
  case ambiguous(sequence: Int64)
  /// A manifest does not say when it was signed, or that was too long ago.
  case frozen(signed: SignedTime?, oldest: SignedTime)
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
    case .expired(let time): return "the manifest has expired at \(time): it has to be signed anew"
    case .unlimited: return "the manifest is signed for ever: give it \"expires\", a time such as 2027-01-01T00:00:00Z"
    case .rollback(let known, let found):
      return "the manifest has sequence \(found), but \(known) was trusted before: a server may not go back"
    case .ambiguous(let sequence):
      return "the manifest has sequence \(sequence), which another one with other bytes has too"
    case .frozen(let signed, let oldest):
      let found = signed.map { "was signed at \($0)" } ?? "does not say when it was signed (\"signed\")"
      return "the manifest \(found), which must be after \(oldest): the server may hide newer releases"
    case .unbound(let entry, let count):
      let rest = count > 1 ? ", and \(count - 1) more entries," : ""
      return "the manifest's \(entry)\(rest) must have \"sha256\" and \"size\", so that the signature binds the bytes"
    case .foreign(let dialect):
      return "the manifest is of \(dialect), whose form cannot be signed: build one with \"bundlectl manifest build\""
    }
  }
}
