import Containers
import HTTPTransport
import Synchronization

/// Stored bytes that resemble those of an entry, which can be had as the difference from them.
struct DeltaOffer: Sendable {
  let dictionary: ContentDictionary
  /// The published delta from these bytes; `nil` if the manifest lists none, and the server is asked for one.
  let listed: PageURL?
}

/// Finds the stored bytes from which an entry's may differ little: its older ones; for a new page, those of the
/// release's first bundle.
final class DeltaFinder: Sendable {
  private struct Known: Sendable {
    let release: Int64
    /// The stored bytes of other releases' entries, newest first.
    let bases: [EntryName: [Blob]]
    let listed: [SHA256Digest: [ListedDelta]]
  }

  private let store: BundleStore
  private let limits: ManifestLimits
  /// The bases of the release that was asked for last.
  private let known = Mutex<Known?>(nil)
  private let flights = SingleFlight<Int64, Known>()

  init(store: BundleStore, limits: ManifestLimits) { (self.store, self.limits) = (store, limits) }

  /// Returns the offer for an entry; `nil` if no such bytes are stored, or if the entry's bytes could not be checked.
  ///
  /// Bytes are named to the origin alone that they came from. RFC 9842 §2.2.2.
  ///
  /// - Throws: `CancellationError`. A store that cannot be read offers nothing.
  func offer(for target: FetchTarget, in release: StoredRelease) async throws -> DeltaOffer? {
    guard let sha256 = target.expected.sha256, !target.url.isFile else { return nil }
    do {
      let known = try await bases(of: release)
      var bases = known.bases[EntryName(kind: target.kind, name: target.name)] ?? []
      if bases.isEmpty, target.kind == .bundle, let sibling = try await store.firstBundle(of: release)?.blob {
        bases = [sibling]
      }
      let origin = target.url.origin
      var named: [Blob] = []
      for base in bases {
        if try await store.origins(of: base).isSubset(of: [origin]) { named.append(base) }
      }
      let listed = (known.listed[sha256] ?? []).filter { $0.url.origin == origin }
      guard let choice = DeltaChoice(of: named, listed: listed) else { return nil }
      let bytes = try await store.bytes(of: choice.base).bytes
      return DeltaOffer(
        dictionary: ContentDictionary(bytes, digest: choice.base.sha256), listed: choice.listed?.url)
    } catch let error as CancellationError {
      throw error
    } catch {
      return nil
    }
  }

  private func bases(of release: StoredRelease) async throws -> Known {
    if let known = known.withLock({ $0?.release == release.id ? $0 : nil }) { return known }
    return try await flights.value(for: release.id) { [self] in
      let bases = try await store.formerContents(of: release)
      let manifest =
        bases.isEmpty ? nil : try Manifest(reading: await store.manifestBytes(of: release), limits: limits)
      let found = Known(release: release.id, bases: bases, listed: try manifest?.deltas(at: release.source) ?? [:])
      known.withLock { $0 = found }
      return found
    }
  }
}

/// The older bytes that are chosen as the dictionary.
struct DeltaChoice: Equatable {
  let base: Blob
  let listed: ListedDelta?

  /// Chooses the bytes with the smallest published delta; without one, the newest bytes.
  ///
  /// - Parameters:
  ///   - bases: the stored older bytes, newest first.
  ///   - listed: the published deltas of the entry.
  /// - Returns: `nil` if there are no bytes that are small enough to be a dictionary.
  init?(of bases: [Blob], listed: [ListedDelta]) {
    let bases = bases.filter { $0.size <= ContentDictionary.sizeLimit }
    let published = bases.compactMap { base in listed.first { $0.base == base.sha256 }.map { (base, $0) } }
    if let best = published.min(by: { $0.1.size < $1.1.size }) {
      (base, self.listed) = best
    } else if let newest = bases.first {
      (base, self.listed) = (newest, nil)
    } else {
      return nil
    }
  }
}
