import TestSupport
import Testing

/// Whether any answer of a fleet contradicts what a fleet promises, over thousands of histories that are drawn from seeds.
struct FleetHistoryTests {
  /// The first histories that are simulated: as many as show every fault that is known.
  private static let few: UInt64 = 3_000

  @Test("no answer of thousands of simulated histories contradicts a promise")
  func promises() {
    for seed in 1...UInt64(Soak.rounds(Int(Self.few), soaking: 10_000)) {
      let found = SimulatedFleet.history(seed).contradictions()
      guard found.isEmpty else {
        Issue.record("seed \(seed): \(found[0]), and \(found.count - 1) more")
        return
      }
    }
  }

  @Test("a fleet that breaks a promise is found out", arguments: SimulatedFleet.Fault.allCases)
  func faults(_ fault: SimulatedFleet.Fault) {
    #expect((1...Self.few).contains { !SimulatedFleet.history($0, fault: fault).contradictions().isEmpty })
  }

  @Test("a history has what can go wrong: answers while a host is cut off, catches up and falls back, and lost purges")
  func coverage() {
    var (fallbacks, answers, purges, open, restarts) = (0, 0, 0, 0, 0)
    for seed: UInt64 in 1...200 {
      let history = SimulatedFleet.history(seed)
      answers += history.answers.count
      fallbacks += history.answers.count(where: \.isFallback)
      purges += history.purges.count
      open += history.purges.count { $0.applied.count < 3 }
      restarts += history.restarts.count
    }
    #expect(answers > 10_000 && fallbacks > 100 && purges > 1_000 && open > 100 && restarts > 100)
  }
}
