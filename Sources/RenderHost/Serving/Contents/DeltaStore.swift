import Bundles
import Containers
import Dispatch
import HTTPTransport
import NIOCore
import NIOPosix
import Releases
import ServiceLifecycle
import Synchronization

/// Contents as differences from what former releases had for the same entries, and bundles as differences from the
/// release's first one, for clients that have no former one. RFC 9842.
///
/// They are made one after the other: those from former contents before a release is announced, if that is soon enough,
/// and otherwise while it is served; those from the first bundle when they are first asked for. Until then requests get
/// the full content.
final class DeltaStore: Service {
  private struct Pair: Hashable, Sendable {
    let content: SHA256Digest
    let base: SHA256Digest
  }

  private struct Job: Sendable {
    let content: ServedContent
    let base: Blob

    var pair: Pair { Pair(content: content.digests.sha256, base: base.sha256) }
  }

  /// The number of former contents of an entry, newest first, from which differences are made.
  static let baseLimit = 5
  private static let queueLimit = 10_000

  private let store: BundleStore
  private let representations: RepresentationStore
  private let variants: VariantDirectory
  /// The contents from which the differences of a release are made: the former ones, and the release's first bundle.
  private let bases = Mutex<(former: [EntryName: [Blob]], sibling: Blob?)>(([:], nil))
  /// `nil` stands for a difference that is not smaller than the content's smallest encoding.
  private let memory: LRUCache<Pair, Representation?>
  private let flights = SingleFlight<Pair, Representation?>()
  private let encoding = DispatchQueue(label: "renderhost.deltas", qos: .utility)
  private let jobs: AsyncStream<Job>
  private let queue: AsyncStream<Job>.Continuation
  private let queued = Mutex<Set<Pair>>([])

  /// - Parameter capacity: the bytes that are kept in memory.
  init(
    store: BundleStore, representations: RepresentationStore, variants: VariantDirectory, capacity: Int = 16 << 20
  ) {
    (self.store, self.representations, self.variants) = (store, representations, variants)
    memory = LRUCache(capacity: capacity)
    (jobs, queue) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.queueLimit))
  }

  func run() async throws {
    for await job in jobs.cancelOnGracefulShutdown() {
      _ = try? await made(job)
      queued.withLock { _ = $0.remove(job.pair) }
    }
  }

  /// Lets a difference be made in its turn. Beyond the queue's limit it is left to a later request.
  private func makeLater(_ job: Job) {
    guard queued.withLock({ $0.insert(job.pair).inserted }) else { return }
    if case .enqueued = queue.yield(job) { return }
    queued.withLock { _ = $0.remove(job.pair) }
  }

  /// Makes the differences of a release's contents from former ones, the newest first. Those that are not made when the
  /// time is over are made while the release is served.
  ///
  /// - Throws: `CancellationError`. Differences that cannot be made are left out.
  func prepare(_ release: ServedRelease, for time: Duration) async throws {
    let former = (try? await store.formerContents(of: release.stored)) ?? [:]
    let usable = former.mapValues { Array($0.filter(Self.isUsable).prefix(Self.baseLimit)) }
    let sibling = release.entries.first { $0.bundle.kind == .bundle }?.blob.flatMap { Self.isUsable($0) ? $0 : nil }
    bases.withLock { $0 = (usable, sibling) }
    let deadline = ContinuousClock.now + time
    for age in 0..<Self.baseLimit {
      for entry in release.entries {
        guard let blob = entry.blob, let former = usable[EntryName(entry.bundle)],
          former.indices.contains(age), former[age].sha256 != blob.sha256, Self.isUsable(blob)
        else { continue }
        let content = ServedContent(blob, of: entry.bundle, in: release.stored, path: entry.path)
        guard content.codings.count > 1 else { continue }
        try Task.checkCancellation()
        let job = Job(content: content, base: former[age])
        if ContinuousClock.now < deadline { _ = try? await made(job) } else { makeLater(job) }
      }
    }
  }

  private static func isUsable(_ blob: Blob) -> Bool { blob.size > 0 && blob.size <= ContentDictionary.sizeLimit }

  /// Returns a content as the difference from a dictionary.
  ///
  /// - Parameter dictionary: the SHA-256 of the dictionary that the client has.
  /// - Returns: the difference; `nil` if there is none. A later request may find one if `isPending`.
  func delta(
    of content: ServedContent, from dictionary: SHA256Digest
  ) async -> (delta: Representation?, isPending: Bool) {
    guard case .blob(let blob, let bundle, _) = content.origin, content.codings.count > 1, Self.isUsable(blob),
      dictionary != blob.sha256
    else { return (nil, false) }
    if let known = memory[Pair(content: blob.sha256, base: dictionary)] { return (known, false) }
    let base = bases.withLock { bases in
      (bases.former[EntryName(bundle)] ?? []).first { $0.sha256 == dictionary }
        ?? (bundle.kind == .bundle && bases.sibling?.sha256 == dictionary ? bases.sibling : nil)
    }
    guard let base else { return (nil, false) }
    let job = Job(content: content, base: base)
    if let stored = try? await stored(job) { return (stored, false) }
    makeLater(job)
    return (nil, true)
  }

  // MARK: Making

  /// Returns the difference of an earlier process; `nil` if there is none.
  private func stored(_ job: Job) async throws -> Representation?? {
    let dictionary = try await dictionary(of: job)
    return try await NIOThreadPool.singleton.runIfActive { [self] () -> Representation?? in
      guard let bytes = variants.read(job.content.digests, .delta(from: dictionary)) else { return nil }
      return .some(try keep(bytes.isEmpty ? nil : bytes, of: job))
    }
  }

  private func made(_ job: Job) async throws -> Representation? {
    if let known = memory[job.pair] { return known }
    return try await flights.value(for: job.pair) { [self] in
      if let stored = try await stored(job) { return stored }
      guard let whole = try await representations.representation(of: job.content, in: [.identity]) else { return nil }
      let limit = try await representations.fullSize(of: job.content)
      let dictionary = try await dictionary(of: job)
      return try await encoding.result { [self] in
        let bytes = DictionaryZstd.encode(Array(buffer: whole.buffer), with: dictionary)
        let useful = bytes.flatMap { $0.count < limit ? $0 : nil }
        variants.write(useful, of: job.content.digests, .delta(from: dictionary))
        return try keep(useful, of: job)
      }
    }
  }

  private func dictionary(of job: Job) async throws -> ContentDictionary {
    ContentDictionary(try await store.bytes(of: job.base).bytes, digest: job.base.sha256)
  }

  private func keep(_ bytes: [UInt8]?, of job: Job) throws -> Representation? {
    let delta = try bytes.map {
      Representation(ByteBuffer(bytes: $0), encoding: DictionaryZstd.token, digests: try ContentDigests(of: $0))
    }
    memory.insert(delta, for: job.pair, cost: delta.map { $0.size + 512 } ?? 128)
    return delta
  }
}
