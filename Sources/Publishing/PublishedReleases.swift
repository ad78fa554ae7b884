import Bundles
import Foundation
import HTTPTransport
import ObjectStorage

/// The releases at a location, and the pointer that says which of them is current.
package struct PublishedReleases: Sendable {
  package let store: S3Store
  let limits: ManifestLimits
  let now: @Sendable () -> Date
  /// `nil` where the store refuses writes whose condition does not hold.
  let keeper: (any PointerKeeping)?

  /// - Parameter keeper: keeps the pointer for a store that does not know conditions.
  package init(
    _ store: S3Store, limits: ManifestLimits = .standard, keeper: (any PointerKeeping)? = nil,
    now: @escaping @Sendable () -> Date = { Date() }
  ) {
    (self.store, self.limits, self.keeper, self.now) = (store, limits, keeper, now)
  }

  /// The pointer, and the tag of its object, or its revision.
  package struct State: Hashable, Sendable {
    package let pointer: ReleasePointer
    var etag: String?
    var revision: UInt64?
  }

  var pointerURL: PageURL { url(of: PublishedNames.pointer) }

  /// - Returns: `nil` if nothing is published.
  /// - Throws: ``PublishError/noPointer(_:reason:)``, ``ObjectStoreError``, ``TransportError``, `CancellationError`.
  package func state() async throws -> State? {
    if let kept = try await keeper?.pointer() {
      return State(pointer: try pointer(kept.bytes), revision: kept.revision)
    }
    guard
      let object = try await store.object(PublishedNames.pointer, upTo: Int64(ReleasePointer.byteLimit))
    else { return nil }
    return State(pointer: try pointer(object.bytes), etag: object.etag)
  }

  private func pointer(_ bytes: [UInt8]) throws -> ReleasePointer {
    do {
      guard let pointer = try ReleasePointer(reading: bytes) else {
        throw PublishError.noPointer(pointerURL, reason: "it has no \"current\" release")
      }
      return pointer
    } catch let error as ManifestError {
      throw PublishError.noPointer(pointerURL, reason: "\(error)")
    }
  }

  /// Reads a published manifest.
  ///
  /// - Throws: ``PublishError``, ``ManifestError``, ``ObjectStoreError``, ``TransportError``, `CancellationError`.
  package func manifest(_ reference: ManifestReference) async throws -> Manifest {
    let url = url(of: reference.url)
    guard let object = try await store.object(reference.url, upTo: limits.manifestBytes) else {
      throw PublishError.missing(url)
    }
    let found = try SHA256Digest(of: object.bytes)
    guard found == reference.sha256 else {
      throw PublishError.otherBytes(url, expected: reference.sha256, found: found)
    }
    return try Manifest(reading: object.bytes, limits: limits)
  }

  /// Replaces the pointer, unless somebody else has done it.
  ///
  /// - Parameter former: the pointer that the new one is made from; `nil` if there was none.
  /// - Throws: ``PublishError/overtaken(_:by:)``, ``ObjectStoreError``, ``TransportError``, `CancellationError`.
  func replace(_ former: State?, with pointer: ReleasePointer, isAlone: Bool = false) async throws {
    if let keeper { return try await replace(former, with: pointer, in: keeper) }
    let condition: S3Store.Condition =
      if isAlone { .none } else { former.map { $0.etag.map { .unchanged(etag: $0) } ?? .none } ?? .isNew }
    do {
      try await store.write(
        PublishedNames.pointer, .bytes(try pointer.fileBytes()), type: "application/json", lifetime: .checked,
        if: condition)
    } catch let error as ObjectStoreError where error.isConflict {
      let found = try await state()?.pointer
      // The answer to the first attempt may have been lost.
      guard found != pointer else { return }
      throw PublishError.overtaken(pointerURL, by: found?.current.release ?? "")
    }
  }

  private func replace(_ former: State?, with pointer: ReleasePointer, in keeper: any PointerKeeping) async throws {
    let bytes = try pointer.fileBytes()
    if try await !keeper.replacePointer(former?.revision, with: bytes) {
      let found = try await state()?.pointer
      // The answer to the first attempt may have been lost.
      guard found == pointer else { throw PublishError.overtaken(pointerURL, by: found?.current.release ?? "") }
    }
    // Copies may be written in another order than the pointers were replaced in: the last one written is of the last.
    var copied: [UInt8] = []
    while let kept = try await keeper.pointer(), kept.bytes != copied {
      try await store.write(
        PublishedNames.pointer, .bytes(kept.bytes), type: "application/json", lifetime: .checked)
      copied = kept.bytes
    }
  }

  /// Makes a former release the current one.
  ///
  /// - Returns: the release that was current; `nil` if the release is current already.
  /// - Throws: ``PublishError``, ``ObjectStoreError``, ``TransportError``, `CancellationError`.
  package func use(_ name: String, isAlone: Bool = false) async throws -> ReleasePointer.Release? {
    guard let state = try await state() else { throw PublishError.nothingPublished(store.location) }
    var pointer = state.pointer
    guard let release = pointer.releases.first(where: { $0.release == name }) else {
      throw PublishError.noRelease(store.location, named: name)
    }
    let current = pointer.current
    guard release != current else { return nil }
    if release.sequence < current.sequence, try await manifest(release.manifest).expires != nil {
      throw PublishError.signedBefore(release: name, sequence: release.sequence, current: current.sequence)
    }
    pointer.switchTo(release)
    try await replace(state, with: pointer, isAlone: isAlone)
    return current
  }

  func url(of key: String) -> PageURL { store.folder.resolving(key.escapedForKey) ?? store.folder }
}

extension ReleasePointer {
  /// Makes a release the current one. The one before it becomes a former one, unless both have the same sequence: then it
  /// is the same release, with another manifest.
  mutating func switchTo(_ release: Release) {
    let isSame = current.release == release.release && current.sequence == release.sequence
    former = (isSame ? [] : [current]) + former.filter { $0.manifest != release.manifest }
    former = Array(former.prefix(Self.formerLimit))
    current = release
  }
}
