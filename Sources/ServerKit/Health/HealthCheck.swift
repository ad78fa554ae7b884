/// A condition for the host to be ready.
package struct HealthCheck: Sendable {
  /// `store`, `release`, `workers`
  package let name: String
  /// Returns the problem in one sentence; `nil` if there is none.
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
