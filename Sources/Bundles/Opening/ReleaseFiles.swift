import Blobs
import HTTPTransport
import Releases
import Synchronization

/// The files of the releases in a bundle store. An optional file whose bytes on the server differ from the manifest's
/// digest is treated as if the release did not list it.
package final class ReleaseFiles: Sendable {
  /// The files of each release that was looked up, which do not change, and the look-up of the current releases.
  private typealias State = (
    urls: [Int64: Set<PageURL>], current: [Int64], checkedAt: ContinuousClock.Instant?, underway: Task<Void, Never>?
  )

  /// The number of releases whose files are remembered.
  private static let limit = 16

  private let store: BundleStore
  private let downloader: BundleDownloader?
  private let verifier: LaunchVerifier?
  private let state = Mutex<State>(([:], [], nil, nil))

  /// - Parameters:
  ///   - downloader: fetches files that a page's release lists and the store does not have; `nil` to fetch none.
  ///   - verifier: the verifier of the host's manifest.
  package init(_ store: BundleStore, downloader: BundleDownloader? = nil, verifier: LaunchVerifier? = nil) {
    self.store = store
    (self.downloader, self.verifier) = (downloader, verifier)
  }

  /// Returns the bytes of a file as ``FileLookup`` says.
  package func file(at url: PageURL, in snapshot: (any FileSnapshot)?, mayFetch: Bool) async throws -> [UInt8]? {
    // The identity leaves out parameters that only defeat caches; without a query there is nothing to leave out.
    guard let identity = url.text.contains("?") ? PageURL(url.text) : url else { return nil }
    guard let view = snapshot as? ReleaseView else { return await currentFile(at: identity) }
    guard try await urls(of: view.release).contains(identity) else { return nil }
    return try await file(at: identity, in: view.release, mayFetch: mayFetch)
  }

  private func file(at url: PageURL, in release: StoredRelease, mayFetch: Bool) async throws -> [UInt8]? {
    guard let found = try await store.bundle(at: url, in: release) else { return nil }
    if let blob = found.blob {
      do {
        return try await store.bytes(of: blob).bytes
      } catch is BlobError {
        try await store.quarantine(blob)
      }
    }
    guard mayFetch, let downloader else {
      if found.bundle.isOptional { return nil }
      throw ReleaseError.notStored(entry: found.bundle.name, release: release.name)
    }
    // An optional file that the server does not have is loaded like one that no release lists.
    let expected = found.bundle.expected
    if found.bundle.isOptional, downloader.knownFault(of: expected, in: release) != nil { return nil }
    do {
      let delivery = try await downloader.downloadFile(found.bundle, of: release, verifier: verifier) { [store] in
        try await store.bundle(at: url, in: release)?.blob
      }
      return try await store.bytes(of: delivery.blob).bytes
    } catch let error as BundleError where found.bundle.isOptional && !RetryPolicy.mayPass(error) {
      downloader.recordFault(of: expected, in: release, "\(error)")
      return nil
    }
  }

  // MARK: Without a view

  private func currentFile(at url: PageURL) async -> [UInt8]? {
    await refreshIfDue()
    let isFile = state.withLock { state in state.current.contains { state.urls[$0]?.contains(url) == true } }
    guard isFile, let found = try? await store.bundle(at: url), let blob = found.blob else { return nil }
    return try? await store.bytes(of: blob).bytes
  }

  /// Looks for releases that became current, here or in another process, at most once a second.
  private func refreshIfDue() async {
    let now = ContinuousClock.now
    let look = state.withLock { state -> Task<Void, Never>? in
      if let underway = state.underway { return underway }
      if let last = state.checkedAt, now - last < .seconds(1) { return nil }
      state.checkedAt = now
      let look = Task {
        await refresh()
        self.state.withLock { $0.underway = nil }
      }
      state.underway = look
      return look
    }
    await look?.value
  }

  private func refresh() async {
    guard let sources = try? await store.sources() else { return }
    let releases = sources.compactMap(\.current)
    for release in releases { _ = try? await urls(of: release) }
    state.withLock { $0.current = releases.map(\.id) }
  }

  private func urls(of release: StoredRelease) async throws -> Set<PageURL> {
    if let known = state.withLock({ $0.urls[release.id] }) { return known }
    let contents = try await store.recordedContents(of: release)
    let urls = Set(contents.lazy.filter { $0.bundle.kind == .file }.map(\.bundle.url))
    state.withLock { state in
      if state.urls.count >= Self.limit { state.urls = state.urls.filter { state.current.contains($0.key) } }
      state.urls[release.id] = urls
    }
    return urls
  }
}
