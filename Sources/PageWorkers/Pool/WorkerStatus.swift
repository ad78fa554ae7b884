import Foundation
import PageKit

/// A worker, for metrics and people.
package struct WorkerStatus: Hashable, Sendable, Codable {
  package enum State: String, Hashable, Sendable, Codable {
    case starting
    case ready
    /// It has been killed, and is being taken away.
    case ending
  }

  /// Counts up from 1; not a process's.
  package var id: Int
  /// Its place: the lowest number that was free when it was started, from 1.
  package var slot: Int
  package var pid: Int32
  package var state: State
  package var residentBytes: Int64
  package var pages: Int
  /// Seconds of the entry that has been running longest; 0 for none.
  package var busy: Double
  /// Nil before it is ready.
  package var confinement: ConfinementReport?
  package var started: Date
  /// Times a worker in this place ended before its time.
  package var kills: Int

  /// What it does: its state, and `busy` for one whose page is running.
  package var activity: String { state == .ready && busy > 0 ? "busy" : state.rawValue }
}

/// All workers, and what became of others.
package struct WorkerPoolStatus: Sendable {
  package var workers: [WorkerStatus]
  /// How many are meant to be there.
  package var wanted: Int
  /// Places that were ever taken.
  package var slots: Int
  package var barred: [BarredBundles.Entry]
  /// Why the worker that was started last did not become ready; `nil` if it did.
  package var problem: String?

  package var ready: Int { workers.filter { $0.state == .ready }.count }
}
