import Blobs
import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging
import Synchronization

/// Responses in memory and, behind that, in a store.
///
/// A failure of the store is logged, and counts as a cache miss.
///
///     let cache = try ResponseCache(memoryCapacity: 4 << 20, diskCapacity: 100 << 20)
///     ResponseCache.setShared(cache)
///     print(try await cache.usage().disk.bytes, "bytes are stored")
public final class ResponseCache: Sendable {
  /// A hook that is asked before a response is stored: it may change, restrict or refuse (`nil`) the response.
  public typealias WillCache = @Sendable (ProposedResponse) async -> ProposedResponse?
  /// Makes the store of a region.
  package typealias RegionStores = @Sendable (_ name: String, _ diskCapacity: Int64) throws -> any ResponseStoring

  /// The store behind the memory.
  package let store: any ResponseStoring
  /// The rules of RFC 9111 by which it stores and answers.
  public let policy: CachePolicy
  /// How long everything in it is fresh, where no rule of the loader says otherwise.
  package let lifetime: LifetimeRule
  let memory: MemoryTier
  let logger: Logger
  private let regionStores: RegionStores?
  private let regionNames: @Sendable () -> [String]
  private let state = Mutex(State())
  let foreignChanges = OtherProcessChanges()
  private let writing = LastingProblem()
  private let reading = LastingProblem()

  private struct State {
    var willCache: WillCache?
    var regions: [String: ResponseCache] = [:]
    /// Which entries were used since the store was told, and in which order.
    var uses: [Int64: Int] = [:]
    var useCount = 0
  }

  /// - Parameters:
  ///   - memoryCapacity: in bytes; 0 is refused unless `allowingNone`.
  ///   - freshLimit: the bytes in memory of responses that were not used since they came, at most a quarter of the
  ///     memory; `nil` for no limit.
  ///   - regionStores: `nil` for a cache without regions.
  ///   - regionNames: of the regions that are stored, open or not.
  /// - Throws: ``ResponseCacheError/noMemory``.
  package convenience init(
    store: any ResponseStoring, memoryCapacity: Int = 4 << 20, freshLimit: Int? = nil, allowingNone: Bool = false,
    policy: CachePolicy = CachePolicy(mode: .private), lifetime: LifetimeRule = .server,
    regionStores: RegionStores? = nil, regionNames: @escaping @Sendable () -> [String] = { [] },
    logger: Logger = Logger(label: "pagekit.cache")
  ) throws {
    guard memoryCapacity > 0 || allowingNone else { throw ResponseCacheError.noMemory }
    self.init(
      of: store, memoryCapacity: memoryCapacity, freshLimit: freshLimit, policy: policy, lifetime: lifetime,
      regionStores: regionStores, regionNames: regionNames, logger: logger)
  }

  /// - Parameter memoryCapacity: in bytes; 0 for no memory.
  init(
    of store: any ResponseStoring, memoryCapacity: Int, freshLimit: Int? = nil,
    policy: CachePolicy = CachePolicy(mode: .private), lifetime: LifetimeRule = .server, regionStores: RegionStores?,
    regionNames: @escaping @Sendable () -> [String] = { [] }, logger: Logger
  ) {
    self.store = store
    self.policy = policy
    self.lifetime = lifetime
    self.regionStores = regionStores
    self.regionNames = regionNames
    self.logger = logger
    memory = MemoryTier(capacity: max(0, memoryCapacity), freshLimit: freshLimit)
  }

  deinit {
    let ids = removeUses()
    if !ids.isEmpty { store.touch(ids) }
  }

  // MARK: Regions

  /// A part with a folder, capacities and lifetimes of its own, to be cleared alone; the same one each time.
  ///
  /// - Parameters:
  ///   - memoryCapacity: in bytes; 1 MiB by default, and never 0.
  ///   - diskCapacity: in bytes; 20 MiB by default. Responses that are kept do not count.
  ///   - lifetime: the rule for everything in it, unless a rule of the loader says otherwise.
  /// - Throws: ``ResponseCacheError`` if a capacity is 0 or the cache has no regions; `StoreError`.
  public func region(
    _ name: String, memoryCapacity: Int = 1 << 20, diskCapacity: Int64 = 20 << 20, lifetime: LifetimeRule = .server
  ) throws -> ResponseCache {
    guard let regionStores else { throw ResponseCacheError.noRegions }
    return try state.withLock { state in
      if let known = state.regions[name] { return known }
      let region = try ResponseCache(
        store: regionStores(name, diskCapacity), memoryCapacity: memoryCapacity, policy: policy, lifetime: lifetime,
        logger: logger)
      state.regions[name] = region
      return region
    }
  }

  /// The stores of all regions, open or not; and the caches of those that are open.
  func regions() throws -> [(cache: ResponseCache?, store: any ResponseStoring)] {
    let open = state.withLock(\.regions)
    let closed = try regionNames().filter { open[$0] == nil }
      .compactMap { try regionStores?($0, Int64.max) }
    return open.values.map { ($0, $0.store) } + closed.map { (nil, $0) }
  }

  // MARK: Problems of the store

  /// Warns that responses cannot be stored, once for as long as that lasts.
  func warnOfWriting(_ error: any Error) {
    if writing.begins(error) { logger.warning("responses cannot be stored, and are passed on: \(error.sentence)") }
  }

  /// Records that a response was stored.
  func recordWritten() {
    if writing.ends() { logger.notice("responses are stored again") }
  }

  /// Warns that stored responses cannot be read, once for as long as that lasts.
  private func warnOfReading(_ error: any Error) {
    if reading.begins(error) { logger.warning("stored responses cannot be read: \(error.sentence)") }
  }

  // MARK: Settings

  /// Asked before a response is stored.
  public var willCache: WillCache? {
    get { state.withLock(\.willCache) }
    set { state.withLock { $0.willCache = newValue } }
  }

  /// The capacity of the memory in bytes.
  public var memoryCapacity: Int { memory.capacity }

  /// Sets the capacity of the memory, in bytes; the least recently used responses give way at once.
  ///
  /// - Parameter allowingNone: pass `true` to disable the memory cache with a capacity of 0.
  /// - Throws: ``ResponseCacheError/noMemory`` if the capacity is 0 and `allowingNone` is `false`; the capacity stays as
  ///   it was.
  public func setMemoryCapacity(_ bytes: Int, allowingNone: Bool = false) throws {
    guard bytes > 0 || allowingNone else { throw ResponseCacheError.noMemory }
    memory.capacity = max(0, bytes)
  }

  /// Sets the capacity of the disk, in bytes. Responses that are kept do not count; the store evicts others at once.
  ///
  /// - Throws: `StoreError`.
  public func setDiskCapacity(_ bytes: Int64) async throws {
    tellUses()
    try await store.setCapacity(max(0, bytes))
  }

  /// The entries and bytes in memory, and those on disk.
  ///
  /// - Throws: `StoreError`.
  public func usage() async throws -> (memory: (entries: Int, bytes: Int), disk: ResponseUsage) {
    (memory.usage, try await store.usage())
  }

  /// Responses that had to make room in memory since the cache was made; those on disk are in its usage.
  package var memoryEvictions: Int { memory.evictions }

  // MARK: Reading

  /// The response in memory for a key that fits the request's fields; `nil` says nothing of the disk.
  package func responseInMemory(for key: CacheKey, fields: HTTPFields = [:]) -> CachedResponse? {
    noticeForeignChanges()
    return responseInMemoryAtOnce(for: key, fields: fields)
  }

  /// The same without a look for others' changes.
  func responseInMemoryAtOnce(for key: CacheKey, fields: HTTPFields) -> CachedResponse? {
    let found = memory.variants(for: key).last { $0.stored.answers(fields) }
    if let found { recordUse(found.id) }
    return found
  }

  /// The most variants of a key. Clients choose the fields that responses vary by: without a limit any of them could
  /// fill the store with one URL.
  package static let variantLimit = 64

  /// The variants stored for a key that a request with these fields may need, and at least one for each set of fields
  /// that variants were chosen by; those in memory alone where one of them fits the request.
  package func responses(for key: CacheKey, fields: HTTPFields = [:]) async -> [CachedResponse] {
    noticeForeignChanges()
    let epoch = memory.epoch(of: key)
    let inMemory = memory.variants(for: key)
    if inMemory.contains(where: { $0.stored.answers(fields) }) { return inMemory }
    do {
      return confirmed(try await store.responses(for: key, fields: fields), of: key, since: epoch)
    } catch {
      warnOfReading(error)
      return inMemory
    }
  }

  /// The same without waiting for the disk or for others; `nil` if that is not possible.
  func responsesAtOnce(for key: CacheKey, fields: HTTPFields) -> [CachedResponse]? {
    // Looking for others' changes may take a while.
    guard isWatched else { return nil }
    let epoch = memory.epoch(of: key)
    let inMemory = memory.variants(for: key)
    if inMemory.contains(where: { $0.stored.answers(fields) }) { return inMemory }
    return store.responsesAtOnce(for: key, fields: fields).map { confirmed($0, of: key, since: epoch) }
  }

  /// Returns `false` if nothing is stored for a key for certain.
  func mayHold(_ key: CacheKey) -> Bool { store.mayHold(key) || !memory.variants(for: key).isEmpty }

  /// The variants of a key in memory that the store has, too, and the others that it has.
  private func confirmed(_ found: [FoundResponse], of key: CacheKey, since epoch: UInt64) -> [CachedResponse] {
    let inMemory = memory.confirm(key, by: found.map(\.entry))
    let known = Set(inMemory.map(\.id))
    return inMemory
      + found.filter { !known.contains($0.entry.id) }.map {
        CachedResponse($0.entry, bytes: nil, readAhead: $0.bytes, policy: policy, epoch: epoch)
      }
  }

  /// The most bytes of a body that is on disk, too, and kept in memory beside it: longer ones are read from their file,
  /// so that many requests for one cost no more than a chunk each.
  var memoryLimit: Int64 { min(Int64(memory.capacity / 4), 1 << 20) }

  /// Reads the stored bytes of a response, and checks them against their digest.
  ///
  /// - Returns: a body that can be read several times; `nil` if the bytes are gone.
  public func content(of response: CachedResponse) async -> Body? {
    await body(of: response).map { Body($0, 0..<$0.count) }
  }

  /// Reads the stored bytes of a response, and checks them against their digest; `nil` if they are gone.
  package func body(of response: CachedResponse) async -> (any StoredBody)? {
    if let body = bodyAtOnce(of: response) { return body }
    do {
      guard let body = try await store.body(of: response.entry) else {
        memory.remove(response.key, ids: [response.id])
        return nil
      }
      guard body.count <= memoryLimit, let bytes = try? body.read(at: 0, upTo: Int(body.count)) else { return body }
      keep(bytes, of: response)
      return BytesBody(bytes)
    } catch {
      warnOfReading(error)
      return nil
    }
  }

  /// The stored bytes of a response that are in memory, or were read together with it; `nil` if the disk has to be
  /// asked.
  func bodyAtOnce(of response: CachedResponse) -> BytesBody? {
    recordUse(response.id)
    if let bytes = response.bytes { return BytesBody(bytes) }
    guard let bytes = response.readAhead else { return nil }
    keep(bytes, of: response)
    return BytesBody(bytes)
  }

  /// Keeps bytes that were read from the disk in memory, if they are short enough.
  private func keep(_ bytes: [UInt8], of response: CachedResponse) {
    guard Int64(bytes.count) <= memoryLimit else { return }
    memory.insert(CachedResponse(holding: bytes, of: response), since: response.epoch, isUse: true)
  }

  /// Another process may have removed or replaced stored responses that are in memory here: each is compared with its
  /// row at its next use.
  private func noticeForeignChanges() {
    if foreignChanges.areNew(store.changeCount) { memory.doubtStored() }
  }

  /// Returns `true` if others' changes were looked for less than a second ago; the next request looks for them.
  var isWatched: Bool { foreignChanges.areKnown }

  /// Empties the memory, that of the regions too: stored responses are read from the disk again, and responses that are
  /// only in memory are gone.
  public func releaseMemory() {
    memory.removeAll { _ in true }
    for region in state.withLock({ Array($0.regions.values) }) { region.releaseMemory() }
  }

  // MARK: Uses

  /// Records the use of a response that is given again and again, now and then.
  func recordUse(of validity: CacheValidity, at now: HTTPDate) {
    guard validity.isNews(at: now.secondsSinceEpoch) else { return }
    memory.use(validity.key)
    recordUse(validity.id)
  }

  private func recordUse(_ id: Int64) {
    // Negative ids: responses that are only in memory.
    guard id > 0 else { return }
    let areMany = state.withLock { state in
      state.useCount += 1
      state.uses[id] = state.useCount
      return state.uses.count >= 256
    }
    guard areMany else { return }
    tellUses()
  }

  /// The last one last.
  private func removeUses() -> [Int64] {
    state.withLock { state in
      defer { state.uses = [:] }
      return state.uses.sorted { $0.value < $1.value }.map(\.key)
    }
  }

  /// Before the store gives way it has to know what was used.
  func tellUses() {
    let ids = removeUses()
    if !ids.isEmpty { store.touch(ids) }
  }
}

extension ResponseCache {
  /// Makes a part of a representation visible: together with what there is of the same, where the two touch; never in
  /// the place of something whole. RFC 9111 §3.4.
  func commitPart(_ writer: any ResponseWriting, _ arrival: Arrival) async -> CachedResponse? {
    let others = await responses(for: arrival.key, fields: arrival.request.headerFields).filter {
      $0.stored.vary.matches(arrival.request.headerFields)
    }
    let etag = Validators(of: arrival.fields).strongETag
    if others.contains(where: { $0.stored.extent.isWhole }) {
      writer.discard()
      return nil
    }
    for other in others where etag != nil && other.stored.validators.strongETag == etag {
      guard let extent = other.stored.extent.joined(with: arrival.extent), let body = await body(of: other),
        let joined = try? join(body, at: other.stored.extent, writer, at: arrival.extent)
      else { continue }
      var arrival = arrival
      arrival.extent = extent
      return await commit(joined, arrival)
    }
    return await commit(writer, arrival)
  }

  private func join(
    _ first: any StoredBody, at firstExtent: Extent, _ second: any StoredBody, at secondExtent: Extent
  ) throws -> any ResponseWriting {
    let (lower, upper) =
      firstExtent.start <= secondExtent.start
      ? ((first, firstExtent), (second, secondExtent)) : ((second, secondExtent), (first, firstExtent))
    let spool = try store.writer()
    try spool.append(contentsOf: lower.0, from: 0)
    let end = lower.1.start + lower.0.count
    try spool.append(contentsOf: upper.0, from: max(0, end - upper.1.start))
    return spool
  }
}

extension ResponseWriting {
  /// Copies the rest of another body.
  func append(contentsOf body: any StoredBody, from start: Int64) throws {
    var position = start
    while position < body.count {
      let piece = try body.read(at: position, upTo: 256 << 10)
      guard !piece.isEmpty else { return }
      try append(piece)
      position += Int64(piece.count)
    }
  }
}

extension Extent {
  /// The position of its first byte.
  fileprivate var start: Int64 { if case .part(let range, _) = self { range.lowerBound } else { 0 } }
}
