import CurlTransport
import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

@Suite(.timeLimit(.minutes(2)))
struct RequestStreamTests {
  private static let chunk = SeededContent.bytes(100_000)
  private let transport: CurlTransport

  init() throws { transport = try CurlTransport() }

  private func withOrigin(_ body: (FaultOrigin) async throws -> Void) async throws {
    try await FaultOrigin.running { origin in
      origin.respond("/*") { _ in OriginResponse(body: "done".utf8) }
      try await body(origin)
    }
  }

  // MARK: Content

  @Test(arguments: [HTTPRequest.Method.post, .put, .patch, .delete, .get], [Int64(700_000), nil])
  func aStreamArrivesByteForByte(method: HTTPRequest.Method, length: Int64?) async throws {
    try await withOrigin { origin in
      let producer = ChunkProducer(7, of: Self.chunk)
      let answer = try await transport.answer(to: origin.request("/a", method).streaming(producer, length: length))
      #expect(answer.text == "done")
      let request = try #require(origin.requests.first)
      #expect(request.method == method)
      #expect(request.headers[.contentLength] == length.map(String.init))
      #expect(request.headers[.transferEncoding] == (length == nil ? "chunked" : nil))
      #expect(request.headers[.expect] == nil)
      expectSame(request.body, (0..<7).flatMap { _ in Self.chunk })
    }
  }

  @Test(arguments: [Int64(0), nil])
  func aStreamMayBeEmpty(length: Int64?) async throws {
    try await withOrigin { origin in
      let request = origin.request("/a", .post).streaming(ChunkProducer { _ in nil }, length: length)
      let answer = try await transport.answer(to: request)
      #expect(answer.text == "done")
      #expect(origin.requests.map(\.bodySize) == [0])
    }
  }

  @Test("the stream's own length is sent")
  func length() async throws {
    try await withOrigin { origin in
      let fields: HTTPFields = [.contentLength: "5", .transferEncoding: "gzip"]
      let request = origin.request("/a", .post, fields: fields).streaming(ChunkProducer(1, of: [1, 2, 3]), length: 3)
      _ = try await transport.answer(to: request)
      #expect(origin.requests.first?.headers[values: .contentLength] == ["3"])
      #expect(origin.requests.first?.headers[.transferEncoding] == nil)
      #expect(origin.requests.first?.body == [1, 2, 3])
    }
  }

  @Test("a chunk is sent before the next one is available")
  func immediateChunks() async throws {
    try await withOrigin { origin in
      let producer = ChunkProducer { number in
        if number > 0 { try await origin.waitForReceivedBytes(number * 1000, to: "/a") }
        return number < 5 ? SeededContent.bytes(1000) : nil
      }
      let answer = try await transport.answer(to: origin.request("/a", .post).streaming(producer))
      #expect(answer.text == "done")
      #expect(origin.requests.map(\.bodySize) == [5000])
    }
  }

  @Test func aSlowProducerIsNotASlowServer() async throws {
    try await withOrigin { origin in
      origin.serve("/slow", SeededContent.bytes(2000))
      origin.always("/slow", .drip(bytesPerSecond: 1000))
      let limits = TransferLimits(lowSpeedBytesPerSecond: 5000, lowSpeedTime: .seconds(1))
      let producer = ChunkProducer { [transport] number in
        // Twice the limit.
        if number == 1 { _ = try await transport.answer(to: origin.request("/slow")) }
        return number < 2 ? [1] : nil
      }
      let request = origin.request("/a", .post, limits: limits).streaming(producer)
      let answer = try await transport.answer(to: request)
      #expect(answer.text == "done")
    }
  }

  @Test func trailersFollowTheLastChunk() async throws {
    try await withOrigin { origin in
      let name = try HTTPField.Name.named("X-Checksum")
      let request = origin.request("/a", .post, fields: [.trailer: "X-Checksum"])
        .streaming(ChunkProducer(3, of: Self.chunk), trailers: { [name: "17"] })
      _ = try await transport.answer(to: request)
      #expect(origin.requests.first?.bodySize == 300_000)
      #expect(origin.requests.first?.trailers == [name: "17"])
    }
  }

  // MARK: Back-pressure

  @Test("a server that does not read holds back only its own producer")
  func backPressure() async throws {
    let server = try RawServer(answering: nil)
    try await withOrigin { origin in
      let producer = ChunkProducer(500, of: Self.chunk)
      let upload = Task { [transport] in
        let limits = TransferLimits(lowSpeedTime: .seconds(300))
        return try await transport.answer(
          to: .local(port: server.port, "/a", .post, limits: limits).streaming(producer))
      }
      try await producer.record.wait(within: .seconds(20), until: { $0.asked >= 3 }) { _ in ProducerFailure() }
      for _ in 0..<100 { #expect(try await transport.answer(to: origin.request("/b")).text == "done") }
      // 256 KiB wait here, 64 KiB in libcurl; the sockets' buffers hold the rest.
      #expect(producer.asked < 100)
      upload.cancel()
      await #expect(throws: CancellationError.self) { try await upload.value }
    }
  }

  @Test("a producer is not started before there is a connection")
  func start() async throws {
    let producer = ChunkProducer(1, of: [1])
    let request = TransportRequest.local(port: 1, "/a", .post).streaming(producer)
    guard case .cannotConnect = try await transport.failure(of: request) else { throw ProducerFailure() }
    #expect(producer.asked == 0)
    #expect(request.stream?.isUsed == false)
  }

  // MARK: Early responses

  @Test("a refusal arrives while the producer waits", arguments: [413, 401, 302])
  func refusal(status: Int) async throws {
    try await withOrigin { origin in
      origin.answerHeads("/a")
      origin.always("/a", .status(status, body: "no"))
      // Not before the producer waits: an earlier refusal would have no task to cancel.
      origin.hold("/a")
      let producer = ChunkProducer { number in
        if number == 1 {
          origin.release("/a")
          try await waitForCancellation()
        }
        return Self.chunk
      }
      let answer = try await transport.answer(to: origin.request("/a", .post).streaming(producer))
      #expect(answer.head.status.code == status)
      #expect(answer.text == "no")
      try await producer.waitUntilCancelled()
      #expect(origin.requests.count == 1)
    }
  }

  @Test func aRefusalEndsTheProducerBeforeItsOwnBodyHasEnded() async throws {
    try await FaultOrigin.running { origin in
      origin.respond("/a") { _ in OriginResponse(status: .contentTooLarge, body: "no".utf8) }
      origin.answerHeads("/a")
      origin.always("/a", .stall(afterBytes: 0))
      origin.hold("/a")
      let producer = ChunkProducer { number in
        if number == 1 {
          origin.release("/a")
          try await waitForCancellation()
        }
        return Self.chunk
      }
      let limits = TransferLimits(lowSpeedTime: .seconds(60))
      let response = try await transport.send(origin.request("/a", .post, limits: limits).streaming(producer))
      #expect(response.head.status == .contentTooLarge)
      try await producer.waitUntilCancelled()
      withExtendedLifetime(response) {}
    }
  }

  @Test("a refusal ends an endless body")
  func endlessBody() async throws {
    try await withOrigin { origin in
      origin.answerHeads("/a")
      origin.always("/a", .status(413))
      let producer = ChunkProducer { _ in Self.chunk }
      let answer = try await transport.answer(to: origin.request("/a", .post).streaming(producer))
      #expect(answer.head.status == .contentTooLarge)
      try await origin.waitForOpenConnections(0)
    }
  }

  @Test("a response may arrive while the body is being sent")
  func earlyResponse() async throws {
    try await withOrigin { origin in
      origin.answerHeads("/a")
      let (heads, arrived) = AsyncStream<Int>.makeStream()
      let producer = ChunkProducer { number in
        if number == 1 { for await _ in heads { break } }
        return number < 10 ? Self.chunk : nil
      }
      let response = try await transport.send(origin.request("/a", .post).streaming(producer))
      #expect(response.head.status == .ok)
      arrived.yield(1)
      #expect(try await response.body.collect(upTo: .max) == Array("done".utf8))
      try await origin.waitForReceivedBytes(1_000_000, to: "/a")
    }
  }

  // MARK: Failures

  @Test("an error of the producer leaves the body incomplete", arguments: [Int64(200_000), 100_000, nil])
  func failedProducer(length: Int64?) async throws {
    try await withOrigin { origin in
      let producer = ChunkProducer { number in
        if number > 0 {
          try await origin.waitForReceivedBytes(99_000, to: "/a")
          throw ProducerFailure()
        }
        return Self.chunk
      }
      let error = try await transport.failure(of: origin.request("/a", .put).streaming(producer, length: length))
      #expect(error == .requestBody(url: origin.url(for: "/a"), reason: "the client has left"))
      try await origin.waitForOpenConnections(0)
      #expect(origin.requests.isEmpty)
    }
  }

  @Test(
    "a stream with another length than announced fails",
    arguments: [(Int64(250_000), "200000 of the 250000"), (150_000, "more than the 150000")])
  func wrongLength(length: Int64, reason: String) async throws {
    try await withOrigin { origin in
      let producer = ChunkProducer(2, of: Self.chunk)
      let error = try await transport.failure(of: origin.request("/a", .put).streaming(producer, length: length))
      guard case .requestBody(_, let text) = error else { throw error }
      #expect(text.contains(reason))
      try await origin.waitForOpenConnections(0)
      #expect(origin.requests.isEmpty)
    }
  }

  @Test func aReaderThatStopsEndsTheProducer() async throws {
    try await withOrigin { origin in
      origin.answerHeads("/a")
      let producer = ChunkProducer { number in
        if number == 1 { try await waitForCancellation() }
        return Self.chunk
      }
      let request = origin.request("/a", .post).streaming(producer)
      #expect(try await transport.send(request).head.status == .ok)
      try await producer.waitUntilCancelled()
      try await origin.waitForOpenConnections(0)
    }
  }

  @Test func aStreamIsSentOnlyOnce() async throws {
    try await withOrigin { origin in
      let request = origin.request("/a", .put).streaming(ChunkProducer(1, of: Self.chunk))
      _ = try await transport.answer(to: request)
      guard case .requestBody = try await transport.failure(of: request) else { throw ProducerFailure() }
      #expect(origin.requests.count == 1)
    }
  }

  @Test func aStreamIsNotRepeatedWhenAReusedConnectionCloses() async throws {
    try await withOrigin { origin in
      _ = try await transport.answer(to: origin.request("/b"))
      origin.script("/a", [.closeBeforeHead])
      let request = origin.request("/a", .put).streaming(ChunkProducer(3, of: Self.chunk))
      guard case .closedEarly = try await transport.failure(of: request) else { throw ProducerFailure() }
      #expect(origin.requests.map(\.path) == ["/b", "/a"])
    }
  }
}
