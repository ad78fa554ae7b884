import Foundation
import HTTPTypes
import PageTesting
import TestServers
import Testing

@testable import CacheGateway
@testable import HTTPCache
@testable import RenderHost
@testable import ServerKit

/// Responses of the origin that are passed on and stored, on the event loop and by a task.
@Suite(.timeLimit(.minutes(2)))
struct PassedOnTests {
  private let clock = StandingClock()

  /// One response of a connection, without what differs between two of the same content.
  private struct Message: Equatable {
    /// The interim heads, and the final one.
    var heads: [[String]] = []
    var body = ""
    var trailers: [String] = []

    private static let varying = ["x-request-id:", "connection:", "content-length:", "transfer-encoding:"]

    /// Takes the first response from a text; the rest stays in it.
    init(_ text: inout String) throws {
      var lines: [String]
      repeat {
        lines = try Self.block(&text)
        heads.append(lines.filter { line in !Self.varying.contains { line.lowercased().hasPrefix($0) } })
      } while lines[0].hasPrefix("HTTP/1.1 1")
      func value(_ name: String) -> String? {
        lines.first { $0.lowercased().hasPrefix(name + ":") }?.split(separator: " ").last.map(String.init)
      }
      if lines[0].hasPrefix("HTTP/1.1 204") || lines[0].hasPrefix("HTTP/1.1 304") { return }
      guard value("transfer-encoding") == "chunked" else {
        let end = text.utf8.index(text.startIndex, offsetBy: try #require(value("content-length").flatMap { Int($0) }))
        body = String(text[..<end])
        text = String(text[end...])
        return
      }
      while true {
        let border = try #require(text.firstRange(of: "\r\n"))
        let size = try #require(Int(text[..<border.lowerBound], radix: 16))
        text = String(text[border.upperBound...])
        if size == 0 { break }
        let end = text.utf8.index(text.startIndex, offsetBy: size)
        body += text[..<end]
        // The line's end is one character.
        text = String(text[end...].dropFirst())
      }
      if text.hasPrefix("\r\n") { text = String(text.dropFirst()) } else { trailers = try Self.block(&text) }
    }

    /// The gateway's own errors have the time of the system's clock.
    var withoutDate: Message {
      var message = self
      message.heads = heads.map { $0.filter { !$0.hasPrefix("Date: ") } }
      return message
    }

    /// Takes lines up to an empty one.
    private static func block(_ text: inout String) throws -> [String] {
      let border = try #require(text.firstRange(of: "\r\n\r\n"), "\(text.prefix(200))")
      defer { text = String(text[border.upperBound...]) }
      return text[..<border.lowerBound].components(separatedBy: "\r\n")
    }
  }

  /// A gateway whose origin has answers of each kind that are not stored. Each was asked for once.
  private func running(
    _ change: (inout Settings) -> Void = { _ in }, lines: Monitor<[Data]>? = nil,
    _ body: (GatewayFixture) async throws -> Void
  ) async throws {
    try await GatewayFixture.running(change, now: { [clock] in clock.now }, lines: lines) { fixture in
      let origin = fixture.origin
      let control: HTTPFields = [.cacheControl: "no-store"]
      for path in ["/short", "/chunked", "/trailers", "/hints", "/slow", "/other"] {
        origin.serve(path, Array((path.dropFirst() + "~").utf8), headers: control)
      }
      origin.always("/chunked", .chunked)
      origin.always("/trailers", .trailers([.eTag: #""late""#]))
      origin.always("/hints", .informational(103, [.location: "/style"]))
      origin.serve("/empty", [], headers: control)
      origin.serve("/long", [UInt8](repeating: 65, count: 1_000_000), headers: control)
      origin.serve("/tagged", Array("tagged~".utf8), headers: [.cacheControl: "no-store", .eTag: #""one""#])
      origin.serve(
        "/coded", Array("coded~".utf8), headers: [.cacheControl: "no-store", .contentEncoding: "private"])
      origin.respond("/none") { _ in OriginResponse(status: 204, headers: [.cacheControl: "no-store"]) }
      origin.respond("/missing") { _ in
        OriginResponse(status: 404, headers: [.cacheControl: "no-store"], body: "missing~".utf8)
      }
      origin.respond("/moved") { _ in
        OriginResponse(status: 302, headers: [.cacheControl: "no-store", .location: "/short"], body: "moved~".utf8)
      }
      for path in [
        "/short", "/chunked", "/trailers", "/hints", "/slow", "/other", "/empty", "/long", "/tagged", "/coded", "/none",
        "/missing", "/moved",
      ] {
        _ = try await fixture.get(path)
      }
      try await body(fixture)
    }
  }

  private func head(_ request: String) -> String {
    let lines = request.components(separatedBy: "|")
    return ([lines[0] + " HTTP/1.1", "Host: api.example.com"] + lines.dropFirst()).joined(separator: "\r\n")
  }

  private var last: String { head("GET /other|Connection: close") + "\r\n\r\n" }

  /// Sends a request and another one behind it on the same connection, and returns the first response, and whether it
  /// was sent without a task.
  private func ask(_ fixture: GatewayFixture, _ request: String) async throws -> (message: Message, isLater: Bool) {
    let count = fixture.prompt.laterCount
    let client = try RawClient(port: fixture.port)
    client.send(head(request) + "\r\n\r\n" + last)
    var text = try await client.readToEnd()
    let message = try Message(&text)
    let behind = try Message(&text)
    #expect(behind.body == "other~")
    #expect(text.isEmpty)
    return (message, fixture.prompt.laterCount > count)
  }

  /// The response by the task of the connection, which every last request of one goes to.
  private func patiently(_ fixture: GatewayFixture, _ request: String) async throws -> Message {
    let count = fixture.prompt.laterCount
    let client = try RawClient(port: fixture.port)
    client.send(head(request + "|Connection: close") + "\r\n\r\n")
    var text = try await client.readToEnd()
    let message = try Message(&text)
    #expect(text.isEmpty && fixture.prompt.laterCount == count)
    return message
  }

  @Test(
    "a response that is passed on without a task is that of a task",
    arguments: [
      "GET /short", "GET /empty", "GET /long", "GET /chunked", "GET /trailers", "GET /hints", "GET /coded",
      "GET /none", "GET /missing", "GET /moved", "GET /tagged", "GET /tagged|If-None-Match: \"one\"",
      "GET /tagged|Range: bytes=1-2", "GET /tagged|Range: bytes=100-", "GET /short|X-Request-Id: mine",
      "GET /short|Cookie: a=b", "GET /short|Authorization: Bearer a", "GET /short|Cache-Control: no-cache",
    ])
  func sameResponses(request: String) async throws {
    try await running { fixture in
      let path = String(request.components(separatedBy: "|")[0].dropFirst(4))
      let count = fixture.origin.requestCount(path: path)
      let (message, isLater) = try await ask(fixture, request)
      #expect(isLater)
      #expect(fixture.origin.requestCount(path: path) == count + 1)
      let other = try await patiently(fixture, request)
      #expect(message == other)
      #expect(fixture.origin.requestCount(path: path) == count + 2)
      #expect(message.heads.last?.contains { $0.lowercased().hasPrefix("cache-status: ") } == true)
    }
  }

  @Test(
    "what cannot be passed on as it is goes on with a task, which asks nothing again",
    arguments: [Fault.status(500), .status(503), .garbage, .always304, .rawHead("HTTP/1.1 200 OK\r\nno field\r\n\r\n")])
  func failures(fault: Fault) async throws {
    try await running { fixture in
      fixture.origin.always("/short", fault)
      let count = fixture.origin.requestCount(path: "/short")
      let (message, isLater) = try await ask(fixture, "GET /short")
      #expect(!isLater && fixture.origin.requestCount(path: "/short") == count + 1)
      let other = try await patiently(fixture, "GET /short")
      #expect(message.withoutDate == other.withoutDate)
      #expect(message.heads[0][0].hasPrefix("HTTP/1.1 5"))
    }
  }

  @Test("an error that comes after a while is logged and measured with all of that time")
  func slowFailure() async throws {
    let lines = Monitor<[Data]>([])
    try await running(lines: lines) { fixture in
      fixture.origin.always("/short", .delay(.milliseconds(400), then: .status(503)))
      func seconds() throws -> Double {
        let families = fixture.record.metrics.registry.families
        let duration = try #require(families.first { $0.name == "renderhost_http_request_duration_seconds" })
        return duration.series.values.reduce(0) { sum, series in
          if case .histogram(let histogram) = series { sum + histogram.value.sum } else { sum }
        }
      }
      let before = try seconds()
      let client = try RawClient(port: fixture.port)
      client.send(head("GET /short") + "\r\n\r\n")
      #expect(try await client.readAnswer().hasPrefix("HTTP/1.1 503 "))
      func line() throws -> [String: Any]? {
        let objects = try lines.read { $0 }.map { try JSONSerialization.jsonObject(with: $0) as? [String: Any] }
        return objects.last { "\($0?["status"] ?? "")" == "503" } ?? nil
      }
      try await eventually("it is logged") { try line() != nil }
      let milliseconds = try #require(try line()?["ms"].flatMap { Double("\($0)") })
      #expect(milliseconds >= 400)
      #expect(try seconds() - before >= 0.4)
    }
  }

  @Test(
    "a request that needs more than passing on takes the long way",
    arguments: [
      "HEAD /unknown", "HEAD /short", "GET /short|Content-Length: 0", "GET /a%7Eb", "OPTIONS /short",
    ])
  func longWay(request: String) async throws {
    try await running { fixture in
      let count = fixture.prompt.laterCount
      let client = try RawClient(port: fixture.port)
      client.send(head(request) + "\r\n\r\n")
      #expect(try await client.readAnswer(isHead: request.hasPrefix("HEAD")).hasPrefix("HTTP/1.1 "))
      #expect(fixture.prompt.laterCount == count)
    }
  }

  @Test("a response that may be stored after all is stored, and the origin is not asked again")
  func becomesStorable() async throws {
    try await running { fixture in
      fixture.origin.serve("/short", Array("new~".utf8), headers: [.cacheControl: "max-age=60"])
      let (first, second) = (try await ask(fixture, "GET /short"), try await ask(fixture, "GET /short"))
      #expect(first.message.body == "new~" && second.message.body == "new~")
      #expect(fixture.origin.requestCount(path: "/short") == 2)
    }
  }

  @Test("a response that was asked for before a purge answers its client and is not stored")
  func purge() async throws {
    try await running { fixture in
      let origin = fixture.origin
      origin.respond("/short") { request in
        OriginResponse(headers: [.cacheControl: "max-age=60"], body: "new~".utf8)
      }
      let client = try await fixture.held("/short")
      _ = try await fixture.gateway.origins[0].loader.purge(.all)
      origin.release("/short")
      #expect(try await client.readAnswer().hasSuffix("new~"))
      // It was not asked for again.
      #expect(origin.requestCount(path: "/short") == 2)
      let next = try await ask(fixture, "GET /short")
      #expect(next.message.body == "new~")
      #expect(origin.requestCount(path: "/short") == 3)
    }
  }

  @Test("a request after a purge does not share what was asked for before it, which still answers its own client")
  func purgeWhileShared() async throws {
    try await running { fixture in
      let origin = fixture.origin
      let old = [UInt8](repeating: 65, count: 100_000)
      origin.serve("/short", old, headers: [.cacheControl: "max-age=60"])
      origin.script("/short", [.stall(afterBytes: 50_000)])
      let client = try await fixture.held("/short")
      _ = try await fixture.gateway.origins[0].loader.purge(.all)
      origin.release("/short")
      // Its body goes on coming in.
      #expect(try await client.read(until: "AAAA").hasPrefix("HTTP/1.1 200 "))
      origin.serve("/short", Array("new~".utf8), headers: [.cacheControl: "max-age=60"])
      let next = try await fixture.get("/short")
      #expect(next.body == "new~")
      #expect(origin.requestCount(path: "/short") == 3)
      withExtendedLifetime(client) {}
    }
  }

  @Test("a server's error that was asked for before a purge answers its client, and is not asked for again")
  func purgeBeforeError() async throws {
    try await running { fixture in
      let origin = fixture.origin
      origin.always("/short", .status(503))
      let client = try await fixture.held("/short")
      _ = try await fixture.gateway.origins[0].loader.purge(.all)
      origin.release("/short")
      #expect(try await client.readAnswer().hasPrefix("HTTP/1.1 503 "))
      #expect(origin.requestCount(path: "/short") == 2)
    }
  }

  @Test(
    "the request of a client that goes away ends at the origin, and others take its place",
    arguments: ["", "POST /upload|Content-Length: 4"])
  func goneClient(begunBehind: String) async throws {
    try await running {
      $0.gateway.origins[0].connections = 1
    } _: { fixture in
      let behind = begunBehind.isEmpty ? "" : head(begunBehind) + "\r\n\r\nbo"
      var client: RawClient? = try await fixture.held("/slow", behind: behind)
      #expect(client != nil)
      client = nil
      let next = try await ask(fixture, "GET /short")
      #expect(next.message.body == "short~")
    }
  }

  @Test("requests wait for a place without a task, and one whose client goes away gives up its turn")
  func places() async throws {
    try await running {
      $0.gateway.origins[0].connections = 1
    } _: { fixture in
      let gate = fixture.gateway.origins[0].loader.gate
      let before = fixture.prompt.laterCount
      let first = try await fixture.held("/slow")
      var gone: RawClient? = try RawClient(port: fixture.port)
      gone?.send(head("GET /short") + "\r\n\r\n")
      try await eventually("one waits") { gate.counts.waiting == 1 }
      let second = try RawClient(port: fixture.port)
      second.send(head("GET /short") + "\r\n\r\n")
      try await eventually("two wait") { gate.counts.waiting == 2 }
      gone = nil
      try await eventually("one has left") { gate.counts.waiting == 1 }
      fixture.origin.release("/slow")
      #expect(try await first.readAnswer().hasSuffix("slow~"))
      #expect(try await second.readAnswer().hasSuffix("short~"))
      #expect(fixture.prompt.laterCount == before + 2)
      #expect(fixture.origin.requestCount(path: "/short") == 2)
      #expect(gate.counts.expected == 0)
    }
  }

  @Test("requests that come during a response are answered after it, and so is what is no request")
  func order() async throws {
    try await running { fixture in
      fixture.origin.serve("/stored", Array("stored~".utf8), headers: [.cacheControl: "max-age=60"])
      _ = try await fixture.get("/stored")
      let behind = ["/stored", "/short", "/missing", "/stored"].map { head("GET " + $0) + "\r\n\r\n" }
      let client = try await fixture.held("/slow", behind: behind.joined() + "GARBAGE\r\n\r\n")
      fixture.origin.release("/slow")
      var text = try await client.readToEnd()
      var bodies: [String] = []
      for _ in 0...behind.count { bodies.append(try Message(&text).body) }
      #expect(bodies == ["slow~", "stored~", "short~", "missing~", "stored~"])
      #expect(text.hasPrefix("HTTP/1.1 400 "))
    }
  }

  @Test("a response under way is finished at a shutdown, and its connection is closed then")
  func shutdown() async throws {
    try await running { fixture in
      let (client, idle) = (try await fixture.held("/slow"), try RawClient(port: fixture.port))
      idle.send(head("GET /short") + "\r\n\r\n")
      _ = try await idle.readAnswer()
      async let stopped: Void = fixture.stop()
      #expect(try await idle.readToEnd() == "")
      fixture.origin.release("/slow")
      #expect(try await client.readToEnd().hasSuffix("slow~"))
      await stopped
    }
  }

  @Test("a connection whose response takes longer than idle connections may is not idle")
  func idle() async throws {
    try await running {
      $0.limits.idle = .milliseconds(500)
    } _: { fixture in
      let client = try await fixture.held("/slow")
      let idle = try RawClient(port: fixture.port)
      idle.send(head("GET /short") + "\r\n\r\n")
      _ = try await idle.readAnswer()
      // It was idle for shorter than the other one waits.
      #expect(try await idle.readToEnd() == "")
      fixture.origin.release("/slow")
      #expect(try await client.readAnswer().hasSuffix("slow~"))
    }
  }

  @Test(
    "a body behind a response that takes longer than idle connections may does not cut it, and is awaited after it",
    arguments: BodyBehind.all)
  func bodyMeanwhile(body: BodyBehind) async throws {
    try await running {
      $0.limits.idle = .milliseconds(500)
    } _: { fixture in
      let client = try await self.withBodyBehind(fixture, "POST /upload|" + body.fields.joined(separator: "|"))
      body.sendMeanwhile(on: client)
      let idle = try RawClient(port: fixture.port)
      idle.send(head("GET /short") + "\r\n\r\n")
      // It was idle for shorter than the first one waits.
      #expect(try await idle.readToEnd().hasSuffix("short~"))
      fixture.origin.release("/slow")
      var text = try await client.read(until: body.mark ?? "\(body.size)~")
      if body.mark != nil {
        client.send(body.afterwards)
        text += try await client.read(until: "\(body.size)~")
      }
      #expect(text.contains("slow~"), "\(text)")
    }
  }

  @Test("the time of a body that follows during a response begins after that response")
  func bodyTime() async throws {
    try await running {
      $0.limits.bodyTime = .milliseconds(500)
    } _: { fixture in
      let client = try await self.withBodyBehind(fixture, "POST /upload|Content-Length: 4")
      client.send("bo")
      let slow = try RawClient(port: fixture.port)
      slow.send(head("POST /upload|Content-Length: 4") + "\r\n\r\nbo")
      // Its body began later than the other.
      #expect(try await !slow.readToEnd().contains(" 200 "))
      fixture.origin.release("/slow")
      #expect(try await client.read(until: "slow~").hasPrefix("HTTP/1.1 200 "))
      #expect(try await !client.readToEnd().contains(" 200 "))
    }
  }

  @Test("a body in small pieces that begins during a response is whole")
  func piecesMeanwhile() async throws {
    try await running { fixture in
      let pieces = String(repeating: "1\r\na\r\n", count: 10_000)
      let client = try await self.withBodyBehind(fixture, "POST /upload|Transfer-Encoding: chunked", pieces)
      // More than is read at once.
      async let isSent = Task.detached {
        client.send(String(repeating: pieces, count: 9) + "0\r\n\r\n")
      }.value
      fixture.origin.release("/slow")
      #expect(try await client.read(until: "100000~").contains("slow~"))
      #expect(await isSent)
    }
  }

  /// A client that waits for a response without a task, and has sent the head of another request and the beginning of its
  /// body.
  private func withBodyBehind(
    _ fixture: GatewayFixture, _ request: String, _ beginning: String = ""
  ) async throws -> RawClient {
    fixture.origin.respond("/upload") { OriginResponse(body: "\($0.bodySize)~".utf8) }
    return try await fixture.held("/slow", behind: head(request) + "\r\n\r\n" + beginning)
  }

  @Test("a response that ends early closes its connection, so that the client sees it", arguments: [true, false])
  func cut(isChunked: Bool) async throws {
    try await running { fixture in
      fixture.origin.always("/long", isChunked ? .cutChunked(after: 500_000) : .resetAfter(bytes: 500_000))
      let client = try RawClient(port: fixture.port)
      client.send(head("GET /long") + "\r\n\r\n")
      let text = try await client.readToEnd()
      #expect(text.hasPrefix("HTTP/1.1 200 ") && text.utf8.count < 600_000 && !text.hasSuffix("0\r\n\r\n"))
    }
  }

  @Test(
    "a response that is passed on without a task is counted and logged like that of a task",
    arguments: [
      "GET /short?a=b", "GET /chunked",
    ])
  func records(request: String) async throws {
    let lines = Monitor<[Data]>([])
    try await running(lines: lines) { fixture in
      func counts() -> [Int64] {
        let requests = fixture.record.metrics.registry.families.first { $0.name == "renderhost_http_requests" }
        let total = requests?.series.values.reduce(Int64(0)) { sum, series in
          if case .counter(let counter) = series { sum + counter.value } else { sum }
        }
        return [fixture.answers(.pass), total ?? 0]
      }
      func line() throws -> [String: String] {
        let last = try #require(lines.read { $0.last })
        let object = try #require(try JSONSerialization.jsonObject(with: last) as? [String: Any])
        return object.filter { !["ms", "time", "trace", "hb.request.id"].contains($0.key) }.mapValues { "\($0)" }
      }
      _ = try await patiently(fixture, request)
      let before = counts()
      _ = try await patiently(fixture, request)
      let (between, longLine) = (counts(), try line())
      let client = try RawClient(port: fixture.port)
      client.send(head(request) + "\r\n\r\n")
      _ = try await client.read(until: "~")
      try await eventually("it is logged") { counts()[1] > between[1] }
      #expect(fixture.prompt.laterCount == 1)
      #expect(zip(counts(), between).map { $0 - $1 } == zip(between, before).map { $0 - $1 })
      #expect(try line() == longLine)
    }
  }

  // MARK: Responses that are stored

  /// Serves answers of each kind that are stored.
  private func serveStored(_ origin: FaultOrigin) {
    let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: #""one""#]
    for path in ["/stored", "/pieces", "/late", "/hinted", "/shared"] {
      origin.serve(path, Array((path.dropFirst() + "~").utf8), headers: fields)
    }
    origin.always("/pieces", .chunked)
    origin.always("/late", .trailers([.eTag: #""late""#]))
    origin.always("/hinted", .informational(103, [.location: "/style"]))
    origin.serve("/nothing", [], headers: fields)
    origin.serve("/big", [UInt8](repeating: 65, count: 1_000_000), headers: fields)
    origin.serve("/packed", Array("packed~".utf8), headers: [.cacheControl: "max-age=60", .contentEncoding: "private"])
    origin.respond("/gone") { _ in
      OriginResponse(status: 410, headers: [.cacheControl: "max-age=60"], body: "gone~".utf8)
    }
    origin.respond("/away") { _ in
      OriginResponse(status: 301, headers: [.cacheControl: "max-age=60", .location: "/stored"], body: "away~".utf8)
    }
    origin.respond("/silent") { _ in OriginResponse(status: 204, headers: [.cacheControl: "max-age=60"]) }
    origin.respond("/vary") { request in
      OriginResponse(
        headers: [.cacheControl: "max-age=60", .vary: "Accept-Language"],
        body: ((request.headers[.acceptLanguage] ?? "-") + "~").utf8)
    }
  }

  private func loader(_ fixture: GatewayFixture) -> ResourceLoader { fixture.gateway.origins[0].loader }

  /// Has the cache look for changes of others, which only tasks do, about once in a second.
  private func lookForChanges(_ fixture: GatewayFixture) async throws { _ = try await fixture.get("/other") }

  /// A client whose request for a path was begun on its event loop, and waits at the origin.
  private func waiting(_ fixture: GatewayFixture, _ path: String) async throws -> RawClient {
    try await lookForChanges(fixture)
    let callers = loader(fixture).inFlight.passengerCount
    let client = try await fixture.held(path)
    #expect(loader(fixture).inFlight.passengerCount == callers + 1)
    return client
  }

  /// Clients that wait for the exchange of another one.
  private func joining(_ fixture: GatewayFixture, _ path: String, _ count: Int = 1) async throws -> [RawClient] {
    let before = loader(fixture).inFlight.passengerCount
    let clients = try (0..<count).map { _ in try RawClient(port: fixture.port) }
    for client in clients { client.send(head("GET " + path) + "\r\n\r\n") }
    try await eventually("they wait") { loader(fixture).inFlight.passengerCount == before + count }
    return clients
  }

  /// Returns when nothing is under way, and nothing was left behind.
  private func waitUntilIdle(_ fixture: GatewayFixture) async throws {
    try await eventually("nothing is under way") {
      loader(fixture).inFlight.isEmpty && loader(fixture).gate.counts.expected == 0
    }
  }

  @Test(
    "a response that is stored without a task is that of a task, and is stored",
    arguments: [
      "GET /stored", "GET /nothing", "GET /big", "GET /pieces", "GET /late", "GET /hinted", "GET /packed",
      "GET /gone", "GET /away", "GET /silent", "GET /vary", "GET /vary|Accept-Language: de",
      "GET /stored|If-None-Match: \"two\"", "GET /stored|Range: bytes=1-2", "GET /stored|X-Request-Id: mine",
      "GET /stored|Cookie: a=b",
    ])
  func sameStored(request: String) async throws {
    try await running { fixture in
      serveStored(fixture.origin)
      let path = String(request.components(separatedBy: "|")[0].dropFirst(4))
      func asked() -> Int { fixture.origin.requestCount(path: path) }
      let other = try await patiently(fixture, request)
      #expect(asked() == 1)
      var (message, isLater): (Message?, Bool) = (nil, false)
      let deadline = ContinuousClock.now + .seconds(20)
      // The first look at the index may have to wait for the disk.
      while !isLater, ContinuousClock.now < deadline {
        try await loader(fixture).purge(.all)
        try await lookForChanges(fixture)
        let count = asked()
        (message, isLater) = try await ask(fixture, request)
        #expect(asked() == count + 1)
      }
      #expect(isLater && message == other)
      #expect(
        other.heads.last?.contains { $0.lowercased().hasPrefix("cache-status: ") && $0.contains("stored") } == true)
      try await waitUntilIdle(fixture)
      let count = asked()
      #expect(try await patiently(fixture, request).body == other.body)
      #expect(asked() == count)
    }
  }

  @Test(
    "a server's error that is stored is that of a task, and is asked for once",
    arguments: ["max-age=60", "max-age=0", "max-age=0, stale-while-revalidate=60"],
    ["GET /busy", "GET /busy|Cache-Control: no-cache"])
  func storedError(control: String, request: String) async throws {
    try await running { fixture in
      fixture.origin.respond("/busy") { _ in
        OriginResponse(status: 503, headers: [.cacheControl: control, .eTag: #""one""#], body: "busy~".utf8)
      }
      let other = try await patiently(fixture, request)
      await loader(fixture).finishBackgroundWork()
      try await waitUntilIdle(fixture)
      #expect(fixture.origin.requestCount(path: "/busy") == 1)
      #expect(other.heads.last?.contains { $0.contains("fwd=uri-miss") && $0.contains("stored") } == true)
      try await loader(fixture).purge(.all)
      // The first look at the index may have to wait for the disk.
      try await eventually("the event loop asks") {
        try await lookForChanges(fixture)
        return try await ask(fixture, "GET /short").isLater
      }
      let (message, isLater) = try await ask(fixture, request)
      #expect(!isLater && message == other)
      await loader(fixture).finishBackgroundWork()
      try await waitUntilIdle(fixture)
      #expect(fixture.origin.requestCount(path: "/busy") == 2)
    }
  }

  @Test("a field that is not stored goes to the client of an event loop alone, and not to those who join")
  func restrictedFields() async throws {
    try await running { fixture in
      fixture.origin.respond("/shared") { _ in
        OriginResponse(
          headers: [.cacheControl: #"no-cache="Set-Cookie", max-age=60"#, .setCookie: "a=b"], body: "shared~".utf8)
      }
      let first = try await waiting(fixture, "/shared")
      let other = try await joining(fixture, "/shared")[0]
      fixture.origin.release("/shared")
      let answers = [try await first.readAnswer(), try await other.readAnswer()].map { $0.lowercased() }
      #expect(answers.map { $0.contains("set-cookie: a=b") } == [true, false])
      #expect(answers.map { $0.contains("collapsed") } == [false, true])
      #expect(fixture.origin.requestCount(path: "/shared") == 1)
      try await waitUntilIdle(fixture)
    }
  }

  @Test("requests that come meanwhile wait for the response of an event loop", arguments: [1, 2])
  func joined(count: Int) async throws {
    try await running { fixture in
      serveStored(fixture.origin)
      let first = try await waiting(fixture, "/shared")
      let others = try await joining(fixture, "/shared", count)
      fixture.origin.release("/shared")
      #expect(try await first.readAnswer().hasSuffix("shared~"))
      for other in others {
        let answer = try await other.readAnswer()
        #expect(answer.hasSuffix("shared~") && answer.contains("collapsed"))
      }
      #expect(fixture.origin.requestCount(path: "/shared") == 1)
      try await waitUntilIdle(fixture)
    }
  }

  @Test("an exchange of an event loop goes on after its client has gone, as long as others wait for it")
  func goneBeforeHead() async throws {
    try await running { fixture in
      serveStored(fixture.origin)
      var first: RawClient? = try await waiting(fixture, "/shared")
      let others = try await joining(fixture, "/shared", 2)
      first = nil
      try await eventually("it has left") { loader(fixture).inFlight.passengerCount == 2 }
      #expect(first == nil)
      fixture.origin.release("/shared")
      for other in others { #expect(try await other.readAnswer().hasSuffix("shared~")) }
      #expect(fixture.origin.requestCount(path: "/shared") == 1)
      try await waitUntilIdle(fixture)
    }
  }

  @Test("an exchange of an event loop ends with the last client that waits for it", arguments: [0, 1])
  func allGone(others: Int) async throws {
    try await running {
      $0.gateway.origins[0].connections = 1
    } _: { fixture in
      serveStored(fixture.origin)
      var first: RawClient? = try await waiting(fixture, "/shared")
      var joined = try await joining(fixture, "/shared", others)
      first = nil
      try await eventually("it has left") { loader(fixture).inFlight.passengerCount == others }
      joined = []
      try await waitUntilIdle(fixture)
      #expect(first == nil && joined.isEmpty)
      // Its place is free.
      let next = try await ask(fixture, "GET /stored")
      #expect(next.message.body == "stored~")
    }
  }

  @Test("a client that reads a response goes on when the one that began it goes away")
  func goneInBody() async throws {
    try await running { fixture in
      serveStored(fixture.origin)
      fixture.origin.always("/big", .drip(bytesPerSecond: 1_000_000))
      var first: RawClient? = try await waiting(fixture, "/big")
      let other = try await joining(fixture, "/big")[0]
      fixture.origin.release("/big")
      _ = try await first?.read(until: "AAAA")
      let start = try await other.read(until: "AAAA")
      first = nil
      other.send(last)
      let text = try await start + other.readToEnd()
      #expect(first == nil)
      #expect(text.filter { $0 == "A" }.count >= 1_000_000 && text.hasSuffix("other~"))
      #expect(fixture.origin.requestCount(path: "/big") == 1)
      try await waitUntilIdle(fixture)
    }
  }

  @Test("a response that ends early is cut for all its readers, and is not stored", arguments: [true, false])
  func cutWhileStored(isChunked: Bool) async throws {
    try await running { fixture in
      fixture.origin.serve("/big", [UInt8](repeating: 65, count: 1_000_000), headers: [.cacheControl: "max-age=60"])
      fixture.origin.script("/big", [isChunked ? .cutChunked(after: 500_000) : .resetAfter(bytes: 500_000)])
      let first = try await waiting(fixture, "/big")
      let other = try await joining(fixture, "/big")[0]
      fixture.origin.release("/big")
      for client in [first, other] {
        let text = try await client.readToEnd()
        #expect(text.hasPrefix("HTTP/1.1 200 ") && text.utf8.count < 600_000 && !text.hasSuffix("0\r\n\r\n"))
      }
      try await waitUntilIdle(fixture)
      #expect(try await ask(fixture, "GET /big").message.body.utf8.count == 1_000_000)
      #expect(fixture.origin.requestCount(path: "/big") == 2)
    }
  }

  @Test("a stored response that was asked for before a purge answers those who waited, and no later request")
  func purgeWhileStored() async throws {
    try await running { fixture in
      serveStored(fixture.origin)
      let first = try await waiting(fixture, "/shared")
      let other = try await joining(fixture, "/shared")[0]
      try await loader(fixture).purge(.all)
      fixture.origin.serve("/shared", Array("new~".utf8), headers: [.cacheControl: "max-age=60"])
      // It does not join the exchange from before.
      let later = try RawClient(port: fixture.port)
      later.send(head("GET /shared") + "\r\n\r\n")
      try await fixture.origin.waitForRequests(2, to: "/shared")
      fixture.origin.release("/shared")
      for client in [first, other] { #expect(try await client.readAnswer().hasSuffix("shared~")) }
      #expect(try await later.readAnswer().hasSuffix("new~"))
      try await waitUntilIdle(fixture)
      #expect(try await ask(fixture, "GET /shared").message.body == "new~")
      #expect(fixture.origin.requestCount(path: "/shared") == 2)
    }
  }

  @Test("a response that turns out not to be stored answers one request, and the others are sent")
  func turnsOutUncacheable() async throws {
    try await running { fixture in
      fixture.origin.respond("/mine") { _ in OriginResponse(headers: [.cacheControl: "private"], body: "mine~".utf8) }
      let first = try await waiting(fixture, "/mine")
      let others = try await joining(fixture, "/mine", 2)
      fixture.origin.release("/mine")
      for client in [first] + others {
        let answer = try await client.readAnswer()
        #expect(answer.hasSuffix("mine~") && !answer.contains("collapsed"))
      }
      #expect(fixture.origin.requestCount(path: "/mine") == 3)
      try await waitUntilIdle(fixture)
    }
  }

  @Test(
    "what an event loop cannot do with a response that others wait for goes on with a task",
    arguments: [Fault.status(503), .garbage, .always304])
  func sharedFailures(fault: Fault) async throws {
    try await running { fixture in
      serveStored(fixture.origin)
      fixture.origin.script("/shared", [fault])
      let first = try await waiting(fixture, "/shared")
      let other = try await joining(fixture, "/shared")[0]
      fixture.origin.release("/shared")
      let answers = [try await first.readAnswer(), try await other.readAnswer()]
      #expect(answers[0].hasPrefix("HTTP/1.1 5"))
      // A server's error answers one request; whatever is no response fails for all.
      if fault == .status(503) {
        #expect(answers[1].hasSuffix("shared~") && fixture.origin.requestCount(path: "/shared") == 2)
      } else {
        #expect(answers[1].hasPrefix("HTTP/1.1 5") && fixture.origin.requestCount(path: "/shared") == 1)
      }
      try await waitUntilIdle(fixture)
    }
  }
}
