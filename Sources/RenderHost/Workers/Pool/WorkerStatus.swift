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
  public var pid: Int32
  public var state: State
  public var residentBytes: Int64
  public var pages: Int
  /// Seconds of the entry that has been running longest; 0 for none.
  public var busy: Double
  /// Nil before it is ready.
  public var confinement: ConfinementReport?
}

/// All workers, and what became of others.
public struct WorkerPoolStatus: Sendable {
  public var workers: [WorkerStatus]
  /// How many are meant to be there.
  public var wanted: Int
  /// Workers that had to go, by ``KillReason/name``.
  public var kills: [String: Int]
  /// The latest reasons, newest last, as sentences.
  public var lastKills: [String]
  public var started: Int
  public var barred: [BarredBundles.Entry]

  public var ready: Int { workers.filter { $0.state == .ready }.count }
}
