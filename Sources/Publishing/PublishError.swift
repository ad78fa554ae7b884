import HTTPTransport
import ObjectStorage

/// The reason why a release cannot be published, or gone back to.
package enum PublishError: Error, Hashable, CustomStringConvertible {
  /// The object in the pointer's place is something else.
  case noPointer(PageURL, reason: String)
  /// Another publisher has switched to a release meanwhile.
  case overtaken(PageURL, by: String)
  /// The store does not refuse a write whose condition does not hold.
  case noConditions(S3Location)
  /// The pointer has no tag, so that it cannot be replaced on condition.
  case noTag(PageURL)
  /// The store's copy of the pointer is another one than it was given.
  case otherCopy(PageURL)
  /// Nothing is published at the location.
  case nothingPublished(S3Location)
  case noRelease(S3Location, named: String)
  /// A manifest or a content that the pointer relies on is not there.
  case missing(PageURL)
  /// The store has other bytes than those it was given, or that a manifest names.
  case otherBytes(PageURL, expected: SHA256Digest, found: SHA256Digest)
  /// The release is for all installs already.
  case notRolledOut(release: String)
  /// There is no release before that the other installs could stay with.
  case firstRelease(String)
  /// Hosts with keys refuse a sequence below one that they have seen.
  case signedBefore(release: String, sequence: Int64, current: Int64)
  /// The folder has a signed manifest, and no key to sign the published one is named.
  case signedFolder(String)
  /// Hosts with keys would refuse a root or the manifest.
  ///
  /// - Parameter subject: its path or URL, or `the manifest`.
  case refusedByHosts(_ subject: String, reason: String)

  package var description: String {
    switch self {
    case .noPointer(let url, let reason): "\(url) is there, and is no pointer of releases: \(reason)"
    case .overtaken(let url, let release):
      "\(url): release \(release) was published meanwhile, and nothing was changed: publish again to follow it"
    case .noConditions(let location):
      "\(location): the store does not refuse a write whose If-Match does not hold, so that two publishers would not notice each other: --journal keeps the pointer in NATS instead, and with --alone nobody else may publish at the same time"
    case .noTag(let url):
      "\(url): the store gives no ETag for it, or a proxy before it removes that, so that two publishers would not notice each other: use the store's own URL, or --alone if nobody else publishes at the same time"
    case .otherCopy(let url):
      "\(url): the store gives another pointer than it was given, again and again: hosts may not see the release that is current"
    case .nothingPublished(let location):
      "\(location): nothing is published there: run \"bundlectl publish DIR \(location)\" first"
    case .noRelease(let location, let name):
      "\(location) has no release \(name.quotedForMessage): \"bundlectl releases \(location)\" shows what it has"
    case .missing(let url): "\(url) is not there, and a published release needs it"
    case .otherBytes(let url, let expected, let found):
      "\(url): the store has bytes with the SHA-256 \(found), and not \(expected)"
    case .notRolledOut(let release):
      "release \(release) is for all installs already: only a new release can be rolled out"
    case .firstRelease(let release):
      "release \(release) is the first one here, so that there is none for the installs that do not get it"
    case .signedBefore(let release, let sequence, let current):
      "release \(release) is signed with the sequence \(sequence), and hosts with keys refuse it after \(current): publish its folder again, which gives it a higher one"
    case .refusedByHosts(let subject, let reason):
      "\(subject): hosts with keys would refuse it, so that nothing was switched to: \(reason)"
    case .signedFolder(let path):
      "\(path) is there, and publishing writes a manifest of its own: name the key that signs it, with --key or --sign-with, and --expires-in"
    }
  }
}
