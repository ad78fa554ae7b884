import Testing

@testable import RenderHost

@Suite struct PlacementTests {
  private func candidate(_ id: Int, _ pages: Int, calls: Int = 0, busy: Double = 0, memory: Double = 0.1)
    -> Placement.Candidate
  {
    Placement.Candidate(id: id, pages: pages, calls: calls, busy: busy, memory: memory)
  }

  @Test func theLeastLoadedTakesAPage() {
    #expect(Placement.choose([candidate(1, 3), candidate(2, 1)], homes: []) == 2)
    #expect(Placement.choose([], homes: [1]) == nil)
  }

  @Test func aBundleGoesWhereItHasRun() {
    #expect(Placement.choose([candidate(1, 5), candidate(2, 1)], homes: [1]) == 1)
    #expect(Placement.choose([candidate(1, 50), candidate(2, 1)], homes: [1]) == 2)
    #expect(Placement.choose([candidate(2, 1)], homes: [1]) == 2)
  }

  @Test func aBundleDoesNotWaitForItsWorkerWhileAnotherIsFree() {
    #expect(Placement.choose([candidate(1, 1, calls: 1), candidate(2, 0)], homes: [1]) == 2)
    #expect(Placement.choose([candidate(1, 2, calls: 1), candidate(2, 1, calls: 1)], homes: [1]) == 1)
    #expect(Placement.choose([candidate(1, 2, calls: 2), candidate(2, 1, calls: 1)], homes: [1, 2]) == 2)
  }

  @Test func aWorkerThatMayHaveToGoGetsNothing() {
    #expect(Placement.choose([candidate(1, 0, busy: 0.5), candidate(2, 9)], homes: [1]) == 2)
    #expect(Placement.choose([candidate(1, 0, memory: 0.9), candidate(2, 9)], homes: [1]) == 2)
    #expect(Placement.choose([candidate(1, 0, busy: 3), candidate(2, 9, busy: 0.5)], homes: [1]) == 2)
  }
}

@Suite struct WatchTests {
  private let limits = Watch.Limits(time: 5, memory: 100)

  private func verdict(_ change: (inout Watch.Look) -> Void) -> Watch.Verdict {
    var look = Watch.Look()
    change(&look)
    return Watch.verdict(look, limits)
  }

  @Test func anEntryHasItsTimeAndALittleMore() {
    #expect(verdict { $0.running = [(1, 2)] } == .fine)
    #expect(verdict { $0.running = [(1, 3)] } == .suspicious)
    #expect(verdict { $0.running = [(1, 5.4)] } == .suspicious)
    #expect(
      verdict { $0.running = [(1, 6), (2, 5.6), (3, 1)] } == .kill(.time(took: 6, limit: 5), culprits: [1, 2]))
  }

  @Test func memoryIsBlamedOnWhoHasRunLongest() {
    #expect(verdict { $0.residentBytes = 100 } == .fine)
    let kill = KillReason.memory(found: 101, limit: 100)
    #expect(
      verdict { ($0.residentBytes, $0.running, $0.last) = (101, [(1, 1), (2, 2)], 3) } == .kill(kill, culprits: [2]))
    #expect(verdict { ($0.residentBytes, $0.last) = (101, 3) } == .kill(kill, culprits: [3]))
    #expect(verdict { $0.residentBytes = 101 } == .kill(kill, culprits: []))
  }

  @Test func aWorkerThatDoesNotAnswerIsLost() {
    #expect(verdict { $0.overdueCall = -1 } == .fine)
    #expect(verdict { $0.overdueCall = 0.1 } == .kill(.silence, culprits: []))
  }
}
