import HTTPTransport

/// The release that a page sees, from its opening to its end: its bundle and all it asks for of the release's files come
/// from there. The release stays in the store for as long as the view lives, in every process.
public struct ReleaseView: FileSnapshot, Hashable {
  public let release: StoredRelease
  private let lease: any ReleaseLease

  package init(_ release: StoredRelease, lease: any ReleaseLease) {
    self.release = release
    self.lease = lease
  }

  public static func == (left: ReleaseView, right: ReleaseView) -> Bool { left.release.id == right.release.id }

  public func hash(into hasher: inout Hasher) { hasher.combine(release.id) }
}

extension BundleStoring {
  /// A view of the release, which keeps it from being collected.
  ///
  /// - Throws: ``StoreError/releaseGone(name:)`` if the release was collected already.
  package func view(of release: StoredRelease) async throws -> ReleaseView {
    ReleaseView(release, lease: try await lease(release))
  }
}
