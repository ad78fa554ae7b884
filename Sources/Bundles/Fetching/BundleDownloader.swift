import HTTPTransport
import Synchronization

/// Fetches a bundle and puts it into the store; whoever asks for the same meanwhile gets the same.
public final class BundleDownloader: Sendable {
  /// A bundle that is in the store now.
  public struct Delivery: Sendable {
    public let blob: Blob
    /// Whether it continued what a former attempt had left.
    public let wasResumed: Bool
    /// Whether it was fetched for this; otherwise it had come in just before.
    public let wasFetched: Bool
  }

  private struct Key: Hashable, Sendable {
    let content: ExpectedContent
    let release: Int64?
    /// Tells apart what nothing is known of.
    let url: PageURL?
  }

  private let store: any BundleStoring
  private let fetcher: BundleFetcher
  private let flights = SingleFlight<Key, Delivery>()
  /// What the server was found not to have as one release says, and why.
  private let faults = Mutex<(release: Int64, reasons: [ExpectedContent: String])>((0, [:]))

  public init(store: any BundleStoring, fetcher: BundleFetcher) {
    self.store = store
    self.fetcher = fetcher
  }

  var client: OriginClient { fetcher.client }

  /// Why an optional file of a release cannot be had, where this process has found out: to ask again would not help.
  func knownFault(of content: ExpectedContent, in release: StoredRelease) -> String? {
    faults.withLock { $0.release == release.id ? $0.reasons[content] : nil }
  }

  func noteFault(of content: ExpectedContent, in release: StoredRelease, _ reason: String) {
    faults.withLock { faults in
      if faults.release != release.id { faults = (release.id, [:]) }
      faults.reasons[content] = reason
    }
  }

  /// Returns when the bytes are durable.
  ///
  /// - Parameters:
  ///   - release: that lists the bundle; nil where none does.
  ///   - recent: looks for what may have come in since the caller looked; asked before anything is fetched.
  ///   - began: told where a try begins, behind the wire bytes that are here, and how many there are, where the answer
  ///     tells; where this call is the one that fetches.
  ///   - received: told of wire bytes as they come, likewise.
  ///   - retries: told when a try has failed and another follows, likewise.
  ///   - fetched: told when only the disk is still to be waited for, likewise.
  /// - Throws: ``BundleError``, ``StoreError``, `CancellationError`.
  package func download(
    _ target: FetchTarget, for release: StoredRelease?, recent: @escaping @Sendable () async throws -> Blob? = { nil },
    began: @escaping @Sendable (Int64, Int64?) -> Void = { _, _ in },
    received: @escaping @Sendable (Int) -> Void = { _ in },
    retries: @escaping @Sendable (PreloadUpdate.Retry) -> Void = { _ in },
    fetched didFetch: @escaping @Sendable () -> Void = {}
  ) async throws -> Delivery {
    let key = Key(
      content: target.expected, release: release?.id, url: target.expected.md5 == nil ? target.url : nil)
    return try await flights.value(for: key) { [store, fetcher] in
      if let blob = try await recent() { return Delivery(blob: blob, wasResumed: false, wasFetched: false) }
      let fetched = try await fetcher.fetch(target, began: began, received: received, retries: retries)
      didFetch()
      let blob =
        if let release {
          try await store.add(fetched.download, digests: fetched.digests, to: release)
        } else {
          try await store.add(fetched.download, digests: fetched.digests, for: target.url)
        }
      return Delivery(blob: blob, wasResumed: fetched.wasResumed, wasFetched: true)
    }
  }
}
