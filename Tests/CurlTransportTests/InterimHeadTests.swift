import CurlTransport
import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

@Suite(.timeLimit(.minutes(2)))
struct InterimHeadTests {
  private let transport: CurlTransport

  init() throws { transport = try CurlTransport() }

  @Test("interim heads are passed on in order, before the final one")
  func order() async throws {
    let link = try HTTPField.Name.named("Link")
    try await FaultOrigin.running { origin in
      origin.serve("/a", "body".utf8)
      origin.always("/a", .informational(103, [link: "</a.css>"], then: .informational(102)))
      let heads = Monitor<[HTTPResponse]>([])
      var request = origin.request("/a")
      request.informational = { head in heads.change { $0.append(head) } }
      let response = try await transport.send(request)
      #expect(response.head.status == .ok)
      #expect(response.head.headerFields[link] == nil)
      #expect(heads.read(\.self).map(\.status.code) == [103, 102])
      #expect(heads.read(\.self).map { $0.headerFields[link] } == ["</a.css>", nil])
    }
  }

  @Test("early hints arrive before the final response")
  func earlyHints() async throws {
    let link = try HTTPField.Name.named("Link")
    try await FaultOrigin.running { origin in
      origin.serve("/a", "body".utf8)
      let stalled = Fault.informational(103, [link: "</a.css>"], then: .stallBeforeHead)
      origin.always("/a", stalled)
      let (heads, arrived) = AsyncStream<HTTPResponse>.makeStream()
      var request = origin.request("/a")
      request.informational = { arrived.yield($0) }
      let transfer = Task { [transport, request] in try await transport.answer(to: request) }
      for await head in heads {
        #expect(head.status.code == 103)
        #expect(head.headerFields[link] == "</a.css>")
        break
      }
      transfer.cancel()
      await #expect(throws: CancellationError.self) { try await transfer.value }
    }
  }

  @Test("a switch to another protocol is an error")
  func switchingProtocols() async throws {
    let wire =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nHTTP/1.1 200 OK\r\n\r\nbody"
    let server = try RawServer(answering: Array(wire.utf8))
    var request = TransportRequest.local(port: server.port, "/a")
    request.informational = { Issue.record("\($0)") }
    guard case .malformed(_, let reason) = try await transport.failure(of: request) else { throw ProducerFailure() }
    #expect(reason == "it switches to a protocol that nobody asked for")
  }

  @Test("trailers about the connection are passed to the caller")
  func trailers() async throws {
    let names = ["Connection", "Keep-Alive", "Transfer-Encoding", "Content-Length", "X-Checksum"]
    var fields: HTTPFields = [:]
    for name in names { fields[try .named(name)] = "1" }
    try await FaultOrigin.running { [fields] origin in
      origin.serve("/a", "body".utf8)
      origin.always("/a", .trailers(fields))
      let answer = try await transport.answer(to: origin.request("/a"))
      #expect(answer.text == "body")
      #expect(answer.summary.trailers.map(\.name.rawName) == names)
      // They have no effect on the connection either.
      #expect(try await transport.answer(to: origin.request("/a")).text == "body")
    }
  }
}
