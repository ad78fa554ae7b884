import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

@testable import CurlTransport

@Suite(.timeLimit(.minutes(2)))
struct CancellationTests {
  private let transport: CurlTransport

  init() throws { transport = try CurlTransport() }

  // MARK: Cancelled tasks

  @Test("a task that is cancelled before it sends makes no request")
  func cancelledBeforeSending() async throws {
    try await FaultOrigin.running { [transport] origin in
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await transport.answer(to: origin.request("/a"))
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(origin.connectionCount == 0)
    }
  }

  @Test func aTaskThatIsCancelledWhileItWaitsForTheHeadClosesItsConnection() async throws {
    try await FaultOrigin.running { [transport] origin in
      origin.hold("/a")
      let task = Task { try await transport.answer(to: origin.request("/a")) }
      try await origin.waitForRequests(1, to: "/a")
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      try await origin.waitForOpenConnections(0)
    }
  }

  @Test func aTaskThatIsCancelledWhileItWaitsForAConnectionIsNeverSent() async throws {
    let narrow = try CurlTransport(CurlTransport.Configuration(connectionsPerHost: 1))
    try await FaultOrigin.running { origin in
      origin.hold("/held")
      async let held = narrow.answer(to: origin.request("/held"))
      try await origin.waitForRequests(1, to: "/held")
      let task = Task { try await narrow.answer(to: origin.request("/a")) }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      origin.release("/held")
      _ = try await held
      _ = try await narrow.answer(to: origin.request("/b"))
      #expect(origin.requests.map(\.path) == ["/held", "/b"])
    }
  }

  @Test func aTaskThatIsCancelledInTheBodyClosesItsConnection() async throws {
    try await FaultOrigin.running { [transport] origin in
      origin.serve("/a", SeededContent.bytes(10_000))
      origin.always("/a", .stall(afterBytes: 1000))
      let (chunks, arrived) = AsyncStream<Int>.makeStream()
      let task = Task {
        for try await chunk in try await transport.send(origin.request("/a")).body { arrived.yield(chunk.count) }
      }
      var size = 0
      for await count in chunks {
        size += count
        if size == 1000 { break }
      }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      try await origin.waitForOpenConnections(0)
    }
  }

  @Test func cancellingAfterTheEndChangesNothing() async throws {
    try await FaultOrigin.running { [transport] origin in
      // A short body can be read again.
      let content = SeededContent.bytes(200_000)
      origin.serve("/a", content)
      let task = Task {
        let response = try await transport.send(origin.request("/a"))
        var body: [UInt8] = []
        for try await chunk in response.body { body += chunk }
        withUnsafeCurrentTask { $0?.cancel() }
        var rest = response.body.makeAsyncIterator()
        return (body, try await rest.next())
      }
      let (body, rest) = try await task.value
      #expect(body == content)
      #expect(rest == nil)
      _ = try await transport.answer(to: origin.request("/a"))
      #expect(origin.connectionCount == 1)
    }
  }

  // MARK: Released transports

  @Test("a body is read to its end although its transport was released, whose connections are closed afterwards")
  func releasedInTheBody() async throws {
    let content = SeededContent.bytes(5 << 20)
    try await FaultOrigin.running { origin in
      origin.serve("/a", content)
      var own: CurlTransport? = try CurlTransport()
      var response = try await own?.send(origin.request("/a"))
      own = nil
      expectSame(try #require(try await response?.body.collect(upTo: .max)), content)
      response = nil
      try await origin.waitForOpenConnections(0)
    }
  }

  @Test("a request without a task gets its response although its transport was released")
  func releasedBeforeTheHead() async throws {
    let content = SeededContent.bytes(5 << 20)
    try await FaultOrigin.running { origin in
      origin.serve("/a", content)
      origin.hold("/a")
      let (results, receiver) = AsyncStream<Result<TransportResponse, any Error>>.makeStream()
      var own: CurlTransport? = try CurlTransport()
      let loop: EventLoopCall = { function in Task { function() } }
      let cancel = own?.begin(origin.request("/a"), on: loop) { result in
        receiver.yield(result)
        receiver.finish()
      }
      #expect(cancel != nil)
      try await origin.waitForRequests(1, to: "/a")
      own = nil
      origin.release("/a")
      for await result in results { expectSame(try await result.get().body.collect(upTo: .max), content) }
      try await origin.waitForOpenConnections(0)
    }
  }

  @Test("a request without a task to an URL that is none gets an error")
  func invalidURLWithoutTask() async throws {
    let (results, receiver) = AsyncStream<Result<TransportResponse, any Error>>.makeStream()
    let request = TransportRequest(HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil))
    let cancel = transport.begin(request, on: { function in Task { function() } }) { result in
      receiver.yield(result)
      receiver.finish()
    }
    #expect(cancel != nil)
    for await result in results { #expect(throws: TransportError.self) { try result.get() } }
  }

  @Test("cancelling one transfer does not disturb others")
  func independentTransfers() async throws {
    let content = SeededContent.bytes(1_000_000)
    try await FaultOrigin.running { [transport] origin in
      origin.serve("/b", content)
      origin.hold("/*")
      let cancelled = (0..<8).map { _ in Task { try await transport.answer(to: origin.request("/a")) } }
      let kept = Task { try await transport.answer(to: origin.request("/b")) }
      try await origin.waitForRequests(9)
      for task in cancelled { task.cancel() }
      for task in cancelled { await #expect(throws: CancellationError.self) { try await task.value } }
      origin.release("/*")
      expectSame(try await kept.value.body, content)
    }
  }

  // MARK: Unread responses

  @Test func aResponseThatIsDroppedUnreadClosesItsConnection() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", SeededContent.bytes(20 << 20))
      let status = try await transport.send(origin.request("/a")).head.status
      #expect(status == .ok)
      try await origin.waitForOpenConnections(0)
      #expect(origin.completedResponses(path: "/a") == 0)
    }
  }

  @Test func aResponseThatIsDroppedHalfReadClosesItsConnection() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", SeededContent.bytes(20 << 20))
      for try await _ in try await transport.send(origin.request("/a")).body { break }
      try await origin.waitForOpenConnections(0)
    }
  }

  @Test func aResponseThatIsDroppedMakesRoomForTheNextTransfer() async throws {
    let narrow = try CurlTransport(CurlTransport.Configuration(connectionsPerHost: 1))
    try await FaultOrigin.running { origin in
      origin.serve("/a", SeededContent.bytes(20 << 20))
      origin.serve("/b", "body".utf8)
      for _ in 0..<10 { _ = try await narrow.send(origin.request("/a")) }
      #expect(try await narrow.answer(to: origin.request("/b")).text == "body")
    }
  }

  // MARK: The end of a transport

  @Test("shutting down ends the running transfers")
  func shutDown() async throws {
    try await FaultOrigin.running { [transport] origin in
      origin.serve("/body", SeededContent.bytes(20 << 20))
      origin.hold("/head")
      let waiting = Task { try await transport.answer(to: origin.request("/head")) }
      try await origin.waitForRequests(1, to: "/head")
      let response = try await transport.send(origin.request("/body"))
      await transport.shutDown()
      await #expect(throws: TransportError.shutDown(url: origin.url(for: "/head"))) { try await waiting.value }
      await #expect(throws: TransportError.shutDown(url: origin.url(for: "/body"))) {
        for try await _ in response.body {}
      }
      try await origin.waitForOpenConnections(0)
    }
  }

  @Test("no request is sent after shutting down")
  func afterShutDown() async throws {
    try await FaultOrigin.running { origin in
      await transport.shutDown()
      for _ in 0..<3 {
        let error = try await transport.failure(of: origin.request("/a"))
        #expect(error == .shutDown(url: origin.url(for: "/a")))
      }
      await transport.shutDown()
      #expect(origin.connectionCount == 0)
    }
  }

  @Test("releasing a transport and its responses ends its transfers")
  func releasedTransport() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/*", SeededContent.bytes(20 << 20))
      for round in 0..<10 {
        var transport: CurlTransport? = try CurlTransport()
        var responses: [TransportResponse] = []
        for number in 0..<5 {
          guard let response = try await transport?.send(origin.request("/\(round)/\(number)")) else { break }
          responses.append(response)
        }
        transport = nil
        #expect(responses.count == 5)
        // Two of them have begun to be read.
        for response in responses.prefix(2) {
          for try await _ in response.body { break }
        }
        responses = []
        try await origin.waitForOpenConnections(0)
      }
      #expect(origin.completedResponses(path: "/0/0") == 0)
    }
  }

  @Test("releasing an idle transport closes its connections")
  func releasedIdleTransport() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a", "body".utf8)
      var transport: CurlTransport? = try CurlTransport()
      _ = try await transport?.answer(to: origin.request("/a"))
      #expect(origin.openConnectionCount == 1)
      transport = nil
      try await origin.waitForOpenConnections(0)
    }
  }

  @Test("a transfer that ended before its head is read reports its end")
  func endedTransfer() async throws {
    let request = TransportRequest.local(port: 1, "/a")
    let transfer = Transfer(request: request, target: .ofURL, mailbox: try CurlMailbox())
    transfer.finish(.success(()))
    await #expect(throws: TransportError.self) { try await transfer.head() }
  }
}
