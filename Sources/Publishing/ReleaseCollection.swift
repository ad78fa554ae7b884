import Bundles
import Foundation
import HTTPTransport
import ObjectStorage

/// The objects that no release needs any more.
package struct ReleaseCollection: Hashable, Sendable {
  /// The former releases that are given up.
  package let releases: [ReleasePointer.Release]
  /// The objects to remove.
  package let objects: [ListedObject]
  /// The number of objects whose names publishers do not write. They stay.
  package let others: Int
  /// The pointer without the releases that are given up.
  let pointer: ReleasePointer

  /// The bytes of the objects, as the store's listing says; the largest number if they are more.
  package var bytes: Int64 {
    objects.reduce(0) { sum, object in
      let (sum, overflows) = sum.addingReportingOverflow(object.size)
      return overflows ? .max : sum
    }
  }

  /// - Parameters:
  ///   - pointer: the present pointer.
  ///   - count: the number of former releases that are kept.
  ///   - needed: the names of all objects of the releases that are kept.
  ///   - deadline: objects written later than this are kept: hosts may still be fetching them.
  init(
    of pointer: ReleasePointer, keeping count: Int, needed: Set<String>, among objects: [ListedObject],
    writtenBefore deadline: Date
  ) {
    var next = pointer
    next.former = Array(pointer.former.prefix(count))
    next.collections &+= 1
    releases = Array(pointer.former.dropFirst(count))
    self.objects = objects.filter {
      PublishedNames.isCollected($0.name, upTo: pointer.collections) && !needed.contains($0.name)
        && $0.modified < deadline
    }
    others = objects.count { $0.name != S3Store.conditionCheck && !PublishedNames.isRead($0.name) }
    self.pointer = next
  }
}

extension PublishedReleases {
  /// The time for which objects without a release are kept, in seconds: a host may be fetching a release that is no longer
  /// named, and a publisher may be about to name it.
  private static let grace: TimeInterval = 24 * 3600

  /// Gives up old releases, and removes the objects that no other one needs.
  ///
  /// The pointer is replaced before the first object is removed, so that a publisher who has read the former one begins
  /// anew, with other names: see ``PublishedNames``.
  ///
  /// - Parameters:
  ///   - count: the number of former releases that stay, besides those of which a kept one's rollout or channels need the
  ///     manifest.
  ///   - isTrial: `true` to change nothing.
  ///   - removed: is called after each object.
  /// - Throws: ``PublishError``, ``ListingError``, ``ManifestError``, ``ObjectStoreError``, ``TransportError``,
  ///   `CancellationError`.
  package func collect(
    keeping count: Int, isTrial: Bool = false, isAlone: Bool = false,
    _ removed: @escaping @Sendable (ListedObject) -> Void = { _ in }
  ) async throws -> ReleaseCollection {
    if !isTrial { try await copyPointer() }
    guard let state = try await state() else { throw PublishError.nothingPublished(store.location) }
    let objects = try await store.objects()
    let kept = [state.pointer.current] + state.pointer.former.prefix(count)
    let collection = ReleaseCollection(
      of: state.pointer, keeping: count, needed: try await names(of: kept.map(\.manifest)), among: objects,
      writtenBefore: try await storeTime(objects).addingTimeInterval(-Self.grace))
    if isTrial || collection.releases.isEmpty && collection.objects.isEmpty { return collection }
    try await replace(state, with: collection.pointer, isAlone: isAlone)
    for object in collection.objects {
      try await store.remove(object.name)
      removed(object)
    }
    return collection
  }

  /// The names of the manifests, their signatures and contents, also of the manifests that they name.
  private func names(of references: [ManifestReference]) async throws -> Set<String> {
    var names: Set<String> = []
    var rest = references
    while let reference = rest.popLast() {
      guard names.insert(reference.url).inserted else { continue }
      names.insert(reference.url + ".sig")
      // One on another server has its contents there.
      guard !reference.url.contains("/") else { continue }
      let manifest = try await manifest(reference)
      rest += [manifest.otherwise].compactMap(\.self) + manifest.channels.values
      for entry in manifest.bundles + manifest.files {
        guard let sha256 = entry.sha256 else { continue }
        names.insert(PublishedNames.blobs + (entry.blob ?? sha256.hex))
        for base in entry.deltas.keys {
          names.insert(PublishedNames.blobs + Manifest.deltaPath(to: sha256, from: base))
        }
      }
    }
    return names
  }

  /// The time by the store's clock, from the pointer's age; by this machine's clock if the store does not tell.
  private func storeTime(_ objects: [ListedObject]) async throws -> Date {
    guard let written = objects.first(where: { $0.name == PublishedNames.pointer })?.modified,
      let age = try await store.properties(of: PublishedNames.pointer)?.age
    else { return now() }
    return written.addingTimeInterval(TimeInterval(age.components.seconds))
  }
}
