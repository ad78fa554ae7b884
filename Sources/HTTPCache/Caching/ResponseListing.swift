import Foundation
import HTTPCaching
import HTTPTransport

/// A part of the list of what a cache has on disk.
public struct ResponseListing: Sendable {
  /// A stored response, without its bytes.
  public struct Entry: Hashable, Sendable {
    /// The key under which it is stored. A key has an entry for each variant (`Vary`).
    public let key: CacheKey
    /// The URL of the key; `nil` for bytes that have a name only, and for a request that was told apart by its body.
    public let url: PageURL?
    /// The status code.
    public let status: Int
    /// The number of stored bytes of the body, as the server encoded it.
    public let size: Int64
    /// `false` for a part, whose rest is fetched when it is asked for.
    public let isWhole: Bool
    /// `true` if no eviction removes it.
    public let isKept: Bool
    /// The time at which it was stored.
    public let storedAt: Date
    /// The time until which its own fields allow its use without asking the server.
    public let freshUntil: Date
    /// Metadata that the app's storage hook attached.
    public let userInfo: [String: String]

    init(_ entry: ResponseEntry) {
      key = entry.key
      url = PageURL(entry.key.name, ignoring: [])
      status = entry.head.status
      size = entry.head.extent.count
      isWhole = entry.head.extent.isWhole
      isKept = entry.isKept
      storedAt = Date(timeIntervalSince1970: entry.storedAt)
      freshUntil = Date(timeIntervalSince1970: Double(entry.head.staleAt))
      userInfo = entry.head.userInfo
    }
  }

  /// A place in the list.
  public struct Position: Hashable, Sendable {
    let id: Int64
  }

  /// The entries, those that were stored first at the beginning.
  public let entries: [Entry]
  /// The place where the next part begins; `nil` at the end.
  public let next: Position?
}

extension ResponseCache {
  /// The largest number of entries in a ``ResponseListing``.
  public static let listingLimit = 1_000

  /// Returns a part of the list of what is on disk. Regions are caches of their own, and responses that are in memory only
  /// are not listed.
  ///
  ///     var next: ResponseListing.Position?
  ///     repeat {
  ///       let part = try await host.responses.listing(after: next)
  ///       for entry in part.entries { print(entry.key, entry.size, entry.freshUntil) }
  ///       next = part.next
  ///     } while next != nil
  ///
  /// - Parameters:
  ///   - position: the ``ResponseListing/next`` of the part before; `nil` for the first part.
  ///   - limit: the number of entries, from 1 to ``listingLimit``; others count as the nearest of these.
  /// - Throws: `StoreError`.
  public func listing(
    after position: ResponseListing.Position? = nil, limit: Int = 100
  ) async throws -> ResponseListing {
    let page = try await store.page(after: position?.id ?? 0, limit: min(max(limit, 1), Self.listingLimit))
    return ResponseListing(
      entries: page.entries.map { ResponseListing.Entry($0) }, next: page.last.map { ResponseListing.Position(id: $0) })
  }
}
