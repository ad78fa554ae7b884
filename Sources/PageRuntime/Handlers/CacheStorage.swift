import HTTPCache
import HTTPCaching
import HTTPTransport

/// Stores scripts' values in a region of the response cache, where they are never evicted.
package struct CacheStorage: StorageProviding {
  private let region: @Sendable () throws -> ResponseCache
  private let partition: CachePartition

  /// - Parameters:
  ///   - partition: the user whose values they are.
  ///   - region: returns the region, which is opened when a script first uses the storage.
  package init(partition: CachePartition = .private, in region: @escaping @Sendable () throws -> ResponseCache) {
    self.region = region
    self.partition = partition
  }

  package func values(of partition: CachePartition) -> any StorageProviding {
    CacheStorage(partition: partition, in: region)
  }

  package func value(for key: String) async throws -> String? {
    let region = try self.region()
    guard let found = await region.response(forKey: key, in: partition), let body = await region.body(of: found) else {
      return nil
    }
    return String(decoding: try body.read(at: 0, upTo: Int(body.count)), as: UTF8.self)
  }

  package func setValue(_ value: String, for key: String) async throws {
    let region = try self.region()
    // The key is kept before its value is stored, so that the value is durable at once.
    try await region.keep(CacheKey(named: key, in: partition))
    guard await region.store(Array(value.utf8), forKey: key, in: partition, at: .now) != nil else {
      throw StorageError.notStored(key)
    }
  }

  package func removeValue(for key: String) async throws -> Bool {
    let region = try self.region()
    let wasThere = await region.response(forKey: key, in: partition) != nil
    try await region.remove(for: CacheKey(named: key, in: partition))
    return wasThere
  }

  package func keys() async throws -> [String] {
    try await region().store.list().map(\.key).filter { $0.partition == partition }.compactMap(\.storageName).sorted()
  }
}

/// An error of storing a script's value.
enum StorageError: Error, CustomStringConvertible {
  case notStored(String)

  var description: String {
    switch self {
    case .notStored(let key): "\"\(key)\" could not be stored"
    }
  }
}

extension CacheKey {
  /// The name that the key was made with; `nil` for the key of a URL.
  fileprivate var storageName: String? { name.hasPrefix("key:") ? String(name.dropFirst(4)) : nil }
}
