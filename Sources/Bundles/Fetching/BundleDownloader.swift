import Blobs
import Containers
import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Releases
import Synchronization

/// Fetches bundles into the store. Simultaneous calls for the same bundle share one download.
package final class BundleDownloader: Sendable {
  /// A bundle that was put into the store.
  package struct Delivery: Sendable {
    package let blob: Blob
    /// `true` if the download continued a partial one.
    package var wasResumed = false
    /// `true` if the bytes were fetched for this call, `false` if they had been stored just before.
    package var wasFetched = false
    /// `true` if the bytes arrived as the difference from older ones.
    package var wasDelta = false
  }

  private struct Key: Hashable, Sendable {
    let content: ExpectedContent
    let release: Int64?
    /// Distinguishes bundles without an expected digest.
    let url: PageURL?
  }

  /// The stored bytes of other releases' entries, newest first, and the deltas that the release's manifest lists.
  private typealias Bases = (
    release: Int64, stored: [EntryName: [Blob]], listed: [SHA256Digest: [ListedDelta]]
  )

  private let store: BundleStore
  private let fetcher: BundleFetcher
  private let limits: ManifestLimits
  /// The bases of the release that was asked for last.
  private let bases = Mutex<Bases?>(nil)
  private let baseFlights = SingleFlight<Int64, Bases>()
  private let flights = SingleFlight<Key, Delivery>()
  /// The contents of one release that the server does not have as the manifest says, with the reasons.
  private let faults = Mutex<(release: Int64, reasons: [ExpectedContent: String])>((0, [:]))

  /// - Parameter limits: the limits with which the releases' manifests were read.
  package init(store: BundleStore, fetcher: BundleFetcher, limits: ManifestLimits = .standard) {
    self.store = store
    self.fetcher = fetcher
    self.limits = limits
  }

  var client: OriginClient { fetcher.client }

  /// The reason why an optional file of a release cannot be fetched, if this process has tried; another request would
  /// not help.
  func knownFault(of content: ExpectedContent, in release: StoredRelease) -> String? {
    faults.withLock { $0.release == release.id ? $0.reasons[content] : nil }
  }

  func recordFault(of content: ExpectedContent, in release: StoredRelease, _ reason: String) {
    faults.withLock { faults in
      if faults.release != release.id { faults = (release.id, [:]) }
      faults.reasons[content] = reason
    }
  }

  /// Fetches a bundle, and returns when its bytes are durable. The closures are called only if this call starts the
  /// download, not if it joins one.
  ///
  /// - Parameters:
  ///   - release: the release that lists the bundle; `nil` for a bundle that no manifest lists.
  ///   - sharing: `true` if bytes serve that another process has stored, or is downloading.
  ///   - recent: looks for bytes that were stored since the caller last looked; called before any request.
  ///   - began: called when an attempt begins, with the wire bytes already stored and, if the response gives it, the
  ///     size of the whole.
  ///   - received: called with the number of wire bytes that arrived.
  ///   - retries: called when an attempt has failed and another follows.
  ///   - fetched: called when all bytes have arrived and wait to be made durable.
  /// - Throws: ``BundleError``, ``StoreError``, `CancellationError`.
  package func download(
    _ target: FetchTarget, for release: StoredRelease?, sharing: Bool = false,
    recent: @escaping @Sendable () async throws -> Blob? = { nil },
    began: @escaping @Sendable (Int64, Int64?) -> Void = { _, _ in },
    received: @escaping @Sendable (Int) -> Void = { _ in },
    retries: @escaping @Sendable (PreloadUpdate.Retry) -> Void = { _ in },
    fetched didFetch: @escaping @Sendable () -> Void = {}
  ) async throws -> Delivery {
    let key = Key(
      content: target.expected, release: release?.id, url: target.expected.md5 == nil ? target.url : nil)
    return try await flights.value(for: key) { [self] in
      if let blob = try await recent() { return Delivery(blob: blob) }
      var first: BundleDownload?
      if sharing, let release, !target.url.isFile {
        switch try await claim(target, of: release) {
        case .stored(let blob): return Delivery(blob: blob)
        case .download(let download): first = download
        }
      }
      let offer: DeltaOffer?
      do {
        offer = if let release { try await self.offer(for: target, in: release) } else { nil }
      } catch {
        first?.close()
        throw error
      }
      let fetched = try await fetcher.fetch(
        target, into: first, offering: offer, began: began, received: received, retries: retries)
      let blob =
        if let release {
          try await store.add(fetched.download, digests: fetched.digests, to: release, queued: didFetch)
        } else {
          try await store.add(fetched.download, digests: fetched.digests, for: target.url, queued: didFetch)
        }
      return Delivery(
        blob: blob, wasResumed: fetched.wasResumed, wasFetched: true, wasDelta: fetched.wasDelta)
    }
  }

  private func claim(_ target: FetchTarget, of release: StoredRelease) async throws -> BundleClaim {
    let activity = client.activity
    activity.begin(target.url)
    defer { activity.end(target.url) }
    return try await store.claim(target.expected, url: target.url, of: release) { activity.record(target.url) }
  }
}

extension BundleDownloader {
  /// Fetches an entry's bytes into the store. If the server has a newer release, they are fetched by their digest from
  /// `/blobs/SHA256`, which servers such as renderhost offer.
  ///
  /// - Parameter recent: looks for bytes that were stored since the caller last looked.
  /// - Throws: ``BundleError``, ``ReleaseError``, ``StoreError``, `CancellationError`.
  func download(
    _ entry: PageBundle, of release: StoredRelease, recent: @escaping @Sendable () async throws -> Blob?
  ) async throws -> Delivery {
    let target = FetchTarget(entry)
    let byDigest = Self.byDigest(entry, of: release)
    if let byDigest, try await latest(of: release) != nil,
      let delivery = try? await download(byDigest, for: release, recent: recent)
    {
      return delivery
    }
    do {
      return try await download(target, for: release, recent: recent)
    } catch let error as BundleError where error.meansOtherBytes {
      if let byDigest, let delivery = try? await download(byDigest, for: release, recent: recent) {
        return delivery
      }
      guard let latest = try await latest(of: release) else { throw error }
      throw superseded(entry, of: release, by: latest, error)
    }
  }

  /// Fetches a file that a page of the release asks for. If the server has other bytes, it is asked for its manifest
  /// again, so that the error names its newer release.
  ///
  /// - Parameter verifier: the verifier of the host's manifest.
  /// - Throws: ``BundleError``, ``ReleaseError``, ``StoreError``, `CancellationError`.
  func downloadFile(
    _ entry: PageBundle, of release: StoredRelease, verifier: LaunchVerifier?,
    recent: @escaping @Sendable () async throws -> Blob?
  ) async throws -> Delivery {
    do {
      return try await download(entry, of: release, recent: recent)
    } catch let error as BundleError where error.meansOtherBytes {
      _ = try? await verifier?.verifiedUnconditionally()
      guard let latest = try await latest(of: release) else { throw error }
      throw superseded(entry, of: release, by: latest, error)
    }
  }

  private func superseded(
    _ entry: PageBundle, of release: StoredRelease, by latest: StoredRelease, _ error: BundleError
  ) -> ReleaseError {
    .superseded(entry: entry.name, release: release.name, latest: latest.name, reason: error.sentence)
  }

  /// The server's newer release; `nil` if none is known.
  private func latest(of release: StoredRelease) async throws -> StoredRelease? {
    guard let latest = try await store.source(release.source)?.latest, latest.id != release.id else { return nil }
    return latest
  }

  private static func byDigest(_ entry: PageBundle, of release: StoredRelease) -> FetchTarget? {
    // A content with a name of its own is there as long as its release.
    guard entry.location == nil, let sha256 = entry.sha256, !release.source.isFile,
      let url = release.source.resolving("/blobs/\(sha256.hex)")
    else { return nil }
    return FetchTarget(kind: entry.kind, name: entry.name, url: url, expected: entry.expected)
  }
}

extension BundleError {
  /// `true` if the server has other bytes than the requested ones, or none.
  fileprivate var meansOtherBytes: Bool {
    switch self {
    case .mismatch, .html, .empty, .notUTF8: true
    case .failed(_, _, let error): [404, 410].contains((error as? HTTPFault)?.status ?? 0)
    case .tooLarge, .notStored, .unreadableFile, .noProgress, .notSigned, .onlyInBadRelease, .disabled: false
    }
  }
}

/// A bundle or file to fetch: its URL, its name for messages, and its expected digests.
package struct FetchTarget: Hashable, Sendable {
  package let kind: PageBundle.Kind
  package let name: String
  package let url: PageURL
  package let expected: ExpectedContent

  package init(kind: PageBundle.Kind, name: String, url: PageURL, expected: ExpectedContent) {
    self.kind = kind
    self.name = name
    self.url = url
    self.expected = expected
  }

  package init(_ bundle: PageBundle) {
    self.init(kind: bundle.kind, name: bundle.name, url: bundle.contentURL, expected: bundle.expected)
  }
}

/// Stored bytes that resemble those of an entry, which can be had as the difference from them; `listed` is the published
/// delta from these bytes, `nil` if the manifest lists none, and the server is asked for one.
typealias DeltaOffer = (dictionary: ContentDictionary, listed: PageURL?)

// The stored bytes from which an entry's may differ little are its older ones; for a new page, those of the release's
// first bundle.
extension BundleDownloader {
  /// Returns the offer for an entry; `nil` if no such bytes are stored, or if the entry's bytes could not be checked.
  ///
  /// Bytes are named to the origin alone that they came from. RFC 9842 §2.2.2.
  ///
  /// - Throws: `CancellationError`. A store that cannot be read offers nothing.
  private func offer(for target: FetchTarget, in release: StoredRelease) async throws -> DeltaOffer? {
    guard let sha256 = target.expected.sha256, !target.url.isFile else { return nil }
    do {
      let known = try await bases(of: release)
      var bases = known.stored[EntryName(kind: target.kind, name: target.name)] ?? []
      if bases.isEmpty, target.kind == .bundle, let sibling = try await store.firstBundle(of: release)?.blob {
        bases = [sibling]
      }
      let origin = target.url.origin
      var named: [Blob] = []
      for base in bases {
        if try await store.origins(of: base).isSubset(of: [origin]) { named.append(base) }
      }
      let listed = (known.listed[sha256] ?? []).filter { $0.url.origin == origin }
      guard let choice = Self.choice(among: named, listed: listed) else { return nil }
      let bytes = try await store.bytes(of: choice.base).bytes
      return (ContentDictionary(bytes, digest: choice.base.sha256), choice.listed?.url)
    } catch let error as CancellationError {
      throw error
    } catch {
      return nil
    }
  }

  /// Chooses the older bytes that are the dictionary: those with the smallest published delta; without one, the newest.
  ///
  /// - Parameters:
  ///   - bases: the stored older bytes, newest first.
  ///   - listed: the published deltas of the entry.
  /// - Returns: `nil` if there are no bytes that are small enough to be a dictionary.
  static func choice(among bases: [Blob], listed: [ListedDelta]) -> (base: Blob, listed: ListedDelta?)? {
    let bases = bases.filter { $0.size <= ContentDictionary.sizeLimit }
    let published = bases.compactMap { base in listed.first { $0.base == base.sha256 }.map { (base, $0) } }
    if let best = published.min(by: { $0.1.size < $1.1.size }) { return (best.0, best.1) }
    return bases.first.map { ($0, nil) }
  }

  private func bases(of release: StoredRelease) async throws -> Bases {
    if let known = bases.withLock({ $0?.release == release.id ? $0 : nil }) { return known }
    return try await baseFlights.value(for: release.id) { [self] in
      let stored = try await store.formerContents(of: release)
      let manifest =
        stored.isEmpty ? nil : try Manifest(reading: await store.manifestBytes(of: release), limits: limits)
      let found: Bases = (release.id, stored, try manifest?.deltas(at: release.source) ?? [:])
      bases.withLock { $0 = found }
      return found
    }
  }
}
