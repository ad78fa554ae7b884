import Foundation
import PageKit
import PageTesting
import Synchronization
import TestServers
import Testing

@testable import CacheGateway
@testable import RenderHost

/// All events at once for a while: releases are published, workers are killed, pages hang, and no byte is wrong.
struct MixedTrafficTests {
  private static let words = (0..<4).map { "word\($0)" }

  private final class Tally: Sendable {
    let wrong = Mutex<[String]>([])
    let answers = Mutex(0)

    func count(_ isRight: Bool, _ what: @autoclosure () -> String) {
      answers.withLock { $0 += 1 }
      guard !isRight else { return }
      let text = what()
      wrong.withLock { if $0.count < 20 { $0.append(text) } }
    }
  }

  @Test(
    "releases and killed workers under load cause no wrong byte and no growth",
    .enabled(if: Traffic.isWanted, "set \(Traffic.variable)"))
  func mixedTraffic() async throws {
    let folder = try TemporaryDirectory()
    let bundles = folder.file("bundles")
    for name in ["one", "two"] { try DaemonTests.write(DaemonTests.bundle("word0"), to: "\(bundles)/\(name).js") }
    try DaemonTests.write(
      "// { \"framework\": \"Vanilla\" }\n(function f() { Promise.resolve().then(f) })()", to: "\(bundles)/hang.js")
    // The limit counts the time that passes, and beside other work a page that does not hang takes a second of it.
    try await Daemon.running(bundles, folder, ["--page-time", "5"]) { daemon in
      let tally = Tally()
      let end = ContinuousClock.now + Traffic.duration
      let pid = daemon.program.identifier
      var early: Int64 = 0
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<2 { group.addTask { try await Self.read(daemon, tally, until: end) } }
        group.addTask { try await Self.render(daemon, tally, until: end) }
        group.addTask { try await Self.publish(bundles, until: end) }
        group.addTask { try await Self.hangAndKill(daemon, until: end) }
        try await Task.sleep(for: Traffic.duration / 3)
        early = Self.residentBytes(of: pid)
        try await group.waitForAll()
      }
      #expect(tally.wrong.withLock(\.self) == [])
      #expect(tally.answers.withLock(\.self) > 100)
      // The memory that it holds does not accumulate.
      #expect(Self.residentBytes(of: pid) < early * 3 / 2)
      #expect(try await daemon.get("/readyz").status == 200)
    }
  }

  /// Checks that every answer is complete and has its own digest.
  private static func read(_ daemon: Daemon, _ tally: Tally, until end: ContinuousClock.Instant) async throws {
    while .now < end {
      let manifest = try await daemon.get("/manifest.json")
      tally.count(manifest.status == 200, "manifest: \(manifest.status)")
      for name in ["one", "two"] {
        let answer = try await daemon.get("/bundles/\(name).js", ["Accept-Encoding": "identity"])
        let md5 = Data(try ContentDigests(of: answer.bytes).md5.bytes).base64EncodedString()
        let isKnown = words.contains { answer.text == DaemonTests.bundle($0) }
        tally.count(
          answer.status == 200 && isKnown && answer.headers["content-md5"] == md5,
          "\(name): \(answer.status) \(answer.text.prefix(200))")
      }
    }
  }

  private static func render(_ daemon: Daemon, _ tally: Tally, until end: ContinuousClock.Instant) async throws {
    while .now < end {
      let answer = try await daemon.get("/render?name=one&format=outline")
      let isRight = answer.status == 200 && words.contains { answer.text.contains("\($0) from ") }
      // This test may have killed its worker several times.
      tally.count(isRight || answer.status == 503, "render: \(answer.status) \(answer.text.prefix(200))")
    }
  }

  private static func publish(_ bundles: String, until end: ContinuousClock.Instant) async throws {
    var round = 0
    while .now < end {
      round += 1
      for name in ["one", "two"] {
        try DaemonTests.write(DaemonTests.bundle(words[round % words.count]), to: "\(bundles)/\(name).js")
      }
      try await Task.sleep(for: .milliseconds(700))
    }
  }

  private static func hangAndKill(_ daemon: Daemon, until end: ContinuousClock.Instant) async throws {
    var round = 0
    while .now < end {
      round += 1
      if round % 3 == 0 {
        _ = try await daemon.get("/render?name=hang")
      } else if let pid = try await daemon.workers().randomElement() {
        kill(pid, SIGKILL)
      }
      try await Task.sleep(for: .seconds(2))
    }
  }

  private static func residentBytes(of pid: Int32) -> Int64 {
    let text = (try? String(contentsOfFile: "/proc/\(pid)/statm", encoding: .utf8)) ?? ""
    return (text.split(separator: " ").dropFirst().first.flatMap { Int64($0) } ?? 0) * 4096
  }
}
