import HTTPTypes
import PageTesting
import Testing

/// The bytes of each fault on the connection.
@Suite(.timeLimit(.minutes(5)))
struct FaultTests {
  let script = Array("console.log('home')".utf8)

  /// An origin that serves the script at `/home.js` with faults.
  private nonisolated(nonsending) func origin(
    _ fault: Fault, _ body: nonisolated(nonsending) (FaultOrigin) async throws -> Void
  ) async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/home.js", script, etag: "\"v1\"", lastModified: "Sun, 06 Nov 1994 08:49:37 GMT")
      origin.always("/home.js", fault)
      try await body(origin)
    }
  }

  // MARK: Scripts

  @Test("a script applies one fault to each request, and then none")
  func script() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/home.js", script)
      origin.script("/home.js", [.status(503, retryAfter: "1"), .normal, .html("<p>"), .status(404)])
      var statuses: [Int] = []
      for _ in 0..<6 { statuses.append(try await origin.fetch("/home.js").status) }
      #expect(statuses == [503, 200, 200, 404, 200, 200])
    }
  }

  @Test("a script applies before the standing fault")
  func scriptAndStandingFault() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/home.js", script)
      origin.always("/home.js", .status(500))
      origin.script("/home.js", [.normal, .status(503)])
      var statuses: [Int] = []
      for _ in 0..<3 { statuses.append(try await origin.fetch("/home.js").status) }
      origin.always("/home.js", .normal)
      statuses.append(try await origin.fetch("/home.js").status)
      #expect(statuses == [200, 503, 500, 200])
    }
  }

  @Test("a new script replaces the rest of the former one")
  func newScript() async throws {
    try await FaultOrigin.running { origin in
      origin.script("/*", [.status(500), .status(501)])
      origin.script("/*", [.status(502)])
      let scripted = try await origin.fetch("/a")
      let after = try await origin.fetch("/b")
      #expect(scripted.status == 502)
      #expect(after.status == 404)
    }
  }

  @Test("a fault with a response of its own does not call the handler")
  func unusedHandler() async throws {
    try await FaultOrigin.running { origin in
      let calls = Monitor(0)
      origin.respond("/api") { _ in
        calls.change { $0 += 1 }
        return OriginResponse(body: "fine".utf8)
      }
      origin.script("/api", [.delay(.milliseconds(1), then: .status(503)), .chunked])
      let failed = try await origin.fetch("/api")
      #expect(failed.status == 503)
      #expect(calls.read { $0 } == 0)
      let chunked = try await origin.fetch("/api")
      #expect(chunked.text == "4\r\nfine\r\n0\r\n\r\n")
      #expect(calls.read { $0 } == 1)
    }
  }

  // MARK: Other responses

  @Test("a status has its text and Retry-After")
  func status() async throws {
    try await origin(.status(429, retryAfter: "120", body: "slow down")) { origin in
      let response = try await origin.fetch("/home.js")
      #expect(response.statusLine == "HTTP/1.1 429 Too Many Requests")
      #expect(response["Retry-After"] == "120")
      #expect(response.text == "slow down")
    }
  }

  @Test("HTML replaces the script in a 200")
  func html() async throws {
    try await origin(.html("<title>Sign in</title>")) { origin in
      let response = try await origin.fetch("/home.js", ["If-None-Match: \"v1\""])
      #expect(response.status == 200)
      #expect(response["Content-Type"] == "text/html; charset=utf-8")
      #expect(response.text == "<title>Sign in</title>")
    }
  }

  @Test("an empty response is a 200 with a length of zero")
  func empty() async throws {
    try await origin(.empty) { origin in
      let response = try await origin.fetch("/home.js")
      #expect(response.status == 200)
      #expect(response["Content-Length"] == "0")
      #expect(response.body.isEmpty)
    }
  }

  @Test("replaced bytes keep the entity tag")
  func replacedBytes() async throws {
    try await origin(.replace(Array("other".utf8))) { origin in
      let response = try await origin.fetch("/home.js", ["Range: bytes=2-"])
      #expect(response.status == 200)
      #expect(response["ETag"] == "\"v1\"")
      #expect(response.text == "other")
    }
  }

  @Test("a corrupt byte differs, and the length is correct")
  func corruptByte() async throws {
    try await origin(.corrupt(byteAt: 3)) { origin in
      let response = try await origin.fetch("/home.js")
      #expect(response["Content-Length"] == "19")
      #expect(response.text == "conrole.log('home')")
    }
  }

  @Test("a redirection has its Location")
  func redirection() async throws {
    try await origin(.redirect(to: "/elsewhere.js", status: 308)) { origin in
      let response = try await origin.fetch("/home.js")
      #expect(response.statusLine == "HTTP/1.1 308 Permanent Redirect")
      #expect(response["Location"] == "/elsewhere.js")
    }
  }

  @Test("a 304 answers also a request without a condition")
  func always304() async throws {
    try await origin(.always304) { origin in
      let response = try await origin.fetch("/home.js")
      #expect(response.status == 304)
      #expect(response["ETag"] == "\"v1\"")
      #expect(response.body.isEmpty)
    }
  }

  @Test("encoded bytes are sent unchanged")
  func encodedBytes() async throws {
    try await origin(.encoded("gzip", [0x1F, 0x8B, 0])) { origin in
      let response = try await origin.fetch("/home.js")
      #expect(response["Content-Encoding"] == "gzip")
      #expect(response["Content-Length"] == "3")
      #expect(response.body == [0x1F, 0x8B, 0])
    }
  }

  // MARK: Ranges

  @Test("an ignored range is answered with the whole body")
  func ignoredRange() async throws {
    try await origin(.ignoreRange) { origin in
      let response = try await origin.fetch("/home.js", ["Range: bytes=5-", "If-Range: \"v1\""])
      #expect(response.status == 200)
      #expect(response.body == script)
    }
  }

  @Test(
    "a wrong range is consistent, but not the requested one",
    arguments: [
      ("bytes=8-", "bytes 7-18/19", ".log('home')"), ("bytes=0-3", "bytes 1-3/19", "ons"),
      ("bytes=-2", "bytes 16-18/19", "e')"), ("bytes=0-0", "bytes 1-1/19", "o"),
    ])
  func wrongRange(
    _ asked: String, _ got: String, _ text: String
  ) async throws {
    try await origin(.wrongRange) { origin in
      let response = try await origin.fetch("/home.js", ["Range: \(asked)"])
      #expect(response.status == 206)
      #expect(response["Content-Range"] == got)
      #expect(response["Content-Length"] == String(text.utf8.count))
      #expect(response.text == text)
    }
  }

  @Test("a wrong entity tag is sent only with a range")
  func wrongEntityTag() async throws {
    try await origin(.wrongETagOn206) { origin in
      #expect(try await origin.fetch("/home.js")["ETag"] == "\"v1\"")
      let partial = try await origin.fetch("/home.js", ["Range: bytes=1-"])
      #expect(partial.status == 206)
      #expect(partial["ETag"] == "\"not-this-one\"")
    }
  }

  // MARK: Lengths and framing

  @Test("a Content-Length that is too long ends with the connection")
  func lengthTooLong() async throws {
    try await origin(.contentLengthTooLong(by: 5)) { origin in
      let response = try RawResponse(try await origin.wire("/home.js"))
      #expect(response["Content-Length"] == "24")
      #expect(response["Connection"] == nil)
      #expect(response.body == script)
      #expect(response.end == .closed)
      #expect(origin.completedResponses(path: "/home.js") == 0)
    }
  }

  @Test("a Content-Length that is too short leaves bytes on the connection")
  func lengthTooShort() async throws {
    try await origin(.contentLengthTooShort(by: 5)) { origin in
      let client = try RawClient(origin)
      client.request("/home.js")
      let response = try RawResponse(try await client.receive("'home')"))
      #expect(response["Content-Length"] == "14")
      #expect(response.body == script)
      #expect(response.end == nil)
    }
  }

  @Test("chunks end with the last chunk")
  func chunks() async throws {
    try await origin(.chunked) { origin in
      let response = try await origin.fetch("/home.js")
      #expect(response["Transfer-Encoding"] == "chunked")
      #expect(response["Content-Length"] == nil)
      #expect(response.text == "13\r\nconsole.log('home')\r\n0\r\n\r\n")
      #expect(origin.bytesSent(path: "/home.js") == 19)
    }
  }

  @Test("trailers follow the last chunk")
  func trailers() async throws {
    let digest = try #require(HTTPField.Name("Content-Digest"))
    try await origin(.trailers([digest: "md5=:abc:"])) { origin in
      let response = try await origin.fetch("/home.js")
      #expect(response["Trailer"] == "Content-Digest")
      #expect(response.text == "13\r\nconsole.log('home')\r\n0\r\nContent-Digest: md5=:abc:\r\n\r\n")
    }
  }

  @Test("cut chunks end without the last chunk")
  func cutChunks() async throws {
    try await origin(.cutChunked(after: 7)) { origin in
      let response = try RawResponse(try await origin.wire("/home.js"))
      #expect(response.text == "7\r\nconsole\r\n")
      #expect(response.end == .closed)
      #expect(origin.completedResponses(path: "/home.js") == 0)
    }
  }

  @Test(
    "without a length, the end of the connection is the end of the body",
    arguments: [(nil, "console.log('home')", 1), (7, "console", 0)] as [(Int?, String, Int)])
  func closeDelimited(_ cut: Int?, _ text: String, _ completed: Int) async throws {
    try await origin(.closeDelimited(cutAfter: cut)) { origin in
      let response = try RawResponse(try await origin.wire("/home.js"))
      #expect(response["Content-Length"] == nil)
      #expect(response["Transfer-Encoding"] == nil)
      #expect(response["Connection"] == "close")
      #expect(response.text == text)
      #expect(response.end == .closed)
      #expect(origin.completedResponses(path: "/home.js") == completed)
    }
  }

  // MARK: Broken connections

  @Test("a reset comes after the given number of bytes", arguments: [0, 7, 1_000_000])
  func reset(_ count: Int) async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/big.js", [UInt8](repeating: 65, count: 3_000_000))
      origin.script("/big.js", [.resetAfter(bytes: count)])
      let response = try RawResponse(try await origin.wire("/big.js"))
      #expect(response["Content-Length"] == "3000000")
      #expect(response.body.count == count)
      #expect(response.end == .reset)
      #expect(origin.bytesSent(path: "/big.js") == count)
      #expect(origin.completedResponses(path: "/big.js") == 0)
    }
  }

  @Test(
    "a connection can end before the head",
    arguments: [(Fault.closeBeforeHead, RawClient.End.closed), (.resetBeforeHead, .reset)])
  func endBeforeHead(_ fault: Fault, _ end: RawClient.End) async throws {
    try await origin(fault) { origin in
      let transcript = try await origin.wire("/home.js")
      #expect(transcript.bytes.isEmpty)
      #expect(transcript.end == end)
      #expect(origin.activeRequestCount == 0)
    }
  }

  // MARK: Time

  @Test("a delayed response takes the given time")
  func delay() async throws {
    try await origin(.delay(.milliseconds(50))) { origin in
      let start = ContinuousClock.now
      let response = try await origin.fetch("/home.js")
      #expect(response.body == script)
      #expect(start.duration(to: .now) >= .milliseconds(50))
    }
  }

  @Test("a slow body arrives byte by byte")
  func drip() async throws {
    try await origin(.drip(bytesPerSecond: 100)) { origin in
      let client = try RawClient(origin)
      let start = ContinuousClock.now
      client.request("/home.js")
      // The first of 19 bytes comes at once, the last 180 ms later.
      _ = try await client.receive("'home')")
      #expect(start.duration(to: .now) >= .milliseconds(175))
    }
  }

  @Test(
    "a stalled body stays stalled until the client disconnects",
    arguments: [(Fault.stall(afterBytes: 7), "console"), (.stall(afterBytes: 0), "")])
  func stalledBody(_ fault: Fault, _ text: String) async throws {
    try await origin(fault) { origin in
      let client = try RawClient(origin)
      client.request("/home.js")
      let response = try RawResponse(try await client.receive("\r\n\r\n" + text))
      #expect(response["Content-Length"] == "19")
      #expect(response.text == text)
      #expect(origin.activeRequestCount == 1)
      client.leave()
      try await origin.waitForOpenConnections(0)
      #expect(origin.activeRequestCount == 0)
      #expect(origin.completedResponses(path: "/home.js") == 0)
    }
  }

  @Test("a stalled request ends when the origin stops")
  func stalledRequest() async throws {
    let origin = try await FaultOrigin.start()
    origin.always("/*", .stallBeforeHead)
    let client = try RawClient(origin)
    client.request("/home.js")
    try await origin.waitForRequests(1)
    try await origin.stop()
    let transcript = try await client.receiveToEnd()
    #expect(transcript.bytes.isEmpty)
  }

  // MARK: Interim responses and malformed heads

  @Test("an interim response precedes the final one")
  func interimResponse() async throws {
    let link = try #require(HTTPField.Name("Link"))
    try await origin(.informational(103, [link: "</a.js>; rel=preload"])) { origin in
      let text = try await origin.wire("/home.js", ["Connection: close"]).text
      #expect(text.hasPrefix("HTTP/1.1 103 \r\nLink: </a.js>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\n"))
      #expect(text.hasSuffix("\r\n\r\nconsole.log('home')"))
    }
  }

  @Test("a raw head is sent byte for byte")
  func rawHead() async throws {
    try await origin(.rawHead("HTTP/9.9 yes\nnot a field\r\n\r\n")) { origin in
      let transcript = try await origin.wire("/home.js")
      #expect(transcript.text == "HTTP/9.9 yes\nnot a field\r\n\r\nconsole.log('home')")
      #expect(transcript.end == .closed)
    }
  }

  @Test("garbage is not HTTP")
  func garbage() async throws {
    try await origin(.garbage) { origin in
      let transcript = try await origin.wire("/home.js")
      #expect(!transcript.bytes.isEmpty)
      #expect(!transcript.text.contains("HTTP"))
      #expect(transcript.end == .closed)
    }
  }

  @Test(
    "a response to HEAD has no body with any fault",
    arguments: [
      Fault.normal, .chunked, .trailers([:]), .closeDelimited(), .contentLengthTooLong(by: 3), .corrupt(byteAt: 0),
      .drip(bytesPerSecond: 1), .html("x"),
    ])
  func headWithoutBody(_ fault: Fault) async throws {
    try await origin(fault) { origin in
      let response = try await origin.fetch("/home.js", method: "HEAD")
      #expect(response.body.isEmpty)
    }
  }
}
