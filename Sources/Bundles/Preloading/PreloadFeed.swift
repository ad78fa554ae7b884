import HTTPTransport
import Synchronization

/// The progress of a preload, for any number of readers.
final class PreloadFeed: Sendable {
  private struct State {
    var totals = PreloadUpdate.Totals()
    var bundles: [PreloadUpdate.Bundle] = []
    var pause: PreloadUpdate.Pause?
    var report: PreloadReport?
    /// The bytes already present of each bundle.
    var positions: [Int64] = []
    /// The bundles that changed since the last publication.
    var changed: Set<Int> = []
    var meter = RateMeter()
  }

  private let state = Mutex(State())
  /// Sends the bundles that changed; a reader looks up their latest state.
  private let changes = Broadcast<Set<Int>>(.merged { $0.formUnion($1) })
  private let start = ContinuousClock.now

  // MARK: Writing

  func setBundles(_ bundles: [PreloadUpdate.Bundle], _ change: (inout PreloadUpdate.Totals) -> Void) {
    publish { state in
      state.bundles = bundles
      state.positions = Array(repeating: 0, count: bundles.count)
      state.totals.bytesHere = 0
      change(&state.totals)
      state.changed = Set(bundles.indices)
    }
  }

  func setTotals(_ change: (inout PreloadUpdate.Totals) -> Void) {
    publish { change(&$0.totals) }
  }

  /// A download begins or continues.
  ///
  /// - Parameters:
  ///   - position: the bytes that are already present.
  ///   - size: the size of the whole, if the response gives it; the manifest's size takes precedence.
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
        // Encoded content has fewer wire bytes.
        if let size = state.bundles[bundle].size { Self.move(bundle, to: size, &state) }
      case .failed:
        state.totals.failed += 1
        // The bundle does not count any more.
        state.totals.bytesToFetch -= state.bundles[bundle].size ?? 0
        Self.move(bundle, to: 0, &state)
      case .waiting, .fetching: break
      }
      Self.set(new, of: bundle, &state)
    }
  }

  /// The preload pauses until the next round.
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

  /// An attempt has failed, and another follows.
  func retries(_ retry: PreloadUpdate.Retry, by bundle: Int) {
    publish { state in
      Self.set(state.bundles[bundle].state, of: bundle, &state)
      state.bundles[bundle].retry = retry
    }
  }

  private static func set(_ new: PreloadUpdate.State, of bundle: Int, _ state: inout State) {
    state.bundles[bundle].state = new
    state.bundles[bundle].retry = nil
    state.changed.insert(bundle)
  }

  private func publish(_ change: (inout State) -> Void) {
    let elapsed = ContinuousClock.now - start
    let changed = state.withLock { state in
      change(&state)
      state.totals.elapsed = elapsed
      defer { state.changed = [] }
      return state.changed
    }
    changes.send(changed)
  }

  // MARK: Reading

  /// The updates for one reader: the whole state first, then merged changes, the report last.
  var updates: AsyncStream<PreloadUpdate> {
    let stream = state.withLock { changes.listen(first: Set($0.bundles.indices)) }
    let hasEnded = Atomic(false)
    return AsyncStream { [self] in
      var iterator = stream.makeAsyncIterator()
      guard !hasEnded.load(ordering: .relaxed), let changed = await iterator.next() else { return nil }
      let update = update(changed)
      if update.report != nil { hasEnded.store(true, ordering: .relaxed) }
      return update
    }
  }

  private func update(_ changed: Set<Int>) -> PreloadUpdate {
    state.withLock { state in
      // A later round may have fewer bundles.
      let bundles = changed.sorted().filter(state.bundles.indices.contains).map { state.bundles[$0] }
      return PreloadUpdate(totals: state.totals, changed: bundles, pause: state.pause, report: state.report)
    }
  }
}

/// Measures bytes per second over the last seconds.
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
