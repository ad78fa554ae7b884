import Foundation
import PageTesting
import Synchronization
import TestServers
import Testing

/// The attacks on a daemon that serves a folder, runs pages and is a gateway; `SECURITY.md` has the promises.
@Suite(.timeLimit(.minutes(10)))
struct AttackTests {
  /// A file beside the served folder.
  private static let secret = "the text that nobody may read"
  private static let page = """
    // { "framework": "Vanilla" }
    var body = weex.document.createElement('div')
    weex.document.documentElement.appendChild(body)
    """

  @Test("every attack gets a permitted answer, discloses nothing, and leaves the daemon unchanged")
  func attacksAreHeld() async throws {
    let folder = try TemporaryDirectory()
    let bundles = folder.file("bundles")
    try FileManager.default.createDirectory(atPath: bundles, withIntermediateDirectories: true)
    for (name, text) in [
      ("bundles/page.js", Self.page), ("bundles/.hidden.js", Self.secret), ("secret.txt", Self.secret),
    ] {
      try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file(name)))
    }
    let origin = try await FaultOrigin.start()
    origin.serve("/item", Array("an item".utf8), headers: [.cacheControl: "max-age=60"])
    let flags = [
      "--gateway", "127.0.0.1:0", "--origin", origin.url(for: "/"), "--admin-token", "a-secret-of-16-bytes",
      "--head-time", "8",
      "--body-time", "8", "--idle-time", "3", "--connections-per-address", "1000",
    ]
    try await Daemon.running(bundles, folder, flags) { daemon in
      #expect(try await daemon.get("/render?name=page").status == 200)
      let gateway = "http://" + (try await daemon.gateway())
      #expect(try await daemon.get("/item", at: gateway).text == "an item")
      let before = try daemon.proportionalBytes()
      let outcomes = try await outcomes(of: Attack.all, host: port(daemon.origin), gateway: port(gateway))

      for (attack, answer) in outcomes {
        let statuses = Self.statuses(of: answer)
        #expect(attack.expected.contains(statuses.first ?? 0), "\(attack.name): \(answer.prefix(300))")
        #expect(statuses.count <= attack.answers, "\(attack.name): \(answer.prefix(600))")
        #expect(!answer.contains("GET /smuggled"), "\(attack.name): \(answer.prefix(600))")
        #expect(!answer.contains(Self.secret) && !answer.contains("root:"), "\(attack.name)")
        #expect(!answer.contains(folder.path), "\(attack.name): \(answer.prefix(600))")
      }
      print("\(outcomes.count) attacks were tried")
      #expect(outcomes.count >= 400)
      #expect(origin.requests.allSatisfy { !$0.path.contains("smuggled") })
      // The daemon is unchanged.
      #expect(try await daemon.get("/healthz").status == 200)
      #expect(try await daemon.get("/readyz").status == 200)
      #expect(try await daemon.get("/render?name=page").status == 200)
      #expect(try await daemon.get("/item", at: gateway).text == "an item")
      #expect(try await daemon.workers().count == 2)
      #expect(!(try await daemon.get("/metrics").text).contains("renderhost_worker_kills_total{"))
      let grown = try daemon.proportionalBytes() - before
      #expect(grown < 64 << 20, "the daemon has grown by \(grown >> 20) MiB")
    }
    try await origin.stop()
  }

  /// Runs the attacks in order, eight at a time.
  private func outcomes(
    of attacks: [Attack], host: Int, gateway: Int
  ) async throws -> [(attack: Attack, answer: String)] {
    try await withThrowingTaskGroup(of: (Int, String).self) { group in
      var answers: [Int: String] = [:]
      for (index, attack) in attacks.enumerated() {
        if index >= 8, let (index, answer) = try await group.next() { answers[index] = answer }
        group.addTask {
          let client = try RawClient(port: attack.target == .host ? host : gateway)
          // A refusal may arrive before the whole request was sent.
          client.send(attack.text)
          return (index, try await client.readToEnd())
        }
      }
      for try await (index, answer) in group { answers[index] = answer }
      return attacks.enumerated().map { ($1, answers[$0] ?? "") }
    }
  }

  private func port(_ origin: String) throws -> Int { try #require(Int(origin.split(separator: ":").last ?? "")) }

  /// The statuses of all final answers of a connection.
  private static func statuses(of answer: String) -> [Int] {
    answer.ranges(of: "HTTP/1.").compactMap { Int(answer[$0.upperBound...].dropFirst(2).prefix(3)) }.filter {
      $0 >= 200
    }
  }
}
