import Foundation
import PageKit

/// The status of a worker, for metrics and people.
package struct WorkerStatus: Hashable, Sendable, Codable {
  package enum State: String, Hashable, Sendable, Codable {
    case starting
    case ready
    /// Killed, and not yet reaped.
    case ending
  }

  /// The number of the worker, from 1; not that of the process.
  package var id: Int
  /// The number of its place, from 1: the lowest free one at its start.
  package var slot: Int
  package var pid: Int32
  package var state: State
  package var residentBytes: Int64
  package var pages: Int
  /// The seconds of the longest running entry; 0 for none.
  package var busy: Double
  /// `nil` before it is ready.
  package var confinement: ConfinementReport?
  package var started: Date
  /// The number of premature ends of workers in this place.
  package var kills: Int

  /// Its activity: its state, or `busy` while a page runs.
  package var activity: String { state == .ready && busy > 0 ? "busy" : state.rawValue }
}

/// The status of all workers, and counts of ended ones.
package struct WorkerPoolStatus: Sendable {
  package var workers: [WorkerStatus]
  /// The configured number.
  package var wanted: Int
  /// The largest number of places so far.
  package var slots: Int
  package var barred: [BarredBundles.Entry]
  /// The reason why the worker that was started last did not become ready; `nil` if it did.
  package var problem: String?
  /// The reason why workers run no scripts, with the package to install; `nil` if they do.
  package var engineProblem: String?

  package var ready: Int { workers.filter { $0.state == .ready }.count }
}
