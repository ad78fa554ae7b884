import DiskStorage
import Dispatch
import HTTPTransport
import Synchronization

/// Finds out if a store can write. However often it is asked, it writes once in a few seconds.
final class StoreWriteCheck: Sendable {
  private struct Found {
    let time: ContinuousClock.Instant
    let problem: String?
  }

  /// The time for which what was found is used.
  private static let life: Duration = .seconds(2)

  private let directory: StoreDirectory
  private let queue = DispatchQueue(label: "renderhost.store-check")
  private let found = Mutex<Found?>(nil)

  init(_ directory: StoreDirectory) { self.directory = directory }

  /// The reason why the store cannot write, in one sentence; `nil` if it can.
  func problem(at now: ContinuousClock.Instant = .now) async -> String? {
    if let found = found.withLock(\.self), now - found.time < Self.life { return found.problem }
    let problem = try? await queue.result { [directory] in directory.writeProblem()?.description }
    found.withLock { $0 = Found(time: now, problem: problem) }
    return problem
  }
}
