import Foundation
import PageKit

/// A worker, for metrics and people.
public struct WorkerStatus: Hashable, Sendable, Codable {
  public enum State: String, Hashable, Sendable, Codable {
    case starting
    case ready
    /// It has been killed, and is being taken away.
    case ending
  }

  /// Counts up from 1; not a process's.
  public var id: Int
  /// Its place: the lowest number that was free when it was started, from 1.
  public var slot: Int
  public var pid: Int32
  public var state: State
  public var residentBytes: Int64
  public var pages: Int
  /// Seconds of the entry that has been running longest; 0 for none.
  public var busy: Double
  /// Nil before it is ready.
  public var confinement: ConfinementReport?
  public var started: Date
  /// Times a worker in this place ended before its time.
  public var kills: Int

  /// What it does: its state, and `busy` for one whose page is running.
  public var activity: String { state == .ready && busy > 0 ? "busy" : state.rawValue }
}

/// All workers, and what became of others.
public struct WorkerPoolStatus: Sendable {
  public var workers: [WorkerStatus]
  /// How many are meant to be there.
  public var wanted: Int
  /// Places that were ever taken.
  public var slots: Int
  public var barred: [BarredBundles.Entry]
  /// Why the worker that was started last did not become ready; `nil` if it did.
  public var problem: String?

  public var ready: Int { workers.filter { $0.state == .ready }.count }
}
