import HTTPCaching
import HTTPTypes
import PageCore
import Synchronization

/// Answers requests for the URLs of a release's files from the bundle store: they were checked against its manifest.
final class ReleaseFiles: Sendable {
  private struct State {
    var urls: Set<PageURL> = []
    var releases: [Int64] = []
    var checkedAt: ContinuousClock.Instant?
    var underway: Task<Void, Never>?
  }

  private let store: any BundleStoring
  private let state = Mutex(State())

  init(_ store: any BundleStoring) { self.store = store }

  /// Nil where no current release has the file, or its bytes are not there.
  func answer(_ url: PageURL) async -> Loaded? {
    await refreshIfDue()
    // Identity leaves out parameters that only defeat caches; without any there is nothing to take apart.
    guard let identity = url.text.contains("?") ? PageURL(url.text) : url,
      state.withLock({ $0.urls.contains(identity) }),
      let found = try? await store.bundle(at: identity), let blob = found.blob,
      let bytes = try? await store.bytes(of: blob).bytes
    else { return nil }
    return Loaded(
      url: url, bytes: bytes, mediaType: MediaType.of(path: identity.text.prefix { $0 != "?" }.description),
      source: .release)
  }

  /// A release may have become current, here or in another process. Looked at once a second at most.
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
    let ids = releases.map(\.id)
    guard ids != state.withLock(\.releases) else { return }
    var urls: Set<PageURL> = []
    for release in releases {
      let contents = (try? await store.recordedContents(of: release)) ?? []
      for item in contents where item.bundle.kind == .file { urls.insert(item.bundle.url) }
    }
    state.withLock { state in
      state.urls = urls
      state.releases = ids
    }
  }
}
