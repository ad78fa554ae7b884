import HTTPTransport
import HTTPTypes

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
public struct ProposedResponse: Sendable {
  /// As it was sent.
  public let request: HTTPRequest
  /// The bytes that came, as the server encoded them.
  public let body: any StoredBody
  /// May be changed; what is stored is this.
  public var response: HTTPResponse
  /// Stored instead of `body`.
  public var replacement: [UInt8]?
  /// The place where it may be kept.
  public var storagePolicy: StoragePolicy
  /// Metadata of the app, which comes with the response from then on.
  public var userInfo: [String: String]
}

/// Why a cache does not do what it was told.
package enum ResponseCacheError: Error, Hashable, CustomStringConvertible {
  case noMemory
  case noRegions

  package var description: String {
    switch self {
    case .noMemory:
      "a memory capacity of 0 would switch the memory cache off: say allowingNone: true where that is meant"
    case .noRegions: "this cache's store has no regions"
    }
  }
}
