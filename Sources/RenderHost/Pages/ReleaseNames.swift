import PageKit

/// Finds the current release's bundles by their names.
actor ReleaseNames {
  private let host: PageHost
  private var known: (release: Int64, urls: [String: PageURL])?

  init(_ host: PageHost) { self.host = host }

  /// - Throws: ``PageFailure/unknownBundle(_:)``, ``StoreError``.
  func url(of name: String) async throws -> PageURL {
    let source = try await host.store.source(host.configuration.manifest)
    guard let release = source?.current else { throw PageFailure.busy("no release is active yet") }
    if known?.release != release.id {
      let bundles = try await host.store.recordedContents(of: release).map(\.bundle).filter { $0.kind == .bundle }
      known = (release.id, Dictionary(bundles.map { ($0.name, $0.url) }) { first, _ in first })
    }
    guard let url = known?.urls[name] else { throw PageFailure.unknownBundle(name) }
    return url
  }
}
