import CurlTransport
import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

/// Requests with the caller's fields only.
@Suite(.timeLimit(.minutes(2)))
struct BareRequestTests {
  private let transport: CurlTransport

  init() throws { transport = try CurlTransport() }

  private func lines(_ method: HTTPRequest.Method, _ fields: HTTPFields = [:], body: [UInt8] = []) async throws
    -> [String]
  {
    let server = try RawServer(answering: Array("HTTP/1.1 204 No Content\r\n\r\n".utf8))
    var request = TransportRequest.local(port: server.port, "/a", method, fields: fields, body: body)
    request.addsNothing = true
    _ = try await transport.answer(to: request)
    let text = String(decoding: try #require(server.requests.first), as: UTF8.self)
      .replacing(":\(server.port)", with: "")
    return text.split(separator: "\r\n").map(String.init)
  }

  @Test("a bare request has only the host field", arguments: [HTTPRequest.Method.get, .delete, .head, .options])
  func host(method: HTTPRequest.Method) async throws {
    #expect(try await lines(method) == ["\(method.rawValue) /a HTTP/1.1", "Host: 127.0.0.1"])
  }

  @Test("a bare body has only the length field")
  func length() async throws {
    let found = try await lines(.post, body: Array("abc".utf8))
    #expect(found == ["POST /a HTTP/1.1", "Host: 127.0.0.1", "Content-Length: 3", "abc"])
  }

  @Test func aBareRequestKeepsItsOwnFields() async throws {
    let fields: HTTPFields = [.accept: "text/html", .userAgent: "Page/7", .acceptEncoding: "br", .te: "trailers"]
    let found = try await lines(.get, fields)
    #expect(
      found.dropFirst(2).sorted() == [
        "Accept-Encoding: br", "Accept: text/html", "TE: trailers", "User-Agent: Page/7",
      ])
  }

  @Test("a stream with an expectation is sent after the caller has seen the 100")
  func expectation() async throws {
    try await FaultOrigin.running { origin in
      origin.respond("/*") { _ in OriginResponse() }
      let (heads, arrived) = AsyncStream<HTTPResponse>.makeStream()
      let producer = ChunkProducer { number in
        if number == 0 { for await head in heads where head.status == .continue { break } }
        return number == 0 ? Array("body".utf8) : nil
      }
      var request = origin.request("/a", .post, fields: [.expect: "100-continue"]).streaming(producer, length: 4)
      request.informational = { arrived.yield($0) }
      #expect(try await transport.answer(to: request).head.status == .ok)
      #expect(origin.requests.map(\.text) == ["body"])
      #expect(origin.requests.first?.headers[values: .expect] == ["100-continue"])
      let host = try HTTPField.Name.named("Host")
      #expect(origin.requests.first?.headers[values: host] == ["127.0.0.1:\(origin.port)"])
    }
  }

  @Test("a failed expectation is not repeated by the transport")
  func failedExpectation() async throws {
    try await FaultOrigin.running { origin in
      origin.answerHeads("/a")
      origin.always("/a", .status(417, body: "no"))
      let producer = ChunkProducer { _ in try await waitForCancellation() }
      let request = origin.request("/a", .post, fields: [.expect: "100-continue"]).streaming(producer, length: 4)
      let answer = try await transport.answer(to: request)
      #expect(answer.head.status == .expectationFailed)
      #expect(answer.text == "no")
      #expect(origin.requests.count == 1)
    }
  }
}
