import HTTPTransport
import Synchronization

/// Where a preload writes how far it is, and any number of subscribers read it, each at its own pace.
final class PreloadFeed: Sendable {
  private struct Subscriber {
    var changed: Set<Int>
    var hasSeenTotals = false
    var waiter: CheckedContinuation<PreloadUpdate?, Never>?
    var hasEnded = false
  }

  private struct State {
    var totals = PreloadUpdate.Totals()
    var bundles: [PreloadUpdate.Bundle] = []
    var pause: PreloadUpdate.Pause?
    var report: PreloadReport?
    /// What is here of each bundle.
    var positions: [Int64] = []
    var subscribers: [Int: Subscriber] = [:]
    var nextID = 0
    var meter = RateMeter()

    /// Nil where nothing has changed since the subscriber was told last.
    mutating func update(for id: Int) -> PreloadUpdate? {
      guard var subscriber = subscribers[id], !subscriber.hasSeenTotals || report != nil else { return nil }
      defer { subscribers[id] = subscriber }
      let changed = subscriber.changed.sorted().map { bundles[$0] }
      subscriber.changed = []
      subscriber.hasSeenTotals = true
      subscriber.hasEnded = report != nil
      return PreloadUpdate(totals: totals, changed: changed, pause: pause, report: report)
    }
  }

  private let state = Mutex(State())
  private let start = ContinuousClock.now

  // MARK: Writing

  func setBundles(_ bundles: [PreloadUpdate.Bundle], _ change: (inout PreloadUpdate.Totals) -> Void) {
    publish { state in
      state.bundles = bundles
      state.positions = Array(repeating: 0, count: bundles.count)
      state.totals.bytesHere = 0
      change(&state.totals)
      for id in state.subscribers.keys { state.subscribers[id]?.changed = Set(bundles.indices) }
    }
  }

  func setTotals(_ change: (inout PreloadUpdate.Totals) -> Void) {
    publish { change(&$0.totals) }
  }

  /// A download begins, or goes on, behind so many bytes that are here.
  ///
  /// - Parameter size: of the whole, where the answer tells; the manifest's word goes first.
  func began(at position: Int64, size: Int64?, by bundle: Int) {
    publish { state in
      if state.bundles[bundle].size == nil, let size {
        state.bundles[bundle].size = size
        state.totals.bytesToFetch += size
      }
      Self.move(bundle, to: position, &state)
      Self.set(.fetching(position), of: bundle, &state)
    }
  }

  func received(_ bytes: Int, by bundle: Int) {
    let elapsed = ContinuousClock.now - start
    publish { state in
      state.totals.bytes += Int64(bytes)
      state.totals.rate = state.meter.rate(adding: bytes, at: elapsed)
      let position = state.positions[bundle] + Int64(bytes)
      Self.move(bundle, to: position, &state)
      Self.set(.fetching(position), of: bundle, &state)
    }
  }

  private static func move(_ bundle: Int, to position: Int64, _ state: inout State) {
    state.totals.bytesHere += position - state.positions[bundle]
    state.positions[bundle] = position
  }

  func setState(_ new: PreloadUpdate.State, of bundle: Int) {
    publish { state in
      switch new {
      case .done:
        state.totals.fetched += 1
        // What came encoded was less on its way.
        if let size = state.bundles[bundle].size { Self.move(bundle, to: size, &state) }
      case .failed:
        state.totals.failed += 1
        // Nothing of it is waited for any more.
        state.totals.bytesToFetch -= state.bundles[bundle].size ?? 0
        Self.move(bundle, to: 0, &state)
      case .waiting, .fetching: break
      }
      Self.set(new, of: bundle, &state)
    }
  }

  /// Nothing is under way until the next round.
  func wait(_ pause: PreloadUpdate.Pause) {
    publish { state in
      state.totals.phase = .waiting
      state.pause = pause
    }
  }

  /// The next round begins.
  func goOn() {
    publish { state in
      state.totals.phase = .askingServer
      state.pause = nil
    }
  }

  func finish(_ report: PreloadReport) {
    publish { state in
      state.totals.phase = .finished
      state.pause = nil
      state.report = report
    }
  }

  /// A try has failed, and another follows.
  func retries(_ retry: PreloadUpdate.Retry, by bundle: Int) {
    publish { state in
      Self.set(state.bundles[bundle].state, of: bundle, &state)
      state.bundles[bundle].retry = retry
    }
  }

  private static func set(_ new: PreloadUpdate.State, of bundle: Int, _ state: inout State) {
    state.bundles[bundle].state = new
    state.bundles[bundle].retry = nil
    for id in state.subscribers.keys { state.subscribers[id]?.changed.insert(bundle) }
  }

  private func publish(_ change: (inout State) -> Void) {
    let elapsed = ContinuousClock.now - start
    let told = state.withLock { state in
      change(&state)
      state.totals.elapsed = elapsed
      var told: [(CheckedContinuation<PreloadUpdate?, Never>, PreloadUpdate)] = []
      for id in state.subscribers.keys {
        state.subscribers[id]?.hasSeenTotals = false
        guard let waiter = state.subscribers[id]?.waiter, let update = state.update(for: id) else { continue }
        state.subscribers[id]?.waiter = nil
        told.append((waiter, update))
      }
      return told
    }
    for (waiter, update) in told { waiter.resume(returning: update) }
  }

  // MARK: Reading

  var subscriberCount: Int { state.withLock { $0.subscribers.count } }

  func subscribe() -> Int {
    state.withLock { state in
      defer { state.nextID += 1 }
      state.subscribers[state.nextID] = Subscriber(changed: Set(state.bundles.indices))
      return state.nextID
    }
  }

  func unsubscribe(_ id: Int) {
    state.withLock { $0.subscribers.removeValue(forKey: id)?.waiter }?.resume(returning: nil)
  }

  /// Nil after the last update, and when the reader is cancelled.
  func next(for id: Int) async -> PreloadUpdate? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (isKnown, update) = state.withLock { state -> (Bool, PreloadUpdate?) in
          guard let subscriber = state.subscribers[id], !subscriber.hasEnded else { return (true, nil) }
          if let update = state.update(for: id) { return (true, update) }
          state.subscribers[id]?.waiter = continuation
          return (false, nil)
        }
        if isKnown { continuation.resume(returning: update) }
      }
    } onCancel: {
      unsubscribe(id)
    }
  }
}

/// Bytes a second over the last seconds.
private struct RateMeter {
  private var samples: [(at: Duration, bytes: Int)] = []
  private static let window: Duration = .seconds(3)
  private static let resolution: Duration = .milliseconds(100)

  mutating func rate(adding bytes: Int, at now: Duration) -> Double {
    if let last = samples.last, now - last.at < Self.resolution {
      samples[samples.count - 1].bytes += bytes
    } else {
      samples.append((now, bytes))
    }
    samples.removeAll { now - $0.at > Self.window }
    let span = max((now - (samples.first?.at ?? now)).seconds, Self.resolution.seconds)
    return Double(samples.reduce(0) { $0 + $1.bytes }) / span
  }
}

/// The updates of one preload for one reader.
public struct PreloadUpdates: AsyncSequence, Sendable {
  let feed: PreloadFeed

  public final class AsyncIterator: AsyncIteratorProtocol {
    private let feed: PreloadFeed
    private let id: Int

    fileprivate init(_ feed: PreloadFeed) {
      self.feed = feed
      id = feed.subscribe()
    }

    deinit { feed.unsubscribe(id) }

    public func next() async -> PreloadUpdate? { await feed.next(for: id) }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed) }
}
