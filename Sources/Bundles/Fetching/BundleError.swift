import HTTPTransport
import Logging
import Synchronization

/// The reason why a bundle cannot be loaded. The store is unchanged. `bundle` is the bundle's name or URL.
public enum BundleError: Error, CustomStringConvertible {
  /// The bytes do not have the digests that the server gives, even past all caches.
  case mismatch(bundle: String, url: PageURL, difference: String, tries: Int)
  /// The response is HTML, not a script.
  case html(bundle: String, url: PageURL, contentType: String?)
  /// The response has no content.
  case empty(bundle: String, url: PageURL)
  /// The response is not UTF-8 text.
  case notUTF8(bundle: String, url: PageURL)
  /// The content has more than `limit` bytes.
  case tooLarge(bundle: String, url: PageURL, limit: Int64)
  /// The transfer failed, after `tries` attempts, because of the error.
  case failed(bundle: String, tries: Int, any Error)
  /// The bundle is not stored, and the network may not be used.
  case notStored(bundle: String)
  /// The file of a `file:` URL cannot be read.
  case unreadableFile(bundle: String, path: String, reason: String)
  /// The bundle is not stored, and the server has sent no bytes for this long.
  case noProgress(bundle: String, url: PageURL, after: Duration)
  /// The host asks for signatures, and no signed manifest lists the bundle.
  case notSigned(bundle: String, url: PageURL)
  /// The bundle is in no other release than one that is bad on this device, for this reason.
  case onlyInBadRelease(bundle: String, url: PageURL, reason: String)
  /// The publisher has disabled the bundle, and tells the user why in `message`.
  case disabled(bundle: String, message: String)

  public var description: String {
    switch self {
    case .mismatch(let bundle, let url, let difference, let tries):
      "bundle \(bundle.quotedForMessage): \(difference) (\(Self.count(tries)), \(url))"
    case .html(let bundle, let url, let type):
      "bundle \(bundle.quotedForMessage): the answer is HTML, not a script (\(type ?? "no Content-Type"), \(url))"
    case .empty(let bundle, let url):
      "bundle \(bundle.quotedForMessage): the answer is empty (\(url))"
    case .notUTF8(let bundle, let url):
      "bundle \(bundle.quotedForMessage): the answer is not UTF-8 text (\(url))"
    case .tooLarge(let bundle, let url, let limit):
      "bundle \(bundle.quotedForMessage): it has more than the limit of \(limit) bytes (\(url))"
    case .failed(let bundle, let tries, let error):
      "bundle \(bundle.quotedForMessage): \(error.sentence) (\(Self.count(tries)))"
    case .notStored(let bundle):
      "bundle \(bundle.quotedForMessage) is not in the store, and the network may not be asked"
    case .unreadableFile(let bundle, let path, let reason):
      "bundle \(bundle.quotedForMessage): \(path) cannot be read: \(reason)"
    case .noProgress(let bundle, let url, let limit):
      "bundle \(bundle.quotedForMessage): the server has sent nothing for \(limit.inSeconds), and nothing is stored (\(url))"
    case .notSigned(let bundle, let url):
      "bundle \(bundle.quotedForMessage): no signed manifest lists it, and this host runs nothing else (\(url))"
    case .onlyInBadRelease(let bundle, let url, let reason):
      "bundle \(bundle.quotedForMessage): \(reason), and the current release does not have the bundle (\(url))"
    case .disabled(let bundle, let message):
      "bundle \(bundle.quotedForMessage) is disabled by its publisher: \(message)"
    }
  }

  private static func count(_ tries: Int) -> String { tries == 1 ? "1 try" : "\(tries) tries" }

  /// `true` if the cause may be an outdated manifest, so that the server should be asked for its digests again.
  var mayBeOutdatedManifest: Bool {
    if case .mismatch = self { true } else { false }
  }
}

extension BundleError: RetryableError {
  package var isRetryable: Bool {
    if case .failed(_, _, let cause) = self { RetryPolicy.mayPass(cause) } else { false }
  }

  package var retryAfter: Duration? {
    if case .failed(_, _, let cause) = self { RetryPolicy.retryAfter(cause) } else { nil }
  }
}

/// The reason why a page cannot get a part of its release.
public enum ReleaseError: Error, Hashable, CustomStringConvertible {
  /// The server has the newer release `latest`, and the bytes of this one are neither stored nor on the server.
  case superseded(entry: String, release: String, latest: String, reason: String)
  /// The bytes are not stored, and the network may not be used.
  case notStored(entry: String, release: String)

  public var description: String {
    switch self {
    case .superseded(let entry, let release, let latest, let reason):
      "\(entry.quotedForMessage) of release \(release) cannot be had: the server has release \(latest) now, and a page never mixes the two; reload the page (\(reason))"
    case .notStored(let entry, let release):
      "\(entry.quotedForMessage) of release \(release) is not in the store, and the network may not be asked"
    }
  }
}

/// A failure that ends a whole round of a preload.
package enum PreloadError: Error, Hashable, CustomStringConvertible {
  /// The disk has too little space; both values are in bytes.
  case notEnoughSpace(needed: Int64, available: Int64)
  /// The release has more than `limit` bytes.
  case releaseTooLarge(limit: Int64)
  /// The store's folder cannot be written.
  case readOnly(reason: String)

  package var description: String {
    switch self {
    case .notEnoughSpace(let needed, let available):
      "the release needs \(needed) bytes, with 16 MiB to spare, and the disk has \(available) left: free some space and try again"
    case .readOnly(let reason): "nothing is preloaded, since nothing would be kept: \(reason)"
    case .releaseTooLarge(let limit): "the release has more than the limit of \(limit) bytes"
    }
  }
}
