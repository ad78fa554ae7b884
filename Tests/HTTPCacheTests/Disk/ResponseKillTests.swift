import Foundation
import GRDB
import PageTesting
import TestSupport
import Testing

@testable import HTTPCache
@testable import HTTPTransport

/// A process that stores responses from eight tasks is killed many times in a row.
struct ResponseKillTests {
  @Test("no kill makes a response visible that was not stored completely")
  func kills() async throws {
    let folder = try TemporaryDirectory()
    let (cache, durable) = (folder.file("cache"), folder.file("durable"))
    var generator = SeededGenerator(seed: 2026)
    var (kills, checked) = (0, 0)
    let rounds = Soak.rounds(40, soaking: 200)
    for round in 0..<rounds {
      let wasKilled = try await run(
        cache, durable, round, after: .microseconds(.random(in: 0...40_000, using: &generator)))
      #expect(wasKilled, "round \(round): it ended by itself")
      kills += wasKilled ? 1 : 0
      let store = try ResponseStore(
        at: ResponseDirectory(cache, durable: durable), options: .init(capacity: 512 << 10, lowSpace: 0))
      let entries = try await store.list()
      let tags = try store.index.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM tag") }
      #expect(tags == entries.reduce(0) { $0 + $1.head.tags.count }, "round \(round)")
      for entry in entries {
        guard let body = try await store.body(of: entry) else { continue }
        let digests = try ContentDigests(of: try body.read(at: 0, upTo: .max))
        #expect(entry.key.name == "key:\(digests.size) \(digests.sha256.hex)", "round \(round)")
        #expect(entry.head.fields[.contentLength] == "\(digests.size)")
        checked += 1
        // Lest it becomes more and more to read.
        if entry.isKept, round % 10 == 9 { _ = try await store.setKept(false, for: entry.key) }
      }
      #expect(try await store.usage().bytes <= 512 << 10)
    }
    #expect(kills == rounds)
    #expect(checked > 5 * rounds, "too little was visible: \(checked)")
  }

  /// - Returns: whether it was killed while it stored.
  private func run(_ cache: String, _ durable: String, _ round: Int, after delay: Duration) async throws -> Bool {
    let output = Pipe()
    let writer = try RunningProgram(
      RunningProgram.built("ResponseWriterTool"), [cache, durable, "\(round)"], output: .pipe(output))
    await withCheckedContinuation { started in
      // Nothing comes where it has ended.
      Thread.detachNewThread { [reading = output.fileHandleForReading] in
        _ = try? reading.read(upToCount: 1)
        started.resume()
      }
    }
    // The kill comes at a random point in time: that is what this test is about.
    try await Task.sleep(for: delay)
    writer.send(SIGKILL)
    return await writer.result().wasKilled
  }
}
