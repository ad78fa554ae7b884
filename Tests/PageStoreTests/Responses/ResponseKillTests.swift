import Foundation
import PageCore
import PageTesting
import Testing

@testable import PageStore

/// A process that stores responses from eight tasks is killed, two hundred times in a row.
struct ResponseKillTests {
  private static var tool: URL {
    URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
      .appendingPathComponent("ResponseWriterTool")
  }

  @Test func noKillMakesAResponseVisibleThatWasNotStoredCompletely() async throws {
    let folder = try TemporaryDirectory()
    let (cache, durable) = (folder.file("cache"), folder.file("durable"))
    var generator = SeededGenerator(seed: 2026)
    var (kills, checked) = (0, 0)
    var known: Set<Int64> = []
    for round in 0..<200 {
      let process = Process()
      process.executableURL = Self.tool
      process.arguments = [cache, durable, "\(round)"]
      let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
      process.terminationHandler = { _ in continuation.finish() }
      try process.run()
      // The kill comes at a random point in time, once the process is at work: that is what this test is about.
      try await Task.sleep(for: .milliseconds(.random(in: 15...100, using: &generator)))
      kill(process.processIdentifier, SIGKILL)
      for await _ in ended {}
      #expect(process.terminationReason == .uncaughtSignal, "round \(round): it ended by itself")
      let store = try ResponseStore(
        at: ResponseDirectory(cache, durable: durable), options: .init(capacity: 1 << 20, lowSpace: 0))
      let entries = try await store.list()
      for entry in entries {
        guard let body = try await store.body(of: entry) else { continue }
        let digests = try ContentDigests(of: try body.read(at: 0, upTo: .max))
        #expect(entry.key.name == "key:\(digests.size) \(digests.sha256.hex)", "round \(round)")
        #expect(entry.head.fields[.contentLength] == "\(digests.size)")
        checked += 1
        // Lest it becomes more and more to read.
        if entry.isKept, round % 10 == 9 { _ = try await store.setKept(false, for: entry.key) }
      }
      #expect(try await store.usage().bytes <= 1 << 20)
      // Something new was stored, and the process had no time to end: it was killed at work.
      let ids = Set(entries.map(\.id))
      if !ids.isSubset(of: known) { kills += 1 }
      known = ids
    }
    #expect(kills > 100, "too few were killed at work: \(kills)")
    #expect(checked > 1_000, "too little was visible: \(checked)")
    #expect(Damage.exists(durable + "/kept/entries"))
  }
}
