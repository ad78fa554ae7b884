import HTTPCaching
import HTTPTransport
import HTTPTypes

/// A stored response, and its bytes where they are in memory.
public final class CachedResponse: Sendable {
  /// The store's record of it.
  package let entry: ResponseEntry
  /// The values that decisions need of it.
  package let stored: StoredResponse
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
    self.entry = entry
    self.bytes = bytes
    self.readAhead = readAhead
    self.epoch = epoch
    validity = CacheValidity(entry)
    tags = entry.head.tags
    stored = StoredResponse(id: entry.id, entry.head, policy: policy)
  }

  /// The same, with the bytes that were read together with the entry as those in memory.
  init(holding bytes: [UInt8], of other: CachedResponse) {
    (entry, stored, tags, epoch) = (other.entry, other.stored, other.tags, 0)
    self.bytes = bytes
    readAhead = nil
    validity = CacheValidity(other.entry)
  }

  /// The same, for a key whose variants are others now.
  init(again other: CachedResponse) {
    (entry, stored, bytes, tags, epoch) = (other.entry, other.stored, other.bytes, other.tags, other.epoch)
    readAhead = nil
    validity = CacheValidity(other.entry)
  }

  /// `false` for one in memory only: its id is the cache's own, below zero.
  var isStored: Bool { entry.id > 0 }

  /// Metadata that the app's storage hook attached.
  public var userInfo: [String: String] { entry.head.userInfo }

  /// The bytes it takes in memory, about: the texts, and what the allocator gives for each of them, for the objects and
  /// for their places in the tables.
  var cost: Int {
    let fields = entry.head.fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 112 }
    let words = entry.head.userInfo.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 64 }
    return (bytes?.count ?? 0) + fields + words + entry.key.name.utf8.count + 1024
  }
}

extension [CachedResponse] {
  /// The response that a decision chose by what it needs of it.
  func first(of stored: StoredResponse) -> CachedResponse? { first { $0.entry.id == stored.id } }
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
