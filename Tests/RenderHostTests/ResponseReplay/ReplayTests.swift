import Foundation
import Hummingbird
import PageTesting
import Synchronization
import TestServers
import Testing

@testable import RenderHost
@testable import ServerKit

@Suite(.timeLimit(.minutes(2)))
struct ReplayTests {
  /// A host whose route counts its requests.
  private final class Counting: Sendable {
    let asked = Atomic<Int>(0)
    let isCurrent = Atomic<Bool>(true)

    func add(to router: Router<HostRequestContext>) {
      router.get("/known") { request, context in
        for try await _ in request.body {}
        let number = self.asked.add(1, ordering: .relaxed).newValue
        context.replay?.allow { self.isCurrent.load(ordering: .relaxed) }
        return "answer \(number)."
      }
      router.get("/other") { _, _ in "answer \(self.asked.add(1, ordering: .relaxed).newValue)." }
      router.get("/large") { _, context in
        let number = self.asked.add(1, ordering: .relaxed).newValue
        context.replay?.allow { true }
        return "answer \(number). \(String(repeating: "x", count: 100_000))END"
      }
    }
  }

  private let counting = Counting()

  private func host(_ change: (inout Settings) -> Void = { _ in }) async throws -> LiveHost {
    var settings = Settings()
    change(&settings)
    return try await LiveHost(settings, routes: counting.add(to:))
  }

  private static func head(_ path: String = "/known", _ fields: String = "", method: String = "GET") -> String {
    "\(method) \(path) HTTP/1.1\r\nHost: h\r\n\(fields)\r\n"
  }

  private static func field(_ name: String, of answer: String) -> String? {
    answer.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix(name + ":") }
      .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
  }

  @Test("an identical request gets the same answer with a new id and date")
  func identicalRequest() async throws {
    let host = try await host()
    var ids: Set<String> = []
    for _ in 0..<2 {
      let client = try RawClient(port: host.port)
      for _ in 0..<3 {
        client.send(Self.head())
        let answer = try await client.read(until: ".")
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\r\n\r\nanswer 1."), "\(answer)")
        #expect(Self.field("content-length", of: answer) == "9")
        #expect(Self.field("date", of: answer)?.hasSuffix(" GMT") == true)
        ids.insert(try #require(Self.field("x-request-id", of: answer)))
      }
    }
    #expect(ids.count == 6 && ids.allSatisfy { $0.count == 16 })
    #expect(counting.asked.load(ordering: .relaxed) == 1)
    try await host.stop()
  }

  @Test("a replayed answer is counted and logged like the first")
  func replayRecords() async throws {
    let host = try await host()
    let client = try RawClient(port: host.port)
    for _ in 0..<5 {
      client.send(Self.head())
      _ = try await client.read(until: ".")
    }
    let labels = ["method": "GET", "route": "/known", "status": "200"]
    let text = host.metrics.registry.text(.prometheus)
    #expect(try StrictMetrics(text).value("renderhost_http_requests_total", labels) == 5)
    #expect(counting.asked.load(ordering: .relaxed) == 1)
    try await host.stop()
  }

  @Test("an outdated answer is not replayed")
  func invalidReplay() async throws {
    let host = try await host()
    let client = try RawClient(port: host.port)
    client.send(Self.head())
    #expect(try await client.read(until: ".").hasSuffix("answer 1."))
    counting.isCurrent.store(false, ordering: .relaxed)
    client.send(Self.head())
    #expect(try await client.read(until: ".").hasSuffix("answer 2."))
    try await host.stop()
  }

  @Test(
    "a request that differs in one byte is not replayed",
    arguments: [
      "GET /known HTTP/1.1\r\nHost: h\r\nAccept: a\r\n\r\n", "GET /known?a HTTP/1.1\r\nHost: h\r\n\r\n",
      "GET /known HTTP/1.1\r\nHost: i\r\n\r\n", "GET /known HTTP/1.1\r\nhost: h\r\n\r\n",
    ])
  func differentRequest(_ head: String) async throws {
    let host = try await host()
    let client = try RawClient(port: host.port)
    client.send(Self.head())
    _ = try await client.read(until: ".")
    client.send(head)
    #expect(try await client.read(until: ".").hasSuffix("answer 2."))
    try await host.stop()
  }

  @Test("an answer without permission is not replayed")
  func notAllowed() async throws {
    let host = try await host()
    let client = try RawClient(port: host.port)
    for number in 1...3 {
      client.send(Self.head("/other"))
      #expect(try await client.read(until: ".").hasSuffix("answer \(number)."))
    }
    try await host.stop()
  }

  @Test("a request with an id of the client is not replayed")
  func clientID() async throws {
    let host = try await host()
    let client = try RawClient(port: host.port)
    for number in 1...2 {
      client.send(Self.head("/known", "X-Request-Id: mine\r\n"))
      let answer = try await client.read(until: ".")
      #expect(answer.hasSuffix("answer \(number).") && Self.field("x-request-id", of: answer) == "mine")
    }
    try await host.stop()
  }

  @Test("an answer to HEAD does not answer GET")
  func headAndGet() async throws {
    let host = try await host()
    let client = try RawClient(port: host.port)
    for (method, end) in [("GET", "answer 1."), ("HEAD", "\r\n\r\n"), ("GET", "answer 1."), ("HEAD", "\r\n\r\n")] {
      client.send(Self.head(method: method))
      let answer = try await client.read(until: end)
      #expect(answer.hasSuffix(end) && answer.contains("answer") == (method == "GET"))
    }
    #expect(counting.asked.load(ordering: .relaxed) == 2)
    try await host.stop()
  }

  @Test(
    "requests in any division are answered in turn",
    arguments: [
      [head() + head()], [head() + head() + head("/other"), head()], ["GET /known HT", "TP/1.1\r\nHost: h\r\n\r\n"],
      [head("/known", "Content-Length: 3\r\n"), "abc"], [head("/known", "Content-Length: 3\r\n") + "abc", head()],
      [head("/known", "Content-Length: 3\r\n"), "abc" + head()], ["\r\n" + head()], [head() + "GET /kn"],
    ])
  func splitRequests(_ writes: [String]) async throws {
    let host = try await host()
    let isCut = writes.last?.hasSuffix("GET /kn") == true
    let last = isCut ? "own HTTP/1.1\r\nHost: h\r\nX: last\r\n\r\n" : Self.head("/known", "X: last\r\n")
    let expected = writes.joined().components(separatedBy: "HTTP/1.1\r\n").count
    // Recorded answers of the first client must not confuse the second.
    for _ in 0..<2 {
      let client = try RawClient(port: host.port)
      for write in writes + [last] {
        #expect(client.send(write))
        // So the host reads each one separately.
        try await client.waitUntilRead()
      }
      var text = ""
      while text.components(separatedBy: "answer ").count <= expected {
        let more = try await client.read(until: ".")
        try #require(!more.isEmpty, "closed after: \(text)")
        text += more
      }
      #expect(text.components(separatedBy: "HTTP/1.1 200 OK\r\n").count - 1 == expected, "\(text)")
    }
    try await host.stop()
  }

  @Test("a large body is replayed completely")
  func largeBody() async throws {
    let host = try await host()
    let client = try RawClient(port: host.port)
    func body() async throws -> String {
      client.send(Self.head("/large"))
      return try await client.read(until: "END").components(separatedBy: "\r\n\r\n").last ?? ""
    }
    // A client may have all bytes of a large answer before its end is written, and only then it is recorded.
    var (former, recorded) = (try await body(), try await body())
    while recorded != former { (former, recorded) = (recorded, try await body()) }
    #expect(recorded.utf8.count == 100_013)
    for _ in 0..<3 { #expect(try await body() == recorded) }
    try await host.stop()
  }

  @Test("a client that reads late gets all answers")
  func lateReader() async throws {
    let host = try await host()
    let client = try RawClient(port: host.port)
    client.send(Self.head("/large"))
    _ = try await client.read(until: "END")
    // The requests exceed the buffers of both sides, and each is written separately.
    for _ in 0..<400 { client.send(Self.head("/large")) }
    var count = 0
    while count < 400 {
      let text = try await client.read(until: "END")
      count += text.components(separatedBy: "END").count - 1
    }
    #expect(count == 400)
    try await host.stop()
  }

  @Test("a connection with replayed answers only is not idle")
  func notIdle() async throws {
    let host = try await host { $0.limits.idle = .seconds(2) }
    let client = try RawClient(port: host.port)
    let end = ContinuousClock.now + .milliseconds(4_500)
    while ContinuousClock.now < end {
      #expect(client.send(Self.head()))
      try #require(try await client.read(until: ".").hasPrefix("HTTP/1.1 200 "))
    }
    #expect(try await client.readToEnd() == "")
    try await host.stop()
  }

  @Test("a connection with Connection: close is closed")
  func closedConnection() async throws {
    let host = try await host()
    for number in 1...2 {
      let client = try RawClient(port: host.port)
      client.send(Self.head("/known", "Connection: close\r\n"))
      #expect(try await client.readToEnd().hasSuffix("answer \(number)."))
    }
    try await host.stop()
  }

  @Test("a shutdown closes connections with replayed answers")
  func shutdown() async throws {
    let host = try await host()
    let client = try RawClient(port: host.port)
    for _ in 0..<3 {
      client.send(Self.head())
      _ = try await client.read(until: ".")
    }
    try await host.stop()
    #expect(try await client.readToEnd() == "")
  }
}
