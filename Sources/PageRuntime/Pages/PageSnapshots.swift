import Containers
import Foundation
import HTTPCache
import HTTPCaching
import HTTPTransport
import ScriptEngine

/// The use of the elements that a page had when it ran last.
public enum SnapshotUse: Hashable, Sendable {
  /// Nothing is shown before the script has rendered, and nothing is stored.
  case none
  /// The elements of the last run are shown until the script has rendered: the same bundle with the same data, for the same
  /// user.
  case showLast
}

/// The elements of pages' last runs, in memory and in a region of the response cache.
package final class PageSnapshots: Sendable {
  private struct Key: Hashable {
    let name: String
    let partition: CachePartition
  }

  /// The elements of the largest tree that is stored.
  private static let elementLimit = 5_000
  /// The bytes of the longest record that is stored.
  private static let byteLimit = 1 << 20
  /// The elements of all trees in memory.
  private static let capacity = 20_000

  private let region: @Sendable () throws -> ResponseCache
  private let trees = LRUCache<Key, ElementTree>(capacity: capacity)

  /// - Parameter region: returns the region, which is opened when a page first needs it.
  package init(in region: @escaping @Sendable () throws -> ResponseCache) { self.region = region }

  /// The name of a page's snapshot: the SHA-256 of all that its first elements depend on.
  static func name(md5: MD5Digest, options: PageOptions, data: ScriptValue) throws -> String {
    let parts: [[UInt8]] = [
      Array(md5.hex.utf8), Array((options.bundleURL ?? "").utf8), Array((options.type?.rawValue ?? "").utf8),
      ScriptValue.object(options.config).json.text, data.json.text,
    ]
    return try SHA256Digest(of: parts.flatMap { Array("\($0.count) ".utf8) + $0 }).hex
  }

  /// Returns the elements of the last run; `nil` if none are stored.
  func tree(named name: String, of partition: CachePartition) async -> ElementTree? {
    let key = Key(name: name, partition: partition)
    if let known = trees[key] { return known }
    guard let region = try? region(), let found = await region.response(forKey: name, in: partition),
      let body = await region.body(of: found), body.count <= Self.byteLimit,
      let text = try? body.read(at: 0, upTo: Int(body.count)),
      let tree = try? await ElementTree.Record.decode(text).tree()
    else { return nil }
    remember(tree, key)
    return tree
  }

  /// Stores the elements of a run, without the states of pictures and embedded pages. A large tree is not stored.
  func store(_ tree: ElementTree, named name: String, of partition: CachePartition) async {
    let tree = tree.withoutStates
    let key = Key(name: name, partition: partition)
    guard tree.body != nil, tree.count <= Self.elementLimit, trees[key] != tree, let region = try? region() else {
      return
    }
    guard let text = try? Array(JSONEncoder().encode(ElementTree.Record(tree))), text.count <= Self.byteLimit else {
      return
    }
    remember(tree, key)
    _ = await region.store(text, forKey: name, in: partition, at: .now)
  }

  /// Frees what is in memory.
  package func releaseMemory() { trees.removeAll() }

  private func remember(_ tree: ElementTree, _ key: Key) { trees.insert(tree, for: key, cost: tree.count) }
}
