import HTTPTransport

/// The release that a page sees from its opening to its end: its bundle, and all files of the release that it asks for,
/// come from this release. No process removes the release from the store while the view lives.
package struct ReleaseView: FileSnapshot, Hashable {
  package let release: StoredRelease
  private let lease: ReleaseLease

  package init(_ release: StoredRelease, lease: ReleaseLease) {
    self.release = release
    self.lease = lease
  }

  package static func == (left: ReleaseView, right: ReleaseView) -> Bool { left.release.id == right.release.id }

  package func hash(into hasher: inout Hasher) { hasher.combine(release.id) }
}

extension BundleStore {
  /// Returns a view of the release, which protects it from garbage collection.
  ///
  /// - Throws: ``StoreError/releaseGone(name:)`` if the release was collected already.
  package func view(of release: StoredRelease) async throws -> ReleaseView {
    ReleaseView(release, lease: try await lease(release))
  }
}
