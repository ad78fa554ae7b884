import CurlTransport
import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

@Suite(.timeLimit(.minutes(2)))
struct TransferFailureTests {
  private let transport: CurlTransport

  init() throws { transport = try CurlTransport() }

  /// The error of a transfer, whose text must be readable.
  private func failure(
    of request: TransportRequest, on other: CurlTransport? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TransportError {
    let error = try await (other ?? transport).failure(of: request, sourceLocation: sourceLocation)
    #expect(error.description.contains(request.url), sourceLocation: sourceLocation)
    #expect(!error.description.contains { $0.isNewline }, sourceLocation: sourceLocation)
    #expect(!error.description.hasSuffix(": "), sourceLocation: sourceLocation)
    return error
  }

  // MARK: Before there is a connection

  @Test func aPostIsNeverSentTwice() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", [1])
      origin.script("/orders", [.closeBeforeHead])
      let transport = try CurlTransport()
      _ = try await transport.answer(to: origin.request("/a"))
      _ = try await transport.failure(of: origin.request("/orders", .post, body: [1, 2, 3]))
      #expect(origin.requestCount(path: "/orders") == 1)
    }
  }

  @Test func aServerThatIsDownCannotBeConnectedTo() async throws {
    try await FaultOrigin.running { origin in
      try await origin.refuseConnections()
      let request = origin.request("/a")
      let error = try await failure(of: request)
      guard case .cannotConnect(request.url, let reason) = error else {
        Issue.record(error)
        return
      }
      // Once, and without a measured time, so that equal failures have equal errors.
      #expect(reason == "Connection refused")
    }
  }

  @Test func aNameThatDoesNotExistCannotBeResolved() async throws {
    // RFC 6761 §6.4: names below it do not exist. No server is asked for one with so long a label.
    let host = "\(String(repeating: "x", count: 64)).invalid"
    let request = TransportRequest(HTTPRequest(method: .get, scheme: "http", authority: host, path: "/a"))
    let error = try await failure(of: request)
    guard case .cannotResolve(request.url, _) = error else {
      Issue.record(error)
      return
    }
  }

  @Test(
    "other URLs than http and https are refused",
    arguments: [
      ("http", "127.0.0.1", "/a b"), ("http", "127.0.0.1:99999", "/a"), ("http", "two words", "/a"), ("http", "", "/a"),
      ("ftp", "127.0.0.1", "/a"), ("file", "", "/etc/hostname"),
    ])
  func otherURLs(scheme: String, authority: String, path: String) async throws {
    let request = TransportRequest(HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path))
    let error = try await failure(of: request)
    #expect(error == .invalidURL(request.url))
  }

  @Test("a server without TLS is not accepted for https")
  func plainServer() async throws {
    try await FaultOrigin.running { origin in
      let request = TransportRequest.local("https", port: origin.port, "/a")
      let error = try await failure(of: request)
      guard case .insecure(request.url, _) = error else {
        Issue.record(error)
        return
      }
    }
  }

  // MARK: Connections that end

  @Test("a connection that ends before the head is an early end", arguments: [Fault.resetBeforeHead, .closeBeforeHead])
  func endBeforeHead(fault: Fault) async throws {
    try await FaultOrigin.running { origin in
      origin.always("/a", fault)
      try await expectClosedEarly(origin.request("/a"), received: 0)
    }
  }

  @Test(
    "a connection that ends within the head is an early end",
    arguments: [RawServer.Ending.close, .reset],
    ["HTTP/1.1 20", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"a", "HTTP/1.1 200 OK\r\nVary: a\r\n"])
  func endInHead(ending: RawServer.Ending, head: String) async throws {
    let server = try RawServer(answering: Array(head.utf8), then: ending)
    try await expectClosedEarly(.local(port: server.port, "/a"), received: 0)
  }

  @Test("a connection that ends after an interim head is an early end")
  func endAfterInterimHead() async throws {
    let server = try RawServer(answering: Array("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".utf8))
    try await expectClosedEarly(.local(port: server.port, "/a"), received: 0)
  }

  @Test(
    "a connection that ends within the body is an early end, with the number of bytes",
    arguments: [
      (Fault.resetAfter(bytes: 1000), Int64(1000)), (.contentLengthTooLong(by: 1), 10_000),
      (.contentLengthTooLong(by: 5000), 10_000), (.cutChunked(after: 1000), 1000), (.cutChunked(after: 0), 0),
    ])
  func endInBody(fault: Fault, received: Int64) async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", SeededContent.bytes(10_000))
      origin.always("/a", fault)
      try await expectClosedEarly(origin.request("/a"), received: received)
    }
  }

  @Test("bytes from before the end can still be read")
  func bytesBeforeEnd() async throws {
    let content = SeededContent.bytes(10_000)
    try await FaultOrigin.running { origin in
      origin.serve("/a", content)
      origin.always("/a", .resetAfter(bytes: 4000))
      let response = try await transport.send(origin.request("/a"))
      try await origin.waitForOpenConnections(0)
      var body: [UInt8] = []
      await #expect(throws: TransportError.self) {
        for try await chunk in response.body { body += chunk }
      }
      expectSame(body, Array(content[..<4000]))
    }
  }

  @Test func theEndOfAConnectionIsTheEndOfABodyWithoutLength() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", "0123456789".utf8)
      origin.always("/a", .closeDelimited(cutAfter: 5))
      let answer = try await transport.answer(to: origin.request("/a"))
      #expect(answer.text == "01234")
    }
  }

  // MARK: Responses that are not HTTP

  @Test func garbageIsMalformed() async throws {
    try await FaultOrigin.running { origin in
      origin.always("/a", .garbage)
      try await expectMalformed(origin.request("/a"))
    }
  }

  @Test(arguments: [
    "<html>no head</html>", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "FTP/1.1 200 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
  ])
  func aHeadThatIsNotHTTPIsMalformed(head: String) async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", "body".utf8)
      origin.always("/a", .rawHead(head))
      try await expectMalformed(origin.request("/a"))
    }
  }

  @Test(arguments: [(270, 1000), (3, 90_000), (1, 150_000), (1, 400_000)])
  func aHeadThatIsTooLongIsMalformed(fields: Int, size: Int) async throws {
    let name = try HTTPField.Name.named("X-Long")
    var headers: HTTPFields = [:]
    headers[values: name] = Array(repeating: String(repeating: "a", count: size), count: fields)
    try await FaultOrigin.running { [headers] origin in
      origin.respond("/a") { _ in OriginResponse(headers: headers) }
      try await expectMalformed(origin.request("/a"))
    }
  }

  @Test("bytes beyond the announced length do not belong to the response")
  func surplusBytes() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", "0123456789".utf8)
      origin.always("/a", .contentLengthTooShort(by: 3))
      let answer = try await transport.answer(to: origin.request("/a"))
      #expect(answer.text == "0123456")
    }
  }

  @Test("bytes beyond the announced length are not read as the next response")
  func surplusBytesOnReuse() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", "0123456789".utf8)
      origin.script("/a", [.contentLengthTooShort(by: 3)])
      _ = try await transport.answer(to: origin.request("/a"))
      do {
        let next = try await transport.answer(to: origin.request("/a"))
        #expect(next.text == "0123456789")
      } catch TransportError.closedEarly(_, received: 0, _) {
        // libcurl noticed them too late, and the request may be repeated.
      }
    }
  }

  // MARK: Time

  @Test(arguments: [Fault.stallBeforeHead, .stall(afterBytes: 1000), .drip(bytesPerSecond: 100)])
  func anAnswerThatIsSlowerThanTheLimitIsTooSlow(fault: Fault) async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", SeededContent.bytes(10_000))
      origin.always("/a", fault)
      let limits = TransferLimits(lowSpeedBytesPerSecond: 5000, lowSpeedTime: .seconds(1))
      let request = origin.request("/a", limits: limits)
      let error = try await failure(of: request)
      #expect(error == .tooSlow(url: request.url, bytesPerSecond: 5000, over: .seconds(1)))
      try await origin.waitForOpenConnections(0)
    }
  }

  @Test(arguments: [Fault.stallBeforeHead, .stall(afterBytes: 1000)])
  func anAnswerThatIsNotCompleteInTimeTimesOut(fault: Fault) async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", SeededContent.bytes(10_000))
      origin.always("/a", fault)
      let request = origin.request("/a", limits: TransferLimits(total: .milliseconds(300)))
      let error = try await failure(of: request)
      #expect(error == .timedOut(url: request.url, after: .milliseconds(300)))
      try await origin.waitForOpenConnections(0)
    }
  }

  @Test func aReusedConnectionHasTheSameTotalLimit() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", "body".utf8)
      _ = try await transport.answer(to: origin.request("/a"))
      origin.always("/a", .stallBeforeHead)
      let request = origin.request("/a", limits: TransferLimits(total: .milliseconds(300)))
      let error = try await failure(of: request)
      #expect(error == .timedOut(url: request.url, after: .milliseconds(300)))
    }
  }

  @Test("an exceeded total limit still ends the transfer", arguments: [Duration.zero, .microseconds(1), .seconds(-1)])
  func exceededLimit(total: Duration) async throws {
    try await FaultOrigin.running { origin in
      origin.always("/a", .stallBeforeHead)
      let request = origin.request("/a", limits: TransferLimits(total: total))
      let error = try await failure(of: request)
      #expect(error == .timedOut(url: request.url, after: total))
    }
  }

  @Test func timeSpentWaitingForAFreeConnectionCounts() async throws {
    let narrow = try CurlTransport(CurlTransport.Configuration(connectionsPerHost: 1))
    try await FaultOrigin.running { origin in
      origin.hold("/held")
      async let held = narrow.answer(to: origin.request("/held"))
      try await origin.waitForRequests(1, to: "/held")
      let request = origin.request("/a", limits: TransferLimits(total: .milliseconds(300)))
      let error = try await failure(of: request, on: narrow)
      #expect(error == .timedOut(url: request.url, after: .milliseconds(300)))
      #expect(origin.requestCount(path: "/a") == 0)
      origin.release("/held")
      _ = try await held
    }
  }

  @Test(
    "the time limit for connecting covers the TLS handshake",
    arguments: [Duration.milliseconds(300), .zero, .seconds(-1)])
  func handshakeLimit(limit: Duration) async throws {
    let silent = try RawServer(answering: nil)
    let limits = TransferLimits(connect: limit, total: .seconds(60))
    let request = TransportRequest.local("https", port: silent.port, "/a", limits: limits)
    let error = try await failure(of: request)
    #expect(error == .timedOut(url: request.url, after: limit))
  }

  // MARK: Size

  @Test func aBodyOfExactlyTheLimitPasses() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", "0123456789".utf8)
      let limits = TransferLimits(bodyBytes: 10)
      let answer = try await transport.answer(to: origin.request("/a", limits: limits))
      #expect(answer.text == "0123456789")
    }
  }

  @Test("a body over the limit is refused, and reading stops", arguments: [Fault.normal, .chunked])
  func bodyLimit(fault: Fault) async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", SeededContent.bytes(50 << 20))
      origin.always("/a", fault)
      let request = origin.request("/a", limits: TransferLimits(bodyBytes: 100_000))
      let error = try await failure(of: request)
      #expect(error == .tooLarge(url: request.url, limit: 100_000))
      try await origin.waitForOpenConnections(0)
      #expect(origin.completedResponses(path: "/a") == 0)
    }
  }

  @Test("an announced length over the limit is refused before the body arrives")
  func announcedLimit() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", SeededContent.bytes(200_000))
      let request = origin.request("/a", limits: TransferLimits(bodyBytes: 100_000))
      await #expect(throws: TransportError.tooLarge(url: request.url, limit: 100_000)) {
        _ = try await transport.send(request)
      }
    }
  }

  /// RFC 9110 §8.6: these have no body, whatever length they announce.
  @Test("an announced length is ignored if there is no body")
  func lengthWithoutBody() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", SeededContent.bytes(200_000))
      var head = origin.request("/a", limits: TransferLimits(bodyBytes: 100_000))
      head.head.method = .head
      let answer = try await transport.send(head)
      #expect(answer.head.headerFields[.contentLength] == "200000")
      origin.always("/a", .rawHead("HTTP/1.1 304 Not Modified\r\nContent-Length: 200000\r\n\r\n"))
      let request = origin.request("/a", limits: TransferLimits(bodyBytes: 100_000))
      let unchanged = try await transport.send(request)
      #expect(unchanged.head.status == .notModified)
    }
  }

  @Test("a body that exceeds the limit while it is unread has no gap")
  func unreadBodyOverLimit() async throws {
    // The transport stops at 256 KiB, and libcurl holds up to 128 KiB more, which exceeds the limit. The rest after
    // that would fit again.
    let content = SeededContent.bytes(324 << 10)
    let limit: Int64 = 300 << 10
    try await FaultOrigin.running { origin in
      origin.serve("/a", content)
      origin.always("/a", .chunked)
      let request = origin.request("/a", limits: TransferLimits(bodyBytes: limit))
      for round in 1...20 {
        let response = try await transport.send(request)
        try await origin.waitForCompletedResponses(round, to: "/a")
        _ = try await transport.answer(to: origin.request("/b"))
        var body: [UInt8] = []
        await #expect(throws: TransportError.tooLarge(url: request.url, limit: limit)) {
          for try await chunk in response.body { body += chunk }
        }
        expectSame(body, Array(content[..<body.count]))
      }
    }
  }

  // MARK: -

  private func expectClosedEarly(
    _ request: TransportRequest, received: Int64, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let error = try await failure(of: request, sourceLocation: sourceLocation)
    guard case .closedEarly(request.url, received, _) = error else {
      Issue.record(error, sourceLocation: sourceLocation)
      return
    }
  }

  private func expectMalformed(
    _ request: TransportRequest, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let error = try await failure(of: request, sourceLocation: sourceLocation)
    guard case .malformed(request.url, _) = error else {
      Issue.record(error, sourceLocation: sourceLocation)
      return
    }
  }
}
