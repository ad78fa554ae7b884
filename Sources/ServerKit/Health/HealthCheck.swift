/// A condition for the host to be ready for work.
package struct HealthCheck: Sendable {
  /// `store`, `release`, `workers`
  package let name: String
  /// Returns what is out of order, in one sentence; `nil` if nothing is.
  package let problem: @Sendable () async -> String?

  package init(name: String, problem: @escaping @Sendable () async -> String?) {
    (self.name, self.problem) = (name, problem)
  }

  package struct Outcome: Codable, Equatable, Sendable {
    package var name: String
    package var ok: Bool
    package var reason: String?
  }

  package func outcome() async -> Outcome {
    let problem = await problem()
    return Outcome(name: name, ok: problem == nil, reason: problem)
  }
}

extension [HealthCheck] {
  /// All of them, at the same time, in their order.
  package func outcomes() async -> [HealthCheck.Outcome] {
    await withTaskGroup(of: (Int, HealthCheck.Outcome).self) { group in
      for (index, check) in enumerated() { group.addTask { (index, await check.outcome()) } }
      var outcomes: [(Int, HealthCheck.Outcome)] = []
      for await outcome in group { outcomes.append(outcome) }
      return outcomes.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }
}
