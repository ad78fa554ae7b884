import Foundation
import Hummingbird
import PageTesting
import TestServers
import Testing

@testable import RenderHost
@testable import ServerKit

@Suite(.timeLimit(.minutes(2)))
struct LimitsTests {
  private static func echo(_ router: Router<HostRequestContext>) {
    router.post("/echo") { request, _ in
      var bytes = 0
      for try await buffer in request.body { bytes += buffer.readableBytes }
      return "\(bytes) bytes"
    }
    router.post("/collect") { request, _ in "\(try await request.bytes(upTo: 1_000).count) bytes" }
  }

  private func host(_ change: (inout ServerSettings.Limits) -> Void = { _ in }) async throws -> LiveHost {
    var settings = Settings()
    change(&settings.limits)
    return try await LiveHost(settings, routes: Self.echo)
  }

  struct Excess: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let sent: String
    let status: Int
    let named: String
  }

  @Test(
    "a long target or field is refused by name, and the connection closed",
    arguments: [
      Excess(
        testDescription: "a URL", sent: "GET /\(String(repeating: "u", count: 9000)) HTTP/1.1\r\nHost: h\r\n\r\n",
        status: 414, named: "the limit is 8192"),
      Excess(
        testDescription: "a URL without end", sent: "GET /\(String(repeating: "u", count: 400_000))", status: 414,
        named: "URL"),
      Excess(
        testDescription: "a field",
        sent: "GET /healthz HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "h", count: 20_000))\r\n\r\n", status: 431,
        named: "header"),
      Excess(
        testDescription: "many fields",
        sent: "GET /healthz HTTP/1.1\r\nHost: h\r\n\(String(repeating: "A: b\r\n", count: 300))\r\n", status: 431,
        named: "header"),
      Excess(
        testDescription: "a body", sent: "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n",
        status: 413, named: "limit of 1048576"),
    ])
  func longHeads(_ excess: Excess) async throws {
    let host = try await host()
    let client = try RawClient(port: host.port)
    client.send(excess.sent)
    let answer = try await client.readToEnd()
    #expect(answer.hasPrefix("HTTP/1.1 \(excess.status) "), "\(answer.prefix(300))")
    #expect(answer.contains("{\"error\":\"") && answer.contains(excess.named), "\(answer.suffix(300))")
    #expect(answer.lowercased().contains("connection: close"))
    try await host.stop()
  }

  @Test("a body of unknown length is refused at the limit")
  func unknownLength() async throws {
    let host = try await host { $0.body = 10_000 }
    let client = try RawClient(port: host.port)
    client.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in 0..<3 { client.send("1000\r\n\(String(repeating: "b", count: 0x1000))\r\n") }
    let answer = try await client.readToEnd()
    #expect(answer.hasPrefix("HTTP/1.1 413 "))
    #expect(answer.contains("limit of 10000 bytes"))
    let within = try RawClient(port: host.port)
    within.send("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n")
    #expect(try await within.read(until: "4 bytes").hasPrefix("HTTP/1.1 200 "))
    try await host.stop()
  }

  @Test(
    "a chunked body is accepted, or refused with the right status",
    arguments: [
      ("zz\r\nabcd\r\n", "HTTP/1.1 400 ", "the request's body is not valid HTTP"),
      ("4\r\nabcdX\r\n0\r\n\r\n", "HTTP/1.1 400 ", "the request's body is not valid HTTP"),
      ("fffffffffffffffff\r\nabcd\r\n", "HTTP/1.1 400 ", "the request's body is not valid HTTP"),
      ("7d0\r\n\(String(repeating: "b", count: 2_000))\r\n0\r\n\r\n", "HTTP/1.1 413 ", "more than 1000 bytes"),
      ("4\r\nabcd\r\n0\r\n\r\n", "HTTP/1.1 200 ", "4 bytes"),
    ])
  func chunkedBodies(_ chunks: String, _ status: String, _ reason: String) async throws {
    let host = try await host()
    for path in ["/collect", "/echo"] where path == "/collect" || status == "HTTP/1.1 400 " {
      let client = try RawClient(port: host.port)
      client.send("POST \(path) HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)")
      let answer = try await client.read(until: reason)
      #expect(answer.hasPrefix(status) && answer.contains(reason), "\(path): \(answer)")
      // What follows a body that is refused is not read.
      #expect(answer.lowercased().contains("connection: close") == !status.contains("200"), "\(path): \(answer)")
    }
    try await host.stop()
  }

  @Test("Expect: 100-continue is answered")
  func expectContinue() async throws {
    let host = try await host()
    let client = try RawClient(port: host.port)
    let head = "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
    client.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n\(head)Content-Length: 4\r\n\r\n")
    let before = try await client.read(until: "HTTP/1.1 100 Continue\r\n\r\n")
    #expect(before.contains("alive") && before.hasSuffix("HTTP/1.1 100 Continue\r\n\r\n"))
    client.send("abcd")
    #expect(try await client.read(until: "4 bytes").hasPrefix("HTTP/1.1 200 "))
    let excessive = try RawClient(port: host.port)
    excessive.send("\(head)Content-Length: 2000000\r\n\r\n")
    #expect(try await excessive.readToEnd().hasPrefix("HTTP/1.1 413 "))
    try await host.stop()
  }

  @Test("a head that exceeds its time ends the connection")
  func slowHead() async throws {
    let host = try await host { $0.headTime = .seconds(2) }
    let client = try RawClient(port: host.port)
    client.send("GET /healthz HTTP/1.1\r\nHo")
    let answer = try await client.readToEnd()
    #expect(answer.hasPrefix("HTTP/1.1 408 ") && answer.contains("took too long"))
    // A client that sends nothing gets no answer.
    #expect(try await RawClient(port: host.port).readToEnd() == "")
    try await host.stop()
  }

  @Test("the time limit of the first head does not limit the connection")
  func headTimeOfFirst() async throws {
    let host = try await host { $0.headTime = .seconds(2) }
    let client = try RawClient(port: host.port)
    client.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
    _ = try await client.read(until: "alive")
    // Another connection ends meanwhile: the time has passed.
    #expect(try await RawClient(port: host.port).readToEnd() == "")
    client.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try await client.read(until: "alive").hasPrefix("HTTP/1.1 200 "))
    try await host.stop()
  }

  @Test("a body that takes too long ends the connection")
  func slowBody() async throws {
    let host = try await host { $0.bodyTime = .milliseconds(300) }
    let client = try RawClient(port: host.port)
    client.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc")
    #expect(try await !client.readToEnd().contains("200 OK"))
    try await host.stop()
  }

  @Test("an idle connection is closed")
  func idleConnection() async throws {
    let host = try await host { $0.idle = .milliseconds(300) }
    let client = try RawClient(port: host.port)
    client.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try await client.readToEnd().hasSuffix("{\"status\":\"alive\"}"))
    try await host.stop()
  }

  @Test(
    "a body behind a response that takes longer than idle connections may does not cut it, and is awaited after it",
    arguments: BodyBehind.all)
  func bodyBehind(body: BodyBehind) async throws {
    let (arrived, mayEnd) = (Monitor(false), Monitor(false))
    var settings = Settings()
    settings.limits.idle = .milliseconds(500)
    let host = try await LiveHost(settings) { router in
      Self.echo(router)
      router.get("/slow") { _, _ in
        arrived.change { $0 = true }
        try await mayEnd.wait(within: .seconds(30), until: { $0 })
        return "done~"
      }
    }
    let client = try RawClient(port: host.port)
    let lines = ["POST /echo HTTP/1.1", "Host: h"] + body.fields
    client.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n" + lines.joined(separator: "\r\n") + "\r\n\r\n")
    try await arrived.wait(within: .seconds(30), until: { $0 })
    body.sendMeanwhile(on: client)
    let idle = try RawClient(port: host.port)
    idle.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
    // It was idle for shorter than the first one waits.
    #expect(try await idle.readToEnd().hasSuffix("{\"status\":\"alive\"}"))
    mayEnd.change { $0 = true }
    var text = try await client.read(until: body.mark ?? "\(body.size) bytes")
    if body.mark != nil {
      client.send(body.afterwards)
      text += try await client.read(until: "\(body.size) bytes")
    }
    #expect(text.contains("done~"), "\(text)")
    try await host.stop()
  }

  @Test("an address has a limited number of connections")
  func connectionsPerAddress() async throws {
    let host = try await host { $0.connectionsPerAddress = 2 }
    let first = try RawClient(port: host.port)
    var second: RawClient? = try RawClient(port: host.port)
    for client in [first, second].compactMap(\.self) {
      client.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await client.read(until: "alive")
    }
    let third = try await RawClient(port: host.port).readToEnd()
    #expect(third.hasPrefix("HTTP/1.1 429 ") && third.contains("too many connections"))
    second = nil
    // Its place is free once the host has seen the disconnection.
    var answer = ""
    for _ in 0..<200 where !answer.contains("alive") {
      let next = try RawClient(port: host.port)
      next.send("GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
      answer = try await next.readToEnd()
    }
    #expect(answer.contains("alive"))
    try await host.stop()
  }

  @Test("connections beyond the limit wait")
  func waitingConnections() async throws {
    let host = try await host { $0.connections = 1 }
    var first: RawClient? = try RawClient(port: host.port)
    first?.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
    _ = try await first?.read(until: "alive")
    let second = try RawClient(port: host.port)
    second.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
    async let answer = second.read(until: "alive")
    first = nil
    #expect(try await answer.hasPrefix("HTTP/1.1 200 "))
    try await host.stop()
  }

  @Test("refusals are counted")
  func refusalMetrics() async throws {
    let host = try await host()
    let client = try RawClient(port: host.port)
    client.send("GET /\(String(repeating: "u", count: 9000)) HTTP/1.1\r\nHost: h\r\n\r\n")
    _ = try await client.readToEnd()
    // A head beyond every limit is refused before there is a request.
    let second = try RawClient(port: host.port)
    second.send("GET / HTTP/1.1\r\nHost: h\r\nX-Long: \(String(repeating: "h", count: 40_000))\r\n\r\n")
    _ = try await second.readToEnd()
    let third = try RawClient(port: host.port)
    third.send("GET /\(String(repeating: "u", count: 40_000)) HTTP/1.1\r\nHost: h\r\n\r\n")
    _ = try await third.readToEnd()
    let text = host.metrics.registry.text(.prometheus)
    #expect(try StrictMetrics(text).value("renderhost_refusals_total", ["reason": "url"]) == 2)
    #expect(try StrictMetrics(text).value("renderhost_refusals_total", ["reason": "header"]) == 1)
    try await host.stop()
  }

  @Test(
    "an ambiguous request is refused, and the connection closed",
    arguments: [
      ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400),
      ("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n", 501),
      ("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
      ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
      ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd", 400),
      ("GET / HTTP/1.1\r\nHost: h\r\nA: b\u{01}c\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nHost: h\r\nA : b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: h\r\nA: b\rc\r\n\r\n", 400),
    ])
  func ambiguousRequests(_ head: String, _ status: Int) async throws {
    let host = try await host()
    let client = try RawClient(port: host.port)
    client.send(head + "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
    let answer = try await client.readToEnd()
    #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && !answer.contains("alive"), "\(answer)")
    try await host.stop()
  }
}

/// A request with a body that a client sends behind one that is answered slowly.
struct BodyBehind: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let fields: [String]
  /// The part of the body that is sent during that answer.
  let meanwhile: String
  /// The text that comes from the server before the rest of the body is sent; `nil` if there is no rest.
  var mark: String?
  var afterwards = ""

  /// The bytes of the body.
  var size: Int { meanwhile.utf8.count + afterwards.utf8.count }

  static let all = [
    BodyBehind(testDescription: "a short body", fields: ["Content-Length: 4"], meanwhile: "body"),
    BodyBehind(
      testDescription: "a body of several reads", fields: ["Content-Length: 1000000"],
      meanwhile: String(repeating: "b", count: 1_000_000)),
    BodyBehind(
      testDescription: "a body that stops", fields: ["Content-Length: 4"], meanwhile: "bo", mark: "~",
      afterwards: "dy"),
    BodyBehind(
      testDescription: "a body that waits for 100 Continue", fields: ["Content-Length: 4", "Expect: 100-continue"],
      meanwhile: "", mark: "HTTP/1.1 100 Continue\r\n\r\n", afterwards: "body"),
  ]

  /// On a thread of its own: the server may read it only after the answer.
  func sendMeanwhile(on client: RawClient) {
    guard !meanwhile.isEmpty else { return }
    Thread.detachNewThread { client.send(meanwhile) }
  }
}
