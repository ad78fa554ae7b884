import Bundles
import Containers
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
  /// The elements of the largest tree that is stored.
  private static let elementLimit = 5_000
  /// The bytes of the longest record that is stored.
  private static let byteLimit = 1 << 20
  /// The elements of all trees in memory.
  private static let capacity = 20_000

  private let region: @Sendable () throws -> ResponseCache
  private let trees = LRUCache<CacheKey, ElementTree>(capacity: capacity)

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
    let key = CacheKey(named: name, in: partition)
    if let known = trees[key] { return known }
    guard let region = try? region(), let found = await region.response(forKey: name, in: partition),
      let body = await region.body(of: found), body.count <= Self.byteLimit,
      let text = try? body.read(at: 0, upTo: Int(body.count)),
      let tree = try? await ElementTree.read(record: text)
    else { return nil }
    remember(tree, key)
    return tree
  }

  /// Stores the elements of a run, without the states of pictures and embedded pages. A large tree is not stored.
  func store(_ tree: ElementTree, named name: String, of partition: CachePartition) async {
    let tree = tree.withoutStates
    let key = CacheKey(named: name, in: partition)
    guard tree.body != nil, tree.count <= Self.elementLimit, trees[key] != tree, let region = try? region() else {
      return
    }
    let text = tree.record
    guard text.count <= Self.byteLimit else { return }
    remember(tree, key)
    _ = await region.store(text, forKey: name, in: partition, at: .now)
  }

  /// Frees the memory.
  package func releaseMemory() { trees.removeAll() }

  private func remember(_ tree: ElementTree, _ key: CacheKey) { trees.insert(tree, for: key, cost: tree.count) }
}

/// Elements that are shown before the script has rendered.
extension PageInstance {
  /// Shows the elements of the last run, if they are to be shown and are stored.
  func showSnapshot(of loaded: LoadedBundle, options: PageOptions, data: ScriptValue) async {
    guard (options.snapshot ?? environment.snapshotUse) == .showLast, inheritedView == nil,
      let snapshots = environment.snapshots,
      let name = try? PageSnapshots.name(md5: loaded.md5, options: options, data: data)
    else { return }
    snapshotName = name
    guard let tree = await snapshots.tree(named: name, of: partition), phase == .loading, snapshotName == name else {
      return
    }
    snapshot = tree
    timings.snapshot = .now - began
    feed.send(.snapshot(tree))
  }

  /// Puts the live elements in the place of the snapshot: by the commands that turn it into them, or anew.
  func endSnapshot() {
    guard let shown = snapshot else { return }
    snapshot = nil
    if let difference = TreeDifference(from: shown, to: tree) {
      if !difference.removals.isEmpty { feed.send(.commands(difference.removals)) }
      let refs = difference.refs
      if !refs.isEmpty { feed.send(.renamed(refs)) }
      if !difference.changes.isEmpty { feed.send(.commands(difference.changes)) }
      wakeSnapshotWaiters { difference.newRef(of: $0) }
    } else {
      feed.send(.snapshot(nil))
      if let body = tree.root.flatMap({ tree.description(of: $0) }) { feed.send(.commands([.createBody(body)])) }
      wakeSnapshotWaiters { _ in nil }
    }
    for element in tree.elements.values {
      if let image = element.image { feed.send(.image(ref: element.ref, image)) }
      if let source = element.source { feed.send(.source(ref: element.ref, source)) }
    }
  }

  /// Ends the showing of the snapshot of an opening that is over.
  func dropSnapshot() {
    snapshotName = nil
    snapshotTask?.cancel()
    guard snapshot != nil else { return }
    snapshot = nil
    feed.send(.snapshot(nil))
    wakeSnapshotWaiters { _ in nil }
  }

  /// Stores the elements of a page that has rendered, once its requests have ended, for the next opening.
  func storeSnapshot() {
    guard let name = snapshotName, let snapshots = environment.snapshots else { return }
    snapshotTask = Task { [weak self] in
      await self?.settle(within: Self.snapshotPatience)
      guard let self, !Task.isCancelled, phase == .live, snapshotName == name else { return }
      await snapshots.store(tree, named: name, of: partition)
    }
  }

  /// Waits until the elements of a page that has rendered are stored for its next opening, if they are to be.
  public func finishSnapshot() async { await snapshotTask?.value }

  /// The longest wait for the end of a page's requests before its elements are stored.
  private static let snapshotPatience: Duration = .seconds(10)

  /// Returns when the elements are those of the script.
  ///
  /// - Parameter ref: the element's ref in the tree that is shown now.
  /// - Returns: its ref in ``tree``; `nil` if the element of a snapshot is not there any more.
  func liveRef(of ref: String) async -> String? {
    guard snapshot != nil else { return ref }
    let live = await withCheckedContinuation { snapshotWaiters.append((ref, $0)) }
    return live.flatMap { tree[$0] == nil ? nil : $0 }
  }

  private func wakeSnapshotWaiters(_ live: (String) -> String?) {
    let waiters = snapshotWaiters
    snapshotWaiters = []
    for (ref, waiter) in waiters { waiter.resume(returning: live(ref)) }
  }
}
