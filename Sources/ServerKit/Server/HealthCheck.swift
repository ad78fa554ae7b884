import Blobs
import Dispatch
import HTTPTransport
import Synchronization

/// A condition for the host to be ready.
package struct HealthCheck: Sendable {
  /// `store`, `release`, `workers`
  package let name: String
  /// Returns the problem in one sentence; `nil` if there is none.
  package let problem: @Sendable () async -> String?
  /// Returns a problem with which the host goes on serving, and stays ready; `nil` if there is none.
  package let warning: @Sendable () async -> String?

  package init(
    name: String, problem: @escaping @Sendable () async -> String? = { nil },
    warning: @escaping @Sendable () async -> String? = { nil }
  ) {
    (self.name, self.problem, self.warning) = (name, problem, warning)
  }

  package struct Outcome: Codable, Equatable, Sendable {
    package var name: String
    package var ok: Bool
    package var reason: String?
    /// `false` for a problem with which the host stays ready.
    package var required: Bool?

    /// `true` if the host is not ready because of it.
    package var isFailure: Bool { !ok && required != false }
  }

  package func outcome() async -> Outcome {
    if let problem = await problem() { return Outcome(name: name, ok: false, reason: problem) }
    if let warning = await warning() { return Outcome(name: name, ok: false, reason: warning, required: false) }
    return Outcome(name: name, ok: true)
  }
}

extension [HealthCheck] {
  /// The outcomes of all checks in their order. The checks run at the same time.
  package func outcomes() async -> [HealthCheck.Outcome] {
    await withTaskGroup(of: (Int, HealthCheck.Outcome).self) { group in
      for (index, check) in enumerated() { group.addTask { (index, await check.outcome()) } }
      var outcomes: [(Int, HealthCheck.Outcome)] = []
      for await outcome in group { outcomes.append(outcome) }
      return outcomes.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }
}

/// Finds out if a store can write. However often it is asked, it writes once in a few seconds.
package final class StoreWriteCheck: Sendable {
  /// The time for which what was found is used.
  private static let life: Duration = .seconds(2)

  private let directory: StoreDirectory
  private let queue = DispatchQueue(label: "renderhost.store-check")
  private let found = Mutex<(time: ContinuousClock.Instant, problem: String?)?>(nil)

  package init(_ directory: StoreDirectory) { self.directory = directory }

  /// Returns the reason why the store cannot write, in one sentence; `nil` if it can.
  package func problem(at now: ContinuousClock.Instant = .now) async -> String? {
    if let found = found.withLock(\.self), now - found.time < Self.life { return found.problem }
    let problem = try? await queue.result { [directory] in directory.writeProblem()?.description }
    found.withLock { $0 = (now, problem) }
    return problem
  }
}
