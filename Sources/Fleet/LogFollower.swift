import HTTPCaching
import Synchronization

/// Follows one log of a fleet's journal: knows how far the host has come in it, and has its entries carried out one after
/// the other.
final class LogFollower: Sendable {
  /// The number of the entry after which a follower begins, and the follower's ``FleetPosition/following``.
  private typealias Start = (after: UInt64, following: Int)

  private let log: FleetLog
  private let journal: any FleetJournal
  private let now: @Sendable () -> FleetTime
  private let state: Mutex<FleetPosition>
  /// The followings that are to begin; only the latest one counts. It has one reader.
  private let starts: AsyncStream<Start>
  private let starting: AsyncStream<Start>.Continuation

  init(
    _ log: FleetLog, of journal: any FleetJournal, from position: FleetPosition,
    now: @escaping @Sendable () -> FleetTime
  ) {
    (self.log, self.journal, self.now) = (log, journal, now)
    state = Mutex(position)
    (starts, starting) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  var position: FleetPosition { state.withLock { $0 } }

  func storedUse(at now: FleetTime, servesWhenCutOff: Bool) -> StoredUse {
    state.withLock { position in
      position.observe(now)
      return position.storedUse(at: now, servesWhenCutOff: servesWhenCutOff)
    }
  }

  /// Asks the journal how far the log is.
  ///
  /// - Throws: ``JournalError``.
  func ask() async throws {
    let asked = now()
    let applied = state.withLock { position in
      position.observe(asked)
      return position.applied
    }
    let span = try await journal.span(of: log)
    let time = now()
    let start: Start? = state.withLock { position in
      position.answered(span, asked: asked, appliedThen: applied, at: time).map { ($0, position.following) }
    }
    if let start { starting.yield(start) }
  }

  /// Has the entries carried out until the task is cancelled.
  ///
  /// - Parameters:
  ///   - carryOut: returns when an entry is carried out, or `nil` if the task was cancelled before.
  ///   - whenApplied: is called when the position is behind the entry.
  ///   - whenFailed: is called with the reason why entries cannot be followed now.
  func run<Outcome: Sendable>(
    _ carryOut: @escaping @Sendable (JournalEntry) async -> Outcome?,
    whenApplied: @escaping @Sendable (JournalEntry, Outcome) async -> Void,
    whenFailed: @escaping @Sendable (any Error) -> Void
  ) async {
    var starts = starts.makeAsyncIterator()
    var next = await starts.next()
    while let start = next {
      next = await withTaskGroup(of: Void.self) { group in
        group.addTask {
          do {
            try await self.follow(start, carryOut, whenApplied)
          } catch {
            whenFailed(error)
          }
          self.state.withLock { $0.stopFollowing(start.following) }
        }
        let following = await starts.next()
        group.cancelAll()
        return following
      }
    }
  }

  private func follow<Outcome: Sendable>(
    _ start: Start, _ carryOut: @Sendable (JournalEntry) async -> Outcome?,
    _ whenApplied: @Sendable (JournalEntry, Outcome) async -> Void
  ) async throws {
    // The entry at the position shows whether the log is the one of before.
    for await entry in try await journal.entries(after: start.after == 0 ? 0 : start.after - 1, of: log) {
      let time = now()
      let isDue = state.withLock {
        $0.receives(entry.sequence, time: entry.time, by: start.following, at: time)
      }
      guard isDue else { continue }
      guard let outcome = await carryOut(entry) else { return }
      state.withLock { $0.apply(entry.sequence, time: entry.time, by: start.following) }
      await whenApplied(entry, outcome)
    }
  }
}
