import Foundation
import Hummingbird
import Logging
import NIOCore
import PageTesting
import TestServers
import Testing

@testable import RenderHost
@testable import ServerKit

@Suite(.timeLimit(.minutes(2)))
struct ReplayConnectionTests {
  /// A route whose answers may be replayed; `made` counts the generated ones.
  private func host(_ made: Monitor<Int>, logger: Logger? = nil) async throws -> LiveHost {
    try await LiveHost(logger: logger) { router in
      router.get("/known") { _, context in
        made.change { $0 += 1 }
        context.replay?.allow { true }
        return "an answer"
      }
    }
  }

  @Test("an identical head gets the same answer with an id of its own")
  func sameHead() async throws {
    let made = Monitor(0)
    let host = try await host(made)
    let head = "GET /known HTTP/1.1\r\nHost: h\r\n\r\n"
    var ids: Set<Substring> = []
    for _ in 0..<3 {
      let client = try RawClient(port: host.port)
      client.send(head)
      let answer = try await client.read(until: "an answer")
      ids.insert(try #require(answer.firstMatch(of: /(?i)x-request-id: ([0-9a-f]+)/)).1)
    }
    #expect(made.read { $0 } == 1 && ids.count == 3)
    try await host.stop()
  }

  @Test(
    "a connection ends after its last request, also for replayed answers",
    arguments: [
      "HTTP/1.1\r\nHost: h\r\nConnection: close", "HTTP/1.1\r\nHost: h\r\nConnection: Close",
      "HTTP/1.1\r\nHost: h\r\nConnection: TE, close", "HTTP/1.0", "HTTP/1.0\r\nConnection: keep-alive",
    ])
  func lastRequest(_ head: String) async throws {
    let host = try await host(Monitor(0))
    for _ in 0..<3 {
      let client = try RawClient(port: host.port)
      client.send("GET /known \(head)\r\n\r\n")
      let answer = try await client.readToEnd()
      #expect(answer.hasSuffix("\r\n\r\nan answer"))
      // RFC 9112 §9.6.
      #expect(answer.lowercased().contains("connection: close\r\n"))
    }
    try await host.stop()
  }

  @Test("only the last of several requests ends the connection")
  func severalRequests() async throws {
    let host = try await host(Monitor(0))
    let client = try RawClient(port: host.port)
    let head = "GET /known HTTP/1.1\r\nHost: h\r\n"
    client.send("\(head)\r\n\(head)Connection: close\r\n\r\n")
    let answers = try await client.readToEnd().components(separatedBy: "an answer")
    #expect(answers.map { $0.lowercased().contains("connection: close") } == [false, true, false])
    #expect(answers.last == "")
    try await host.stop()
  }

  @Test("each answer is logged with the client's address")
  func loggedAddress() async throws {
    let lines = Monitor<[String]>([])
    let logger = Logger(label: "l") {
      JSONLogHandler(label: $0) { line in lines.change { $0.append(String(decoding: line, as: UTF8.self)) } }
    }
    let host = try await host(Monitor(0), logger: logger)
    for address in ["127.0.0.1", "127.0.0.2", "127.0.0.3"] {
      let client = try RawClient(port: host.port, from: address)
      client.send("GET /known HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await client.read(until: "an answer")
    }
    // The line of a replayed answer follows it.
    try await lines.wait(within: .seconds(20)) { $0.filter { $0.contains("Answered") }.count == 3 }
    let answered = lines.read { $0.filter { $0.contains("Answered") } }
    for (line, address) in zip(answered, ["127.0.0.1", "127.0.0.2", "127.0.0.3"]) {
      #expect(line.contains(#""address":"\#(address)""#), "\(line)")
    }
    try await host.stop()
  }

  // MARK: Memory

  private func answer(_ body: ByteBuffer) throws -> RecordedResponse {
    let head = "HTTP/1.1 200 OK\r\nDate: d\r\nX-Request-Id: i\r\nContent-Length: \(body.readableBytes)\r\n\r\n"
    return try #require(RecordedResponse([ByteBuffer(string: head), body], ReplayOffer { 0 }))
  }

  @Test("a recorded part does not retain the whole buffer")
  func retainedMemory() throws {
    let whole = ByteBuffer(repeating: 0x61, count: 4 << 20)
    let part = try #require(whole.getSlice(at: 100, length: 10_000))
    let body = try #require(
      try answer(part).buffers(.init(date: "d", requestID: "i", age: 0), ByteBufferAllocator())?.1)
    #expect(body == part && body.storageCapacity < 100_000)
  }

  @Test("small answers count with their overhead")
  func countedMemory() throws {
    let memory = RecordedResponses(capacity: 1 << 20)
    let heads = (0..<4000).map { ByteBuffer(string: "HEAD /\($0) HTTP/1.1\r\n\r\n") }
    for head in heads { memory.remember(try answer(ByteBuffer()), for: head) }
    let kept = heads.filter { memory.answer(to: $0) != nil }.count
    #expect(kept > 100 && kept <= 2048)
  }
}
