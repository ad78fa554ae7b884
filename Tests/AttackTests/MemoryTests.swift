import Foundation
import PageTesting
import Synchronization
import TestServers
import TestSupport
import Testing

/// The memory that attacks cost the daemon, without its workers; the peaks are printed as a table.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct MemoryTests {
  private static let size = 31 << 20
  /// The size of answers for pages, whose worker makes a script's text of each one.
  private static let answerSize = 12 << 20
  /// The limit of the daemon's growth in each attack.
  private static let budget = 128 << 20

  /// A page that sends several requests at once, and shows the number of answers.
  private static let greedy = """
    // { "framework": "Vanilla" }
    var d = weex.document, body = d.createElement('div'), text = d.createElement('text', { attr: { value: '0 answers' } })
    d.documentElement.appendChild(body); body.appendChild(text)
    var count = 0, stream = weex.requireModule('stream')
    for (var i = 0; i < 8; i++) {
      stream.fetch({ url: 'ORIGIN/answer?' + i, type: 'text' }, function () {
        count++; text.setAttr('value', count + ' answers')
      })
    }
    """

  @Test("eight concurrent long answers for each of three pages go through the daemon in pieces")
  func longAnswers() async throws {
    try await measured("24 fetches of 12 MB by three pages") { daemon, _ in
      var pages: [String] = []
      for _ in 1...3 {
        let answer = try await daemon.post("/pages", #"{"name":"greedy"}"#)
        #expect(answer.status == 201, "\(answer.text)")
        struct Page: Decodable { let id: String }
        pages.append(try JSONDecoder().decode(Page.self, from: Data(answer.bytes)).id)
      }
      for page in pages {
        // A page that exceeds its share of the worker's memory is stopped.
        try await daemon.until("all answers have come, or the page was stopped", within: .seconds(480)) {
          let answer = try await daemon.get("/pages/\(page)")
          return answer.status == 404 || answer.text.contains("8 answers")
        }
      }
    }
  }

  @Test("sixty long resources without a reader wait at their origin", arguments: ["no-store", "max-age=600"])
  func unreadResources(_ control: String) async throws {
    try await measured("60 unread resources of 31 MB, \(control)", control) { daemon, origin in
      let port = try #require(Int(daemon.origin.split(separator: ":").last ?? ""))
      let clients = try (0..<60).map { _ in try RawClient(port: port, receiveBuffer: 4 << 10) }
      for (index, client) in clients.enumerated() {
        let url = origin.url(for: "/large?\(index)").replacing("?", with: "%3F")
        client.send("GET /resources?url=\(url) HTTP/1.1\r\nHost: localhost\r\n\r\n")
      }
      if control == "no-store" {
        // Requests are sent up to the limit of connections; the others wait.
        try await daemon.until("the first have come as far as they are taken") { origin.bytesSent(path: "/large") > 0 }
      } else {
        for client in clients { _ = try await client.read(until: "\r\n\r\n") }
      }
      for _ in 1...20 { #expect(try await daemon.get("/healthz").status == 200) }
      withExtendedLifetime(clients) {}
    }
  }

  @Test("a stored answer of 100 MB is read by ten clients at once")
  func storedAnswer() async throws {
    try await measured("ten hits of 100 MB at once") { daemon, origin in
      origin.serve("/huge", [UInt8](repeating: 66, count: 100 << 20), headers: [.cacheControl: "max-age=600"])
      let gateway = "http://" + (try await daemon.gateway())
      for clients in [1, 10] {
        try await withThrowingTaskGroup(of: String.self) { group in
          for _ in 0..<clients {
            group.addTask {
              let arguments = ["-s", "-o", "/dev/null", "-w", "%{size_download}", gateway + "/huge"]
              return try await RunningProgram("curl", arguments).result().output
            }
          }
          for try await count in group { #expect(count == "\(100 << 20)") }
        }
      }
      #expect(origin.requests(to: "/huge").count == 1)
    }
  }

  @Test("64 JSON bodies at the limit are read at once")
  func largeBodies() async throws {
    try await measured("64 bodies of 1 MB of JSON") { daemon, _ in
      let text = "{\"name\":\"none\",\"data\":[" + String(repeating: "[[1],[2]],", count: 90_000) + "0]}"
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<64 { group.addTask { try await daemon.post("/pages", text).status } }
        for try await status in group { #expect([400, 404, 413, 503].contains(status)) }
      }
    }
  }

  /// Runs an attack on a daemon, and measures its memory.
  private func measured(
    _ name: String, _ control: String = "no-store", _ attack: @escaping (Daemon, FaultOrigin) async throws -> Void
  ) async throws {
    let folder = try TemporaryDirectory()
    let origin = try await FaultOrigin.start()
    origin.serve("/large", [UInt8](repeating: 65, count: Self.size), headers: [.cacheControl: control])
    origin.serve("/answer", [UInt8](repeating: 65, count: Self.answerSize), headers: [.cacheControl: control])
    let bundles = folder.file("bundles")
    try FileManager.default.createDirectory(atPath: bundles, withIntermediateDirectories: true)
    let script = Self.greedy.replacing("ORIGIN", with: origin.url(for: ""))
    try Data(script.utf8).write(to: URL(fileURLWithPath: bundles + "/greedy.js"))
    let flags = [
      "--allow-origin", origin.url(for: ""), "--gateway", "127.0.0.1:0", "--origin", origin.url(for: ""),
      "--connections-per-address", "1000", "--page-queue", "512", "--page-wait", "60s",
    ]
    try await Daemon.running(bundles, folder, flags) { daemon in
      _ = try await daemon.get("/healthz")
      let before = try daemon.proportionalBytes()
      let peak = Atomic(before)
      let watch = Task {
        while !Task.isCancelled {
          peak.max((try? daemon.proportionalBytes()) ?? 0, ordering: .relaxed)
          try? await Task.sleep(for: .milliseconds(20))
        }
      }
      defer { watch.cancel() }
      try await attack(daemon, origin)
      let grown = peak.load(ordering: .relaxed) - before
      print("| \(name) | \(before >> 20) MiB | + \(grown >> 20) MiB |")
      #expect(grown < Self.budget)
    }
    try await origin.stop()
  }
}
