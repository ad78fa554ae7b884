import DiskStorage
import HTTPCaching
import HTTPTransport

/// A store that keeps nothing, for a cache where no disk can be used.
package struct NoResponseStore: ResponseStoring {
  /// A store that takes nothing.
  package init() {}

  package func entries(for key: CacheKey) async throws -> [ResponseEntry] { [] }
  package func body(of entry: ResponseEntry) async throws -> (any StoredBody)? { nil }
  package func list() async throws -> [ResponseEntry] { [] }
  package func usage() async throws -> ResponseUsage { ResponseUsage() }
  package func changeCount() -> Int64 { 0 }

  package func writer() throws -> any ResponseWriting {
    throw StoreError.notWritable(path: "the response cache", reason: "there is none")
  }

  package func commit(
    _ writer: any ResponseWriting, head: ResponseMetadata, for key: CacheKey, replacing replaced: [ResponseEntry]
  ) async throws -> ResponseEntry? { nil }

  package func update(_ entry: ResponseEntry, head: ResponseMetadata) async throws -> ResponseEntry? { nil }
  package func invalidate(_ keys: [CacheKey]) async throws {}
  package func markStale(_ selection: ResponseSelection, since time: HTTPDate) async throws -> Int { 0 }
  package func touch(_ ids: [Int64]) {}
  package func setKept(_ isKept: Bool, for key: CacheKey) async throws -> Bool { false }
  package func remove(_ selection: ResponseSelection) async throws -> Int { 0 }
  package func setCapacity(_ bytes: Int64) async throws {}
}
