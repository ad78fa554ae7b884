import HTTPCaching
import HTTPTransport
import HTTPTypes

/// A stored response, and its bytes where they are in memory.
public final class CachedResponse: Sendable {
  /// The values that decisions need of it.
  package let stored: StoredResponse
  /// The key that it is stored under.
  package let key: CacheKey
  /// The digest of its bytes.
  package let digest: SHA256Digest
  /// No eviction takes it from the store.
  let isKept: Bool
  /// Seconds since 1970.
  let storedAt: Double
  /// The bytes, checked when they were read; `nil` if they are on disk only.
  public let bytes: [UInt8]?
  /// The bytes that were read together with the entry.
  let readAhead: [UInt8]?
  let tags: [String]
  /// The memory tier's epoch of the key before the store was asked.
  let epoch: UInt64
  let validity: CacheValidity

  init(
    _ entry: ResponseEntry, bytes: [UInt8]?, readAhead: [UInt8]? = nil, policy: CachePolicy, epoch: UInt64 = 0
  ) {
    (key, digest, isKept, storedAt) = (entry.key, entry.digest, entry.isKept, entry.storedAt)
    self.bytes = bytes
    self.readAhead = readAhead
    self.epoch = epoch
    validity = CacheValidity(key, id: entry.id)
    tags = entry.head.tags
    stored = StoredResponse(id: entry.id, entry.head, policy: policy)
  }

  private init(_ other: CachedResponse, bytes: [UInt8]?, epoch: UInt64) {
    (key, digest, isKept, storedAt) = (other.key, other.digest, other.isKept, other.storedAt)
    (stored, tags) = (other.stored, other.tags)
    (self.bytes, readAhead, self.epoch) = (bytes, nil, epoch)
    validity = CacheValidity(key, id: other.id)
  }

  /// The same, with the bytes that were read together with the entry as those in memory.
  convenience init(holding bytes: [UInt8], of other: CachedResponse) { self.init(other, bytes: bytes, epoch: 0) }

  /// The same, for a key whose variants are others now.
  convenience init(again other: CachedResponse) { self.init(other, bytes: other.bytes, epoch: other.epoch) }

  /// Its name in the store.
  package var id: Int64 { stored.id }

  /// The store's record of it. Its parts are cheaper to ask for one by one.
  package var entry: ResponseEntry {
    ResponseEntry(id: id, key: key, head: stored.metadata, digest: digest, isKept: isKept, storedAt: storedAt)
  }

  /// `false` for one in memory only: its id is the cache's own, below zero.
  var isStored: Bool { id > 0 }

  /// Metadata that the app's storage hook attached.
  public var userInfo: [String: String] { stored.metadata.userInfo }

  /// The bytes it takes in memory, about: its own, the texts that do not fit into 15 bytes, and what the allocator gives
  /// for each of them, for the objects and for their places in the tables. Of an answer of nginx with 1 KiB these are
  /// 2.6 KiB.
  var cost: Int {
    func size(_ text: String) -> Int { text.utf8.count > 15 ? text.utf8.count + 48 : 0 }
    let fields = stored.fields.reduce(0) { $0 + 56 + 2 * size($1.name.rawName) + size($1.value) }
    let words = userInfo.reduce(0) { $0 + 64 + size($1.key) + size($1.value) }
    return (bytes?.count ?? 0) + fields + words + key.name.utf8.count + 960
  }
}

extension [CachedResponse] {
  /// The response that a decision chose by what it needs of it.
  func first(of stored: StoredResponse) -> CachedResponse? { first { $0.id == stored.id } }
}

/// The places where a response may be kept; the values of `URLCache.StoragePolicy`.
public enum StoragePolicy: Hashable, Sendable {
  /// In memory and on disk.
  case allowed
  /// In memory, until the process ends.
  case memoryOnly
  /// Nowhere.
  case notAllowed
}

/// A response that is about to be stored, as the app's hook gets it.
///
///     host.responses.willCache = { proposed in
///       var proposed = proposed
///       proposed.userInfo["screen"] = "list"
///       return proposed.response.headerFields[.contentType] == "text/html" ? nil : proposed
///     }
public struct ProposedResponse: Sendable {
  /// As it was sent.
  public let request: HTTPRequest
  /// The bytes that came, as the server encoded them. They can be read several times.
  public var body: Body { Body(stored, 0..<stored.count) }
  let stored: any StoredBody
  /// The head that is stored. It may be changed.
  public var response: HTTPResponse
  /// Stored instead of `body`.
  public var replacement: [UInt8]?
  /// The place where it may be kept.
  public var storagePolicy: StoragePolicy
  /// Metadata of the app, which comes with the response from then on.
  public var userInfo: [String: String]

  init(
    request: HTTPRequest, body: any StoredBody, response: HTTPResponse, storagePolicy: StoragePolicy,
    userInfo: [String: String]
  ) {
    (self.request, stored, self.response) = (request, body, response)
    (self.storagePolicy, self.userInfo) = (storagePolicy, userInfo)
  }
}

/// The reason why a cache does not do what it was told.
public enum ResponseCacheError: Error, Hashable, CustomStringConvertible {
  /// A memory capacity of 0 was given without `allowingNone: true`.
  case noMemory
  /// The cache's store has no regions.
  case noRegions

  public var description: String {
    switch self {
    case .noMemory:
      "a memory capacity of 0 would switch the memory cache off: say allowingNone: true where that is meant"
    case .noRegions: "this cache's store has no regions"
    }
  }
}
