import Foundation
import HTTPTransport
import Releases
import Synchronization

/// The progress of a preload.
///
/// The last update contains the report. Changes in between are merged: a slow subscriber gets fewer updates, and each one
/// has the latest state.
public struct PreloadUpdate: Sendable {
  /// The totals of a preload's current round.
  public struct Totals: Hashable, Sendable {
    /// The present activity.
    package var phase: Phase = .askingServer
    /// The release's name, once it is known.
    public var release: String?
    /// The number of contents to fetch; entries with equal bytes count once.
    public var toFetch = 0
    /// The number of contents that were fetched and stored.
    public var fetched = 0
    /// The number of contents that could not be fetched.
    public var failed = 0
    /// The number of bundles and files that were stored before.
    public var upToDate = 0
    /// The wire bytes received so far.
    public var bytes: Int64 = 0
    /// The bytes already present of the contents to fetch, including those of earlier runs and of finished contents,
    /// without those of failed ones.
    public var bytesHere: Int64 = 0
    /// The bytes of all contents to fetch, as far as the manifest or the responses give sizes, without failed ones.
    public var bytesToFetch: Int64 = 0
    /// The time since the preload began.
    public var elapsed: Duration = .zero
    /// The wire bytes per second over the last 3 seconds.
    public var rate: Double = 0

    package init() {}
  }

  /// The activity of a preload.
  package enum Phase: Hashable, Sendable {
    /// Asking the server for its manifest.
    case askingServer
    /// Downloading bundles and files.
    case fetching
    /// Making the release the current one.
    case activating
    /// Downloading the responses that bundles list for prefetching.
    case prefetching
    /// Pausing until the next round, as ``PreloadUpdate/pause`` says.
    case waiting
    /// Finished.
    case finished
  }

  /// A pause between the rounds of a preload.
  public struct Pause: Hashable, Sendable {
    /// The failures of the last round; empty if everything is stored.
    public let missing: [PreloadReport.Failure]
    /// The latest time at which the preload continues; `nil` if it waits only for the network or for a release event.
    public let until: Date?
  }

  /// The progress of one content, under the name of its first entry.
  package struct Bundle: Hashable, Sendable {
    /// The name in the manifest.
    package let name: String
    /// The kind: a page's script or another file.
    package let kind: PageBundle.Kind
    /// The size in bytes, if the manifest or the response gives it.
    package internal(set) var size: Int64?
    /// The progress of the download.
    package var state: State
    /// The next attempt, while the download waits for it.
    package internal(set) var retry: Retry?
  }

  /// A failed attempt, and the next one.
  package struct Retry: Hashable, Sendable {
    /// The number of the next attempt, from 2.
    package let number: Int
    /// The largest number of attempts.
    package let limit: Int
    /// The time between the failure and the next attempt.
    package let delay: Duration
    /// The cause of the failure, without the URL.
    package let reason: String

    package init(number: Int, limit: Int, delay: Duration, reason: String) {
      (self.number, self.limit, self.delay, self.reason) = (number, limit, delay, reason)
    }
  }

  /// The progress of a download.
  package enum State: Hashable, Sendable {
    /// Not started.
    case waiting
    /// Under way, with the wire bytes so far, including those of earlier runs.
    case fetching(Int64)
    /// Stored.
    case done
    /// Failed, with the reason.
    case failed(String)
  }

  /// The totals.
  public let totals: Totals
  /// The bundles that changed since the subscriber's last update; all of them in the first one.
  package let changed: [Bundle]
  /// The pause between two rounds, otherwise `nil`.
  public let pause: Pause?
  /// The report in the last update, otherwise `nil`.
  public let report: PreloadReport?
}

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
    /// The bytes of the last seconds, by the time of their arrival.
    var samples: [(at: Duration, bytes: Int)] = []
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
      state.totals.rate = Self.rate(adding: bytes, at: elapsed, to: &state.samples)
      let position = state.positions[bundle] + Int64(bytes)
      Self.move(bundle, to: position, &state)
      Self.set(.fetching(position), of: bundle, &state)
    }
  }

  /// Returns the bytes per second over the last three seconds.
  private static func rate(
    adding bytes: Int, at now: Duration, to samples: inout [(at: Duration, bytes: Int)]
  ) -> Double {
    let resolution: Duration = .milliseconds(100)
    if let last = samples.last, now - last.at < resolution {
      samples[samples.count - 1].bytes += bytes
    } else {
      samples.append((now, bytes))
    }
    samples.removeAll { now - $0.at > .seconds(3) }
    let span = max((now - (samples.first?.at ?? now)).seconds, resolution.seconds)
    return Double(samples.reduce(0) { $0 + $1.bytes }) / span
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
