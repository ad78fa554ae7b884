import HTTPTypes
import NIOCore
import NIOPosix
import PageTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct FaultOriginTests {
  let script = Array("console.log('home')".utf8)

  // MARK: Static content

  @Test("a served path is answered with its bytes, type and validators")
  func servedPath() async throws {
    try await FaultOrigin.running { origin in
      origin.serve(
        "/home.js", script, etag: "\"v1\"", lastModified: "Sun, 06 Nov 1994 08:49:37 GMT",
        headers: [.cacheControl: "max-age=60"])
      let response = try await origin.fetch("/home.js")
      #expect(response.statusLine == "HTTP/1.1 200 OK")
      #expect(response.body == script)
      #expect(response["Content-Length"] == "19")
      #expect(response["Content-Type"] == "text/javascript")
      #expect(response["ETag"] == "\"v1\"")
      #expect(response["Last-Modified"] == "Sun, 06 Nov 1994 08:49:37 GMT")
      #expect(response["Cache-Control"] == "max-age=60")
      #expect(response["Date"] == nil)
    }
  }

  @Test("HEAD is answered with the length and without a body")
  func headRequest() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/home.js", script)
      let response = try await origin.fetch("/home.js", method: "HEAD")
      #expect(response.status == 200)
      #expect(response["Content-Length"] == "19")
      #expect(response.body.isEmpty)
    }
  }

  @Test("a known entity tag is answered with a 304 without length and body")
  func knownEntityTag() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/home.js", script, etag: "\"v1\"")
      let response = try await origin.fetch("/home.js", ["If-None-Match: \"v1\""])
      #expect(response.status == 304)
      #expect(response["Content-Length"] == nil)
      #expect(response["ETag"] == "\"v1\"")
      #expect(response.body.isEmpty)
    }
  }

  @Test("a range is answered with its slice")
  func range() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/home.js", script)
      let response = try await origin.fetch("/home.js", ["Range: bytes=8-10"])
      #expect(response.statusLine == "HTTP/1.1 206 Partial Content")
      #expect(response["Content-Range"] == "bytes 8-10/19")
      #expect(response["Content-Length"] == "3")
      #expect(response.text == "log")
    }
  }

  @Test("serving again replaces the bytes, and a removed path is a 404")
  func replacementAndRemoval() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/home.js", "old".utf8)
      origin.serve("/home.js", "new".utf8)
      let replaced = try await origin.fetch("/home.js")
      #expect(replaced.text == "new")
      origin.remove("/home.js")
      let removed = try await origin.fetch("/home.js")
      #expect(removed.status == 404)
    }
  }

  @Test("a path matches every query, and a path with a query only that one")
  func queries() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/home.js", "any".utf8)
      origin.serve("/home.js?v=2", "two".utf8)
      let first = try await origin.fetch("/home.js?v=1")
      let second = try await origin.fetch("/home.js?v=2")
      #expect(first.text == "any")
      #expect(second.text == "two")
      #expect(origin.requestCount(path: "/home.js") == 2)
      #expect(origin.requestCount(path: "/home.js?v=2") == 1)
    }
  }

  // MARK: Handlers

  @Test("a handler gets the request and makes the response")
  func handler() async throws {
    try await FaultOrigin.running { origin in
      origin.respond("/api") { request in
        OriginResponse(
          status: .created, headers: [.location: "/api/1"], body: "\(request.method) \(request.text)".utf8)
      }
      let response = try await origin.fetch("/api?x=1", method: "POST", body: "{\"sku\":7}")
      #expect(response.statusLine == "HTTP/1.1 201 Created")
      #expect(response["Location"] == "/api/1")
      #expect(response.text == "POST {\"sku\":7}")
    }
  }

  @Test("the longest matching prefix applies")
  func longestPrefix() async throws {
    try await FaultOrigin.running { origin in
      origin.respond("/api/*") { OriginResponse(body: "api \($0.path)".utf8) }
      origin.respond("/api/v2/*") { OriginResponse(body: "v2 \($0.path)".utf8) }
      origin.serve("/api/fixed", "fixed".utf8)
      var texts: [String] = []
      for path in ["/api/cart?id=1", "/api/v2/cart", "/api/fixed"] { texts.append(try await origin.fetch(path).text) }
      #expect(texts == ["api /api/cart?id=1", "v2 /api/v2/cart", "fixed"])
      let other = try await origin.fetch("/other")
      #expect(other.status == 404)
    }
  }

  @Test("a handler that throws makes a 500")
  func throwingHandler() async throws {
    try await FaultOrigin.running { origin in
      origin.respond("/api") { _ in throw OriginError.stopped }
      let response = try await origin.fetch("/api")
      #expect(response.status == 500)
      #expect(response.text.contains("the origin has been stopped"))
    }
  }

  @Test("a handler is cancelled when its client disconnects")
  func cancelledHandler() async throws {
    try await FaultOrigin.running { origin in
      let isCancelled = Monitor(false)
      origin.respond("/api") { _ in
        try await withTaskCancellationHandler {
          try await isCancelled.wait(within: .seconds(20)) { $0 }
        } onCancel: {
          isCancelled.change { $0 = true }
        }
        return OriginResponse()
      }
      let client = try RawClient(origin)
      client.request("/api")
      try await origin.waitForRequests(1, to: "/api")
      client.leave()
      try await isCancelled.wait(within: .seconds(10)) { $0 }
      try await origin.waitForOpenConnections(0)
      #expect(origin.completedResponses(path: "/api") == 0)
    }
  }

  // MARK: Connections

  @Test("consecutive requests share a connection")
  func persistentConnection() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a.js", "first".utf8)
      origin.serve("/b.js", "second".utf8)
      let client = try RawClient(origin)
      client.request("/a.js")
      _ = try await client.receive("first")
      client.request("/b.js")
      _ = try await client.receive("second")
      #expect(origin.connectionCount == 1)
      #expect(origin.requests.map(\.connection) == [0, 0])
      #expect(client.received.end == nil)
    }
  }

  @Test("pipelined requests are answered in order")
  func pipelining() async throws {
    try await FaultOrigin.running { origin in
      for number in 0..<20 { origin.serve("/\(number)", "<\(number)>".utf8) }
      origin.script("/0", [.delay(.milliseconds(30))])
      origin.respond("/1") { _ in OriginResponse(body: "<1>".utf8) }
      let client = try RawClient(origin)
      let requests = (0..<20).map { "GET /\($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined()
      client.write(requests.utf8)
      let text = try await client.receive("<19>").text
      #expect(text.matches(of: /<(\d+)>/).compactMap { Int($0.output.1) } == Array(0..<20))
      #expect(origin.maxConcurrentRequests == 1)
    }
  }

  @Test("the connection of an HTTP/1.0 client is closed after the response")
  func http10() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/home.js", script)
      let client = try RawClient(origin)
      client.write("GET /home.js HTTP/1.0\r\n\r\n".utf8)
      let response = try RawResponse(try await client.receiveToEnd())
      #expect(response["Connection"] == "close")
      #expect(response.body == script)
    }
  }

  @Test("an HTTP/1.0 client may request a persistent connection")
  func http10KeepAlive() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/home.js", script)
      let client = try RawClient(origin)
      client.write("GET /home.js HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".utf8)
      #expect(try await client.receive("'home')").text.contains("Connection: keep-alive\r\n"))
      client.request("/home.js")
      try await origin.waitForCompletedResponses(2)
    }
  }

  @Test("bytes that are not HTTP get a 400")
  func notHTTP() async throws {
    try await FaultOrigin.running { origin in
      let client = try RawClient(origin)
      client.write("what is this\r\n\r\n".utf8)
      let response = try RawResponse(try await client.receiveToEnd())
      #expect(response.status == 400)
      #expect(origin.requests.isEmpty)
    }
  }

  @Test("a client with Expect: 100-continue gets a 100")
  func expectContinue() async throws {
    try await FaultOrigin.running { origin in
      origin.respond("/upload") { OriginResponse(body: "\($0.bodySize) bytes".utf8) }
      let client = try RawClient(origin)
      client.write("POST /upload HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n".utf8)
      _ = try await client.receive("HTTP/1.1 100 Continue\r\n\r\n")
      client.write("body".utf8)
      _ = try await client.receive("4 bytes")
    }
  }

  @Test("a body is recorded up to the limit, and its size is the whole")
  func recordedBody() async throws {
    let origin = try await FaultOrigin.start(recordedBodyBytes: 10)
    origin.respond("/upload") { OriginResponse(body: $0.body) }
    let response = try await origin.fetch("/upload", method: "POST", body: "0123456789abcdef")
    #expect(response.text == "0123456789")
    #expect(origin.requests.first?.bodySize == 16)
    try await origin.stop()
  }

  @Test("a body is sent only as fast as its client reads")
  func backpressure() async throws {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let origin = try await FaultOrigin.start(on: group)
    let size = 64 << 20
    origin.serve("/big.bin", [UInt8](repeating: 7, count: size))
    origin.serve("/small.bin", "x".utf8)
    let client = try RawClient(origin, readsAtOnce: false)
    client.request("/big.bin", ["Connection: close"])
    try await origin.waitForRequests(1, to: "/big.bin")
    // The origin's one thread answers this while the other socket is full.
    #expect(try await origin.fetch("/small.bin").text == "x")
    #expect(origin.bytesSent(path: "/big.bin") < size / 2)
    #expect(origin.completedResponses(path: "/big.bin") == 0)

    client.startReading()
    let response = try RawResponse(try await client.receiveToEnd())
    #expect(response.body.count == size)
    #expect(origin.bytesSent(path: "/big.bin") == size)
    #expect(origin.completedResponses(path: "/big.bin") == 1)
    try await origin.stop()
    try await group.shutdownGracefully()
  }
}
