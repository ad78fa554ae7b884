import CurlTransport
import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

@Suite(.timeLimit(.minutes(2)))
struct TransferTests {
  private let transport: CurlTransport

  init() throws { transport = try CurlTransport() }

  // MARK: Bodies

  @Test(arguments: [0, 1, 1 << 20, 20 << 20])
  func aBodyOfAnySizeArrivesByteForByte(size: Int) async throws {
    let content = SeededContent.bytes(size)
    try await FaultOrigin.running { origin in
      origin.serve("/a", content)
      let answer = try await transport.answer(to: origin.request("/a"))
      #expect(answer.head.status == .ok)
      expectSame(answer.body, content)
    }
  }

  @Test func aChunkedBodyArrivesWithoutItsFraming() async throws {
    let content = SeededContent.bytes(1_000_000)
    try await FaultOrigin.running { origin in
      origin.serve("/a", content)
      origin.always("/a", .chunked)
      let answer = try await transport.answer(to: origin.request("/a"))
      expectSame(answer.body, content)
    }
  }

  @Test func aBodyWithoutLengthEndsWithItsConnection() async throws {
    let content = SeededContent.bytes(1_000_000)
    try await FaultOrigin.running { origin in
      origin.serve("/a", content)
      origin.always("/a", .closeDelimited())
      let answer = try await transport.answer(to: origin.request("/a"))
      #expect(answer.head.headerFields[.contentLength] == nil)
      expectSame(answer.body, content)
    }
  }

  @Test("a compressed body is passed on unchanged")
  func compressedBody() async throws {
    let wire = try #require(Array("compressed".utf8).gzipped())
    try await FaultOrigin.running { origin in
      origin.always("/a", .encoded("gzip", wire))
      let answer = try await transport.answer(to: origin.request("/a", fields: [.acceptEncoding: "gzip"]))
      #expect(answer.head.headerFields[.contentEncoding] == "gzip")
      #expect(answer.body == wire)
    }
  }

  @Test("the response to HEAD has fields and no body")
  func head() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", "0123456789".utf8)
      let answer = try await transport.answer(to: origin.request("/a", .head))
      #expect(answer.head.headerFields[.contentLength] == "10")
      #expect(answer.body.isEmpty)
      #expect(origin.requests.map(\.method) == [.head])
    }
  }

  @Test(arguments: [HTTPResponse.Status.noContent, .notModified])
  func aStatusWithoutContentEndsWithItsHead(status: HTTPResponse.Status) async throws {
    try await FaultOrigin.running { origin in
      origin.respond("/a") { _ in OriginResponse(status: status, headers: [.eTag: "\"1\"", .contentLength: "10"]) }
      let answer = try await transport.answer(to: origin.request("/a"))
      #expect(answer.head.status == status)
      #expect(answer.head.headerFields[.eTag] == "\"1\"")
      #expect(answer.body.isEmpty)
    }
  }

  // MARK: Heads

  @Test("a repeated field is kept twice in its order")
  func repeatedField() async throws {
    let cookie = HTTPField.Name.setCookie
    var fields: HTTPFields = [:]
    fields.append(HTTPField(name: cookie, value: "b=1; Path=/"))
    fields.append(HTTPField(name: .vary, value: "Accept"))
    fields.append(HTTPField(name: cookie, value: "a=2, c"))
    try await FaultOrigin.running { [fields] origin in
      origin.respond("/a") { _ in OriginResponse(headers: fields) }
      let head = try await transport.answer(to: origin.request("/a")).head
      #expect(head.headerFields[values: cookie] == ["b=1; Path=/", "a=2, c"])
      #expect(head.headerFields.prefix(3).map(\.name) == [cookie, .vary, cookie])
    }
  }

  @Test func anEmptyFieldIsKept() async throws {
    let name = try HTTPField.Name.named("X-Empty")
    try await FaultOrigin.running { origin in
      origin.respond("/a") { _ in OriginResponse(headers: [name: ""]) }
      let head = try await transport.answer(to: origin.request("/a")).head
      #expect(head.headerFields[values: name] == [""])
    }
  }

  @Test func bytesBeyondASCIIInAFieldAreReadAsISO88591() async throws {
    let server = try RawServer(answering: Self.headWithLatin1)
    let head = try await transport.answer(to: .local(port: server.port, "/a")).head
    #expect(head.headerFields[.eTag] == "\"caf\u{E9}\"")
  }

  @Test("a validator beyond ASCII is sent back with the same bytes")
  func nonASCIIValidator() async throws {
    let server = try RawServer(answering: Self.headWithLatin1)
    let tag = try #require(try await transport.answer(to: .local(port: server.port, "/a")).head.headerFields[.eTag])
    _ = try await transport.answer(to: .local(port: server.port, "/a", fields: [.ifNoneMatch: tag]))
    let request = try #require(server.requests.last)
    #expect(request.contains(Array("If-None-Match: \"caf".utf8) + [0xE9] + Array("\"\r\n".utf8)))
  }

  private static let headWithLatin1 =
    Array("HTTP/1.1 200 OK\r\nETag: \"caf".utf8) + [0xE9] + Array("\"\r\nContent-Length: 0\r\n\r\n".utf8)

  @Test("interim heads are skipped")
  func interimHeads() async throws {
    let link = try HTTPField.Name.named("Link")
    try await FaultOrigin.running { origin in
      origin.serve("/a", "body".utf8)
      let hint: HTTPFields = [link: "</style.css>; rel=preload"]
      origin.always("/a", .informational(103, hint, then: .informational(102)))
      let answer = try await transport.answer(to: origin.request("/a"))
      #expect(answer.head.status == .ok)
      #expect(answer.head.headerFields[link] == nil)
      #expect(answer.text == "body")
    }
  }

  @Test func trailersAreInTheSummaryAndNotInTheHead() async throws {
    let name = try HTTPField.Name.named("X-Checksum")
    try await FaultOrigin.running { origin in
      origin.serve("/a", "body".utf8)
      origin.always("/a", .trailers([name: "17"]))
      let answer = try await transport.answer(to: origin.request("/a"))
      #expect(answer.text == "body")
      #expect(answer.summary.trailers[name] == "17")
      #expect(answer.head.headerFields[name] == nil)
    }
  }

  @Test("a redirect is returned and not followed")
  func redirect() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/b", "there".utf8)
      origin.always("/a", .redirect(to: "/b"))
      let head = try await transport.answer(to: origin.request("/a")).head
      #expect(head.status == .found)
      #expect(head.headerFields[.location] == "/b")
      #expect(origin.requests.map(\.path) == ["/a"])
    }
  }

  // MARK: Timings

  @Test func theBytesOfHeadAndBodyAreCounted() async throws {
    let wire = Array("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".utf8) + SeededContent.bytes(1000)
    let server = try RawServer(answering: wire)
    let summary = try await transport.answer(to: .local(port: server.port, "/a")).summary
    #expect(summary.bytesReceived == Int64(wire.count))
    #expect(summary.bytesSent == Int64(server.requests[0].count))
  }

  @Test func theBytesOfAPostedBodyAreCountedOnce() async throws {
    let server = try RawServer(answering: Array("HTTP/1.1 204 No Content\r\n\r\n".utf8))
    let request = TransportRequest.local(port: server.port, "/a", .post, body: SeededContent.bytes(1000))
    let summary = try await transport.answer(to: request).summary
    #expect(summary.bytesSent == Int64(server.requests[0].count))
  }

  @Test(arguments: [65_535, 65_536, 500_000])
  func theBytesOfABigPostedBodyAreCountedOnce(size: Int) async throws {
    let body = SeededContent.bytes(size)
    try await FaultOrigin.running { origin in
      origin.respond("/a") { _ in OriginResponse() }
      let summary = try await transport.answer(to: origin.request("/a", .post, body: body)).summary
      #expect((Int64(size)..<Int64(size + 1000)).contains(summary.bytesSent))
    }
  }

  @Test func theTimesOfATransferAreInTheOrderOfItsSteps() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", SeededContent.bytes(100_000))
      let timings = try await transport.answer(to: origin.request("/a")).summary
      #expect(timings.connected > .zero)
      #expect(timings.nameLookup <= timings.connected)
      #expect(timings.connected <= timings.firstByte)
      #expect(timings.firstByte <= timings.total)
      #expect(timings.secured == .zero)
      #expect(timings.httpVersion == "1.1")
    }
  }

  @Test func aSecondRequestUsesTheFirstOnesConnection() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", "body".utf8)
      let first = try await transport.answer(to: origin.request("/a"))
      let second = try await transport.answer(to: origin.request("/a"))
      #expect(!first.summary.reusedConnection)
      #expect(second.summary.reusedConnection)
      #expect(origin.connectionCount == 1)
    }
  }

  @Test func aRequestThatNeedsAFreshConnectionGetsOne() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", "body".utf8)
      _ = try await transport.answer(to: origin.request("/a"))
      var request = origin.request("/a")
      request.needsFreshConnection = true
      let answer = try await transport.answer(to: request)
      #expect(!answer.summary.reusedConnection)
      #expect(origin.connectionCount == 2)
    }
  }

  @Test("a connection that the server has closed is replaced")
  func closedConnection() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", "body".utf8)
      _ = try await transport.answer(to: origin.request("/a"))
      try await origin.refuseConnections()
      try await origin.acceptConnections()
      #expect(try await transport.answer(to: origin.request("/a")).text == "body")
      #expect(origin.connectionCount == 2)
    }
  }
}
