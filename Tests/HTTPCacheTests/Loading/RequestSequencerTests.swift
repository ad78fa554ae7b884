import HTTPTransport
import HTTPTypes
import PageTesting
import Synchronization
import TestSupport
import Testing

@testable import HTTPCache

struct RequestSequencerTests {
  /// A sequencer that expectations can change.
  private final class Generations {
    private var order = RequestSequencer()

    var activeCount: Int { order.activeCount }
    func begin(_ key: CacheKey) -> UInt64 { order.begin(key) }
    func end(_ key: CacheKey) { order.end(key) }
    func epoch(of key: CacheKey) -> UInt64 { order.epoch(of: key) }
    func claim(_ generation: UInt64, for key: CacheKey, tags: [String] = []) -> Bool {
      order.claim(generation, for: key, tags: tags)
    }
    func supersede(_ keys: [CacheKey]) { order.supersede(keys) }
    func supersede(tags: Set<String>) { order.supersede(tags: tags) }
    func supersede(where isMeant: (CacheKey) -> Bool) { order.supersede(where: isMeant) }
  }

  private let key = CacheKey(named: "a")

  @Test func aLateAnswerMayNotTakeThePlaceOfANewerOne() {
    let generations = Generations()
    let (first, second) = (generations.begin(key), generations.begin(key))
    #expect(first < second)
    #expect(generations.claim(second, for: key))
    #expect(!generations.claim(first, for: key))
    #expect(generations.claim(second, for: key))
  }

  @Test func answersInOrderAllCount() {
    let generations = Generations()
    let (first, second) = (generations.begin(key), generations.begin(key))
    #expect(generations.claim(first, for: key))
    #expect(generations.claim(second, for: key))
  }

  @Test func keysHaveNothingToDoWithEachOther() {
    let generations = Generations()
    let first = generations.begin(key)
    let other = CacheKey(named: "b")
    #expect(generations.claim(generations.begin(other), for: other))
    #expect(generations.claim(first, for: key))
  }

  @Test func whatWasAskedBeforeAChangeSaysNothingOfNow() {
    let generations = Generations()
    let before = generations.begin(key)
    #expect(generations.epoch(of: key) == 0)
    generations.supersede([key])
    #expect(generations.epoch(of: key) > before)
    #expect(!generations.claim(before, for: key))
    #expect(generations.claim(generations.begin(key), for: key))
  }

  @Test func nothingIsRememberedOfWhatHasEnded() {
    let generations = Generations()
    for number in 0..<1000 {
      let key = CacheKey(named: "\(number)")
      let generation = generations.begin(key)
      _ = generations.begin(key)
      _ = generations.claim(generation, for: key)
      generations.supersede([key])
      generations.end(key)
      #expect(generations.activeCount == 1)
      generations.end(key)
    }
    #expect(generations.activeCount == 0)
    #expect(generations.epoch(of: CacheKey(named: "1")) == 0)
  }

  @Test func anAnswerWithATagThatWasPurgedSinceSaysNothingOfNow() {
    let generations = Generations()
    let before = generations.begin(key)
    generations.supersede(tags: ["a", "b"])
    #expect(generations.epoch(of: key) > before, "nobody shares what may have the tag")
    let after = generations.begin(key)
    #expect(!generations.claim(before, for: key, tags: ["x", "b"]))
    #expect(generations.claim(before, for: key, tags: ["x"]))
    #expect(generations.claim(after, for: key, tags: ["a", "b"]))
  }

  @Test func withMoreTagsThanAreRememberedNoOlderAnswerCounts() {
    let generations = Generations()
    let before = generations.begin(key)
    for number in 0..<1_000 { generations.supersede(tags: ["\(number)"]) }
    let between = generations.begin(CacheKey(named: "b"))
    #expect(!generations.claim(before, for: key, tags: ["0"]))
    #expect(generations.claim(before, for: key))
    generations.supersede(tags: ["one more"])
    #expect(!generations.claim(before, for: key))
    #expect(!generations.claim(between, for: CacheKey(named: "b")))
    #expect(generations.claim(generations.begin(key), for: key, tags: ["0", "one more"]))
  }

  @Test func onlyKeysThatAreMeantAreSuperseded() {
    let generations = Generations()
    let other = CacheKey(named: "b")
    let (first, second) = (generations.begin(key), generations.begin(other))
    generations.supersede { $0 == key }
    #expect(!generations.claim(first, for: key))
    #expect(generations.claim(second, for: other))
  }

  @Test func turnsForOneKeyComeOneAfterTheOther() async {
    let turns = KeyedSerialQueue()
    let gauge = Gauge()
    let sum = await withTaskGroup(of: Int.self) { [key] group in
      for number in 0..<100 {
        group.addTask {
          await turns.run(key) {
            gauge.enter()
            await Task.yield()
            gauge.leave()
            return number
          }
        }
      }
      return await group.reduce(0, +)
    }
    #expect(gauge.most == 1)
    #expect(sum == 4950)
    #expect(turns.count == 0)
  }

  @Test func aTurnEndsAfterItsCallerIsCancelledAndThoseBehindItComeInOrder() async {
    let turns = KeyedSerialQueue()
    let (opened, open) = AsyncStream.makeStream(of: Void.self)
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let (ends, end) = AsyncStream.makeStream(of: Int.self)
    let first = Task { [key] in
      await turns.run(key) {
        begin.finish()
        for await _ in opened {}
        end.yield(Task.isCancelled ? -1 : 1)
      }
    }
    for await _ in begun {}
    first.cancel()
    let second = Task.immediate { [key] in _ = await turns.run(key) { end.yield(2) } }
    let finished = Task.immediate { [key] in
      await turns.finish { $0 == key }
      end.yield(3)
    }
    let other = CacheKey(named: "b")
    #expect(await turns.run(other) { 5 } == 5)
    open.finish()
    for task in [first, second, finished] { await task.value }
    end.finish()
    #expect(await ends.reduce(into: []) { $0.append($1) } == [1, 2, 3])
    #expect(turns.count == 0)
  }
}

/// The same with an origin.
struct LateAnswerTests {
  @Test func aLateAnswerIsGivenToWhoAskedAndNotStoredOverANewerOne() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"")
      fixture.origin.hold("/a?random=1")
      let late = Task { try await fixture.load("/a?random=1", .networkOnly) }
      try await fixture.origin.waitForRequests(1, to: "/a?random=1")
      fixture.serve("/a", "new", etag: "\"2\"")
      let early = try await fixture.load("/a?random=2", .networkOnly)
      fixture.origin.release("/a?random=1")
      #expect(try await late.value.text == "old")
      #expect(early.text == "new")
      #expect(try await late.value.loaded.generation < early.loaded.generation)
      #expect(try await fixture.stored("/a") == "new")
      try await fixture.waitUntilIdle()
    }
  }

  @Test func a304ThatIsLateDoesNotBringBackWhatWasReplaced() async throws {
    try await ResourceFixture.running { fixture in
      fixture.serve("/a", "old", etag: "\"1\"")
      try await fixture.load("/a")
      fixture.origin.hold("/a?random=1")
      let late = Task { try await fixture.load("/a?random=1", .reloadRevalidatingCacheData) }
      try await fixture.origin.waitForRequests(1, to: "/a?random=1")
      fixture.serve("/a", "new", etag: "\"2\"")
      try await fixture.load("/a?random=2", .networkOnly)
      fixture.origin.release("/a?random=1")
      #expect(try await late.value.source == .revalidated)
      #expect(try await fixture.load("/a", .cacheOnly).text == "new")
    }
  }

  @Test func anAnswerThatIsBeingStoredDoesNotGetPastANewerOne() async throws {
    try await ResourceFixture.running { fixture in
      let (gate, opener) = AsyncStream.makeStream(of: Void.self)
      let reached = Mutex(false)
      fixture.cache.willCache = { proposal in
        if (try? proposal.stored.read(at: 0, upTo: 3)) == Array("old".utf8) {
          reached.withLock { $0 = true }
          for await _ in gate { break }
        }
        return proposal
      }
      fixture.serve("/a", "old", etag: "\"1\"")
      let slow = Task { try await fixture.load("/a?random=1", .networkOnly).text }
      try await eventually("the first one is being stored") { reached.withLock { $0 } }
      fixture.serve("/a", "new", etag: "\"2\"")
      let fast = Task { try await fixture.load("/a?random=2", .networkOnly).text }
      try await fixture.origin.waitForCompletedResponses(2, to: "/a")
      // Where the second one did not wait, it would be stored soon.
      _ = try? await eventually("never", within: .milliseconds(100)) { try await fixture.stored("/a") == "new" }
      opener.yield()
      #expect(try await (slow.value, fast.value) == ("old", "new"))
      #expect(try await fixture.stored("/a") == "new")
    }
  }
}
