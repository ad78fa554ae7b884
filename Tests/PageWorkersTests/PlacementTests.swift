import Testing

@testable import PageWorkers

@Suite struct PlacementTests {
  private func candidate(_ id: Int, _ pages: Int, calls: Int = 0, busy: Double = 0, memory: Double = 0.1)
    -> Placement.Candidate
  {
    Placement.Candidate(id: id, pages: pages, calls: calls, busy: busy, memory: memory)
  }

  @Test("the least loaded worker takes a page")
  func leastLoaded() {
    #expect(Placement.choose([candidate(1, 3), candidate(2, 1)], warmWorkers: []) == 2)
    #expect(Placement.choose([], warmWorkers: [1]) == nil)
  }

  @Test("a bundle goes to a worker that ran it")
  func warmWorker() {
    #expect(Placement.choose([candidate(1, 5), candidate(2, 1)], warmWorkers: [1]) == 1)
    #expect(Placement.choose([candidate(1, 50), candidate(2, 1)], warmWorkers: [1]) == 2)
    #expect(Placement.choose([candidate(2, 1)], warmWorkers: [1]) == 2)
  }

  @Test("a bundle does not wait for its worker while another is free")
  func freeWorker() {
    #expect(Placement.choose([candidate(1, 1, calls: 1), candidate(2, 0)], warmWorkers: [1]) == 2)
    #expect(Placement.choose([candidate(1, 2, calls: 1), candidate(2, 1, calls: 1)], warmWorkers: [1]) == 1)
    #expect(Placement.choose([candidate(1, 2, calls: 2), candidate(2, 1, calls: 1)], warmWorkers: [1, 2]) == 2)
  }

  @Test("the next run of a page goes to its worker, also while another is free")
  func formerWorker() {
    #expect(Placement.choose([candidate(1, 9, calls: 3), candidate(2, 0)], warmWorkers: [2], near: 1) == 1)
    #expect(Placement.choose([candidate(1, 9, busy: 0.5), candidate(2, 0)], warmWorkers: [], near: 1) == 2)
    #expect(Placement.choose([candidate(1, 9, memory: 0.9), candidate(2, 0)], warmWorkers: [], near: 1) == 2)
    #expect(Placement.choose([candidate(2, 0)], warmWorkers: [], near: 1) == 2)
  }

  @Test("a worker that is busy for long, or nearly full, gets no page")
  func suspectWorker() {
    #expect(Placement.choose([candidate(1, 0, busy: 0.5), candidate(2, 9)], warmWorkers: [1]) == 2)
    #expect(Placement.choose([candidate(1, 0, memory: 0.9), candidate(2, 9)], warmWorkers: [1]) == 2)
    #expect(Placement.choose([candidate(1, 0, busy: 3), candidate(2, 9, busy: 0.5)], warmWorkers: [1]) == 2)
  }

  @Test("a new page does not endanger open ones")
  func fullWorkersGetNothing() {
    #expect(Placement.choose([candidate(1, 0, memory: 0.8), candidate(2, 9, memory: 0.95)], warmWorkers: [1]) == nil)
    #expect(
      Placement.choose([candidate(1, 0, busy: 3, memory: 0.7), candidate(2, 9, memory: 0.95)], warmWorkers: [2]) == 1)
  }
}

@Suite struct WatchTests {
  private let limits = Watchdog.Limits(time: 5, memory: 100)

  private func verdict(_ change: (inout Watchdog.Sample) -> Void) -> Watchdog.Verdict {
    var look = Watchdog.Sample()
    change(&look)
    return Watchdog.verdict(look, limits)
  }

  private static func running(
    _ page: UInt64, _ seconds: Double, processor: Double? = nil, growth: Int64 = 0
  ) -> Watchdog.Running {
    Watchdog.Running(page: page, seconds: seconds, processorSeconds: processor, growth: growth)
  }

  @Test("an entry has its time limit and a margin")
  func entryTime() {
    #expect(verdict { $0.running = [Self.running(1, 2)] } == .fine)
    #expect(verdict { $0.running = [Self.running(1, 3)] } == .suspicious)
    #expect(verdict { $0.running = [Self.running(1, 5.4)] } == .suspicious)
    #expect(
      verdict { $0.running = [Self.running(1, 6), Self.running(2, 5.6), Self.running(3, 1)] }
        == .kill(.time(took: 6, limit: 5), culprits: [1, 2]))
  }

  @Test("a page is charged for its processor time, not for the load of the machine")
  func processorTime() {
    #expect(verdict { $0.running = [Self.running(1, 20, processor: 2)] } == .fine)
    #expect(verdict { $0.running = [Self.running(1, 20, processor: 3)] } == .suspicious)
    #expect(
      verdict { $0.running = [Self.running(1, 20, processor: 6), Self.running(2, 20, processor: 1)] }
        == .kill(.time(took: 6, limit: 5), culprits: [1]))
    // The script waits for an event that does not come.
    #expect(verdict { $0.running = [Self.running(1, 81, processor: 0.1)] } == .kill(.silence, culprits: [1]))
  }

  @Test("a page whose elements are laid out for too long is to blame, and a large page has its time")
  func layoutTime() {
    func layout(_ page: UInt64, _ seconds: Double) -> Watchdog.Running {
      Watchdog.Running(page: page, work: .elements, seconds: 20, processorSeconds: seconds)
    }
    #expect(verdict { $0.running = [Self.running(1, 1), layout(2, 2)] } == .fine)
    #expect(
      verdict { ($0.running, $0.overdueCall) = ([Self.running(1, 1), layout(2, 6)], 0.1) }
        == .kill(.layout(took: 6, limit: 5), culprits: [2]))
    let short = Watchdog.Limits(time: 0.1, memory: 100)
    #expect(Watchdog.verdict(Watchdog.Sample(running: [layout(2, 2)]), short) == .fine)
    #expect(Watchdog.verdict(Watchdog.Sample(running: [layout(2, 3)]), short) == .suspicious)
    // Memory that a layout takes is its page's.
    let large = Watchdog.Running(page: 2, work: .elements, seconds: 1, growth: 60)
    #expect(
      verdict { ($0.residentBytes, $0.running) = (101, [Self.running(1, 1, growth: 5), large]) }
        == .kill(.memory(found: 101, limit: 100), culprits: [2]))
  }

  @Test("the page with a large share of the memory is to blame, and no page if all shares are small")
  func memoryCulprits() {
    let kill = KillReason.memory(found: 101, limit: 100)
    func memory(_ found: Int64, _ running: [Watchdog.Running], _ growth: [UInt64: Int64]) -> Watchdog.Verdict {
      verdict { ($0.residentBytes, $0.running, $0.growth) = (found, running, growth) }
    }
    #expect(memory(100, [Self.running(1, 1, growth: 90)], [:]) == .fine)
    #expect(
      memory(101, [Self.running(1, 1, growth: 5), Self.running(2, 0.1, growth: 60)], [:]) == .kill(kill, culprits: [2]))
    #expect(memory(101, [Self.running(1, 1, growth: 5)], [3: 40, 4: 10]) == .kill(kill, culprits: [3]))
    #expect(memory(101, [Self.running(1, 1, growth: 20)], [1: 30, 3: 40]) == .kill(kill, culprits: [1]))
    #expect(memory(101, [Self.running(1, 1, growth: 20)], [3: 24]) == .kill(kill, culprits: []))
    #expect(memory(101, [], [:]) == .kill(kill, culprits: []))
  }

  @Test("a worker that does not answer is lost")
  func lostWorker() {
    #expect(verdict { $0.overdueCall = -1 } == .fine)
    #expect(verdict { $0.overdueCall = 0.1 } == .kill(.silence, culprits: []))
  }
}
