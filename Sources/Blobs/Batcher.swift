import Dispatch
import Synchronization

/// Performs work in batches: items that come while a batch is under way are in the next one, in their order. An item that
/// comes alone, or of which it is known that it is the last, waits for no others.
///
/// It is inlinable, so that other modules' items cost no look-ups of metadata.
package final class Batcher<Owner: AnyObject & Sendable, Item: Sendable, Output: Sendable>: Sendable {
  package typealias Work = @Sendable (Owner, [Item]) -> [Result<Output, any Error>]
  @usableFromInline typealias Job = (item: Item, continuation: CheckedContinuation<Output, any Error>)

  /// `isPausing` is `true` from the beginning of a batch to the end of the pause after it; `pause` is the number of the
  /// pause itself while it lasts, and `pauses` that of all so far.
  @usableFromInline typealias State = (
    waiting: [Job], isPausing: Bool, expectsMore: Bool, pause: Int?, pauses: Int
  )

  @usableFromInline let queue: DispatchQueue
  @usableFromInline let limit: Int
  @usableFromInline let longestPause: Duration?
  @usableFromInline let work: Work
  @usableFromInline let state = Mutex<State>(
    (waiting: [], isPausing: false, expectsMore: true, pause: nil, pauses: 0))

  /// - Parameters:
  ///   - queue: a serial queue, on which the work is performed.
  ///   - limit: the largest number of items in a batch.
  ///   - longestPause: for work that costs nearly the same for one item and for many: a pause as long as the batch
  ///     took, and no longer than this, gives the next batch more items. `nil` for no pause.
  ///   - work: returns a result for each item, in their order.
  @inlinable
  package init(
    on queue: DispatchQueue, limit: Int, longestPause: Duration? = nil, _ work: @escaping Work
  ) {
    (self.queue, self.limit, self.longestPause, self.work) = (queue, limit, longestPause, work)
  }

  /// Returns the result for an item when its batch is done.
  ///
  /// - Parameters:
  ///   - owner: performs the work, and lives until then.
  ///   - queued: called when the item waits for its batch.
  @inlinable
  package func result(of item: Item, from owner: Owner, queued: () -> Void = {}) async throws -> Output {
    try await withCheckedThrowingContinuation { continuation in
      let mustStart = state.withLock { state in
        state.waiting.append((item, continuation))
        state.expectsMore = true
        return state.waiting.count == 1 && !state.isPausing
      }
      if mustStart { queue.async { self.run(owner) } }
      queued()
    }
  }

  /// Has the items that wait performed without a pause, since no others are to be expected; until the next one comes.
  @inlinable
  package func expectNoMore(_ owner: Owner) {
    let endsPause = state.withLock { state in
      state.expectsMore = false
      return state.pause.take() != nil
    }
    if endsPause { queue.async { self.run(owner) } }
  }

  @inlinable
  func run(_ owner: Owner) {
    let (batch, hasMore) = state.withLock { state in
      let batch = Array(state.waiting.prefix(limit))
      state.waiting.removeFirst(batch.count)
      state.isPausing = longestPause != nil && !batch.isEmpty
      return (batch, !state.waiting.isEmpty)
    }
    guard !batch.isEmpty else { return }
    let start = longestPause.map { _ in ContinuousClock.now }
    for (job, result) in zip(batch, work(owner, batch.map(\.item))) { job.continuation.resume(with: result) }
    if let longestPause, let start {
      let pause = min(start.duration(to: .now), longestPause)
      let number: Int? = state.withLock { state in
        guard state.expectsMore else { return nil }
        state.pauses += 1
        state.pause = state.pauses
        return state.pause
      }
      guard let number else { return queue.async { self.run(owner) } }
      queue.asyncAfter(deadline: .now() + .nanoseconds(Int(pause / .nanoseconds(1)))) { [weak owner] in
        if let owner { self.goOn(after: number, owner) }
      }
    } else if hasMore {
      // Other work that waits for the queue gets on between.
      queue.async { self.run(owner) }
    }
  }

  @inlinable
  func goOn(after pause: Int, _ owner: Owner) {
    let isUnderWay = state.withLock { state in
      guard state.pause == pause else { return false }
      state.pause = nil
      return true
    }
    if isUnderWay { run(owner) }
  }
}
