import Foundation
import HTTPTransport
import Releases

/// The releases at a location, and the pointer that says which of them is current.
package struct PublishedReleases: Sendable {
  package let store: S3Store
  let limits: ManifestLimits
  let now: @Sendable () -> Date
  /// `nil` where the store refuses writes whose condition does not hold.
  let keeper: PointerKeeper?

  /// - Parameter keeper: keeps the pointer for a store that does not know conditions.
  package init(
    _ store: S3Store, limits: ManifestLimits = .standard, keeper: PointerKeeper? = nil,
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

  // MARK: Writing

  /// Writes an object, and makes sure that the store has it: by the checksum in its answer, or else by reading it back.
  ///
  /// - Parameter digests: those of the content.
  /// - Throws: ``PublishError/missing(_:)``, ``PublishError/otherBytes(_:expected:found:)``, ``ObjectStoreError``,
  ///   ``TransportError``, `CancellationError`.
  func write(
    _ key: String, _ content: S3Store.Content, _ digests: ContentDigests, type: String, lifetime: S3Store.Lifetime,
    if condition: S3Store.Condition = .none
  ) async throws {
    let tag = try await store.write(key, content, type: type, lifetime: lifetime, if: condition)
    // Some stores give other tags than the MD5.
    guard S3Store.md5(ofTag: tag) != digests.md5 else { return }
    let url = url(of: key)
    guard let object = try await store.object(key, upTo: digests.size) else { throw PublishError.missing(url) }
    let found = try SHA256Digest(of: object.bytes)
    guard found == digests.sha256 else { throw PublishError.otherBytes(url, expected: digests.sha256, found: found) }
  }

  /// Writes an object with JSON.
  ///
  /// - Throws: as ``write(_:_:_:type:lifetime:if:)``.
  func write(
    json bytes: [UInt8], _ key: String, lifetime: S3Store.Lifetime, if condition: S3Store.Condition = .none
  ) async throws {
    try await write(
      key, .bytes(bytes), try ContentDigests(of: bytes), type: "application/json", lifetime: lifetime, if: condition)
  }

  /// Replaces the pointer, unless somebody else has done it.
  ///
  /// - Parameter former: the pointer that the new one is made from; `nil` if there was none.
  /// - Throws: ``PublishError/overtaken(_:by:)``, ``PublishError/noTag(_:)``, ``ObjectStoreError``, ``TransportError``,
  ///   `CancellationError`.
  func replace(_ former: State?, with pointer: ReleasePointer, isAlone: Bool = false) async throws {
    if let keeper { return try await replace(former, with: pointer, in: keeper) }
    let bytes = try pointer.fileBytes()
    var condition = S3Store.Condition.isNew
    if isAlone {
      condition = .none
    } else if let former {
      guard let etag = former.etag else { throw PublishError.noTag(pointerURL) }
      condition = .unchanged(etag: etag)
    }
    do {
      try await write(json: bytes, PublishedNames.pointer, lifetime: .checked, if: condition)
    } catch let error where !(error is CancellationError) {
      if try await isReplaced(former, with: pointer, despite: error) { return }
      throw error
    }
  }

  /// Returns `true` if the pointer was replaced although the answer to that says otherwise: an earlier attempt may have
  /// written it, and its answer may have been lost.
  ///
  /// - Throws: ``PublishError/overtaken(_:by:)`` after a conflict.
  private func isReplaced(
    _ former: State?, with pointer: ReleasePointer, despite error: any Error
  ) async throws -> Bool {
    let isConflict = (error as? ObjectStoreError)?.isConflict ?? false
    guard let found = isConflict ? try await state()?.pointer : try? await state()?.pointer else {
      if isConflict { throw PublishError.overtaken(pointerURL, by: "") }
      return false
    }
    if found.includes(pointer, after: former?.pointer) { return true }
    if isConflict { throw PublishError.overtaken(pointerURL, by: found.current.release) }
    return false
  }

  private func replace(_ former: State?, with pointer: ReleasePointer, in keeper: PointerKeeper) async throws {
    let bytes = try pointer.fileBytes()
    let isReplaced: Bool
    do {
      isReplaced = try await keeper.replace(former?.revision, bytes)
    } catch let error where !(error is CancellationError) {
      // The answer may have been lost.
      guard let found = try? await state()?.pointer, found.includes(pointer, after: former?.pointer) else {
        throw error
      }
      isReplaced = true
    }
    if !isReplaced {
      let found = try await state()?.pointer
      // The answer to the first attempt may have been lost.
      guard let found, found.includes(pointer, after: former?.pointer) else {
        throw PublishError.overtaken(pointerURL, by: found?.current.release ?? "")
      }
    }
    try await copyPointer()
  }

  /// Lets the store's copy of a pointer that is kept beside it be the same, also if a publisher has ended before that.
  ///
  /// Publishers write copies in another order than they have replaced the pointer in: each looks again after it has
  /// written one.
  ///
  /// - Throws: ``PublishError/otherCopy(_:)``, ``ObjectStoreError``, ``TransportError``, `CancellationError`, and the
  ///   keeper's errors.
  func copyPointer() async throws {
    guard let keeper else { return }
    for _ in 0..<Self.copyAttempts {
      guard let kept = try await keeper.pointer() else { return }
      let copy = try await store.object(PublishedNames.pointer, upTo: Int64(ReleasePointer.byteLimit))
      if copy?.bytes == kept.bytes { return }
      try await store.write(
        PublishedNames.pointer, .bytes(kept.bytes), type: "application/json", lifetime: .checked)
    }
    throw PublishError.otherCopy(pointerURL)
  }

  /// The number of times that a copy is written. Each publisher at the same time may make one more necessary.
  private static let copyAttempts = 20

  /// Makes a former release the current one.
  ///
  /// - Returns: the release that was current; `nil` if the release is current already.
  /// - Throws: ``PublishError``, ``ObjectStoreError``, ``TransportError``, `CancellationError`.
  package func use(_ name: String, isAlone: Bool = false) async throws -> ReleasePointer.Release? {
    try await copyPointer()
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

/// Keeps the pointer of releases beside a store that does not know conditions: what it has counts, and the store has a
/// copy.
package struct PointerKeeper: Sendable {
  /// Returns the pointer's bytes and their revision; `nil` if there is none.
  let pointer: @Sendable () async throws -> (bytes: [UInt8], revision: UInt64)?
  /// Replaces the bytes of a revision, `nil` if there are none; returns `false` if there is another revision.
  let replace: @Sendable (_ revision: UInt64?, _ bytes: [UInt8]) async throws -> Bool

  package init(
    pointer: @escaping @Sendable () async throws -> (bytes: [UInt8], revision: UInt64)?,
    replace: @escaping @Sendable (_ revision: UInt64?, _ bytes: [UInt8]) async throws -> Bool
  ) {
    (self.pointer, self.replace) = (pointer, replace)
  }
}

extension ReleasePointer {
  /// Returns `true` if this is a pointer that a publisher has written, or one that others have made from it.
  ///
  /// - Parameter former: the pointer that it was made from; `nil` if there was none.
  func includes(_ written: ReleasePointer, after former: ReleasePointer?) -> Bool {
    if self == written { return true }
    // A release that was published before may be named for other reasons.
    return former?.releases.contains(written.current) != true && releases.contains(written.current)
  }

  /// Makes a release the current one. The one before it becomes a former one, unless both have the same sequence: then it
  /// is the same release, with another manifest.
  mutating func switchTo(_ release: Release) {
    let isSame = current.release == release.release && current.sequence == release.sequence
    former = (isSame ? [] : [current]) + former.filter { $0.manifest != release.manifest }
    former = Array(former.prefix(Self.formerLimit))
    current = release
  }
}

/// The reason why a release cannot be published, or gone back to.
package enum PublishError: Error, Hashable, CustomStringConvertible {
  /// The object in the pointer's place is something else.
  case noPointer(PageURL, reason: String)
  /// Another publisher has switched to a release meanwhile.
  case overtaken(PageURL, by: String)
  /// The store does not refuse a write whose condition does not hold.
  case noConditions(S3Location)
  /// The pointer has no tag, so that it cannot be replaced on condition.
  case noTag(PageURL)
  /// The store's copy of the pointer is another one than it was given.
  case otherCopy(PageURL)
  /// Nothing is published at the location.
  case nothingPublished(S3Location)
  case noRelease(S3Location, named: String)
  /// A manifest or a content that the pointer relies on is not there.
  case missing(PageURL)
  /// The store has other bytes than those it was given, or that a manifest names.
  case otherBytes(PageURL, expected: SHA256Digest, found: SHA256Digest)
  /// The release is for all installs already.
  case notRolledOut(release: String)
  /// There is no release before that the other installs could stay with.
  case firstRelease(String)
  /// Hosts with keys refuse a sequence below one that they have seen.
  case signedBefore(release: String, sequence: Int64, current: Int64)
  /// The folder has a signed manifest, and no key to sign the published one is named.
  case signedFolder(String)
  /// Hosts with keys would refuse a root or the manifest.
  ///
  /// - Parameter subject: its path or URL, or `the manifest`.
  case refusedByHosts(_ subject: String, reason: String)

  package var description: String {
    switch self {
    case .noPointer(let url, let reason): "\(url) is there, and is no pointer of releases: \(reason)"
    case .overtaken(let url, let release):
      "\(url): release \(release) was published meanwhile, and nothing was changed: publish again to follow it"
    case .noConditions(let location):
      "\(location): the store does not refuse a write whose If-Match does not hold, so that two publishers would not notice each other: --journal keeps the pointer in NATS instead, and with --alone nobody else may publish at the same time"
    case .noTag(let url):
      "\(url): the store gives no ETag for it, or a proxy before it removes that, so that two publishers would not notice each other: use the store's own URL, or --alone if nobody else publishes at the same time"
    case .otherCopy(let url):
      "\(url): the store gives another pointer than it was given, again and again: hosts may not see the release that is current"
    case .nothingPublished(let location):
      "\(location): nothing is published there"
    case .noRelease(let location, let name):
      "\(location) has no release \(name.quotedForMessage)"
    case .missing(let url): "\(url) is not there, and a published release needs it"
    case .otherBytes(let url, let expected, let found):
      "\(url): the store has bytes with the SHA-256 \(found), and not \(expected)"
    case .notRolledOut(let release):
      "release \(release) is for all installs already: only a new release can be rolled out"
    case .firstRelease(let release):
      "release \(release) is the first one here, so that there is none for the installs that do not get it"
    case .signedBefore(let release, let sequence, let current):
      "release \(release) is signed with the sequence \(sequence), and hosts with keys refuse it after \(current): publish its folder again, which gives it a higher one"
    case .refusedByHosts(let subject, let reason):
      "\(subject): hosts with keys would refuse it, so that nothing was switched to: \(reason)"
    case .signedFolder(let path):
      "\(path) is there, and publishing writes a manifest of its own: name the key that signs it, with --key or --sign-with, and --expires-in"
    }
  }
}
