import Bundles
import HTTPTransport
import ScriptEngine

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
  /// - Parameter ref: the element's ref in what is shown now.
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
