import DiskStorage
import HTTPCaching
import HTTPTransport

/// A store that keeps nothing: for a cache in memory alone, and where no disk can be used.
public struct NoResponseStore: ResponseStoring {
  /// A store that takes nothing.
  public init() {}

  public func entries(for key: CacheKey) async throws -> [ResponseEntry] { [] }
  public func body(of entry: ResponseEntry) async throws -> (any StoredBody)? { nil }
  public func list() async throws -> [ResponseEntry] { [] }
  public func usage() async throws -> ResponseUsage { ResponseUsage() }
  public func changeCount() -> Int64 { 0 }

  public func writer() throws -> any ResponseWriting {
    throw StoreError.notWritable(path: "the response cache", reason: "there is none")
  }

  public func commit(
    _ writer: any ResponseWriting, head: ResponseMetadata, for key: CacheKey, replacing replaced: [ResponseEntry]
  ) async throws -> ResponseEntry? { nil }

  public func update(_ entry: ResponseEntry, head: ResponseMetadata) async throws -> ResponseEntry? { nil }
  public func invalidate(_ keys: [CacheKey]) async throws {}
  public func markStale(_ selection: ResponseSelection, since time: HTTPDate) async throws -> Int { 0 }
  public func touch(_ ids: [Int64]) async throws {}
  public func setKept(_ isKept: Bool, for key: CacheKey) async throws -> Bool { false }
  public func remove(_ selection: ResponseSelection) async throws -> Int { 0 }
  public func setCapacity(_ bytes: Int64) async throws {}
}
