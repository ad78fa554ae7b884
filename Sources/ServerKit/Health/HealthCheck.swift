/// One thing that must be in order before the host takes work.
struct HealthCheck: Sendable {
  /// `store`, `release`, `workers`
  let name: String
  /// Nil when in order, else what is not, in one sentence.
  let problem: @Sendable () async -> String?

  struct Outcome: Codable, Equatable, Sendable {
    var name: String
    var ok: Bool
    var reason: String?
  }

  func outcome() async -> Outcome {
    let problem = await problem()
    return Outcome(name: name, ok: problem == nil, reason: problem)
  }
}

extension [HealthCheck] {
  /// All of them, at the same time, in their order.
  func outcomes() async -> [HealthCheck.Outcome] {
    await withTaskGroup(of: (Int, HealthCheck.Outcome).self) { group in
      for (index, check) in enumerated() { group.addTask { (index, await check.outcome()) } }
      var outcomes: [(Int, HealthCheck.Outcome)] = []
      for await outcome in group { outcomes.append(outcome) }
      return outcomes.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }
}
