import Foundation
import PageTesting
import Testing

/// Starting, stopping, refusing connections, and holding responses.
@Suite(.timeLimit(.minutes(5)))
struct FaultOriginLifecycleTests {
  private static let refused = RawClient.ConnectError(code: 111)

  @Test("a URL contains the port")
  func url() async throws {
    try await FaultOrigin.running { origin in
      #expect(origin.port > 0)
      #expect(origin.url(for: "/home.js") == "http://127.0.0.1:\(origin.port)/home.js")
    }
  }

  @Test("a port in use is an error that names the port")
  func takenPort() async throws {
    try await FaultOrigin.running { origin in
      let error = try await #require(throws: OriginError.self) {
        _ = try await FaultOrigin.start(port: origin.port)
      }
      #expect(error.description.hasPrefix("cannot listen on 127.0.0.1:\(origin.port): "))
    }
  }

  @Test("a stopped origin releases its port")
  func portAfterStop() async throws {
    let origin = try await FaultOrigin.start()
    let client = try RawClient(origin)
    try await origin.stop()
    #expect(try await client.receiveToEnd().bytes.isEmpty)
    #expect(throws: Self.refused) { _ = try RawClient(origin) }
    try await origin.stop()
    await #expect(throws: OriginError.stopped) { try await origin.waitForRequests(1) }
    await #expect(throws: OriginError.stopped) { try await origin.refuseConnections() }
    await #expect(throws: OriginError.stopped) { try await origin.acceptConnections() }
  }

  @Test("stop() ends pending waits")
  func stopEndsWaits() async throws {
    let origin = try await FaultOrigin.start()
    let waiting = Task { try await origin.waitForRequests(1) }
    try await origin.stop()
    await #expect(throws: OriginError.stopped) { try await waiting.value }
  }

  @Test("an origin with held responses can be stopped")
  func stopWhileHeld() async throws {
    let origin = try await FaultOrigin.start()
    origin.hold("/*")
    let client = try RawClient(origin)
    client.request("/a.js")
    try await origin.waitForRequests(1)
    try await origin.stop()
    _ = try await client.receiveToEnd()
    #expect(origin.openConnectionCount == 0)
  }

  @Test("refused connections are accepted again on the same port")
  func refusedConnections() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/home.js", "back".utf8)
      let port = origin.port
      for _ in 0..<3 {
        let open = try RawClient(origin)
        open.request("/home.js")
        _ = try await open.receive("back")
        try await origin.refuseConnections()
        #expect(try await open.receiveToEnd().end != nil)
        #expect(throws: Self.refused) { _ = try RawClient(origin) }
        try await origin.acceptConnections()
        #expect(origin.port == port)
        #expect(try await origin.fetch("/home.js").text == "back")
      }
    }
  }

  @Test("a process that is being started, and so has copies of all descriptors, does not keep the port")
  func copiedDescriptors() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/home.js", "back".utf8)
      // Copies as a child has them before it becomes its program.
      let copies = (0..<Int32(1024)).filter { Self.port(of: $0) == origin.port }.map { dup($0) }
      defer { for copy in copies { close(copy) } }
      #expect(copies.count >= 2)
      try await origin.refuseConnections()
      #expect(throws: Self.refused) { _ = try RawClient(origin) }
      try await origin.acceptConnections()
      #expect(try await origin.fetch("/home.js").text == "back")
    }
  }

  /// The local port of a socket; `nil` for other descriptors.
  private static func port(of descriptor: Int32) -> Int? {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isNamed = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) == 0 }
    }
    return isNamed ? Int(UInt16(bigEndian: address.sin_port)) : nil
  }

  @Test("refusing twice or accepting twice is not an error")
  func repeatedCalls() async throws {
    try await FaultOrigin.running { origin in
      try await origin.acceptConnections()
      try await origin.refuseConnections()
      try await origin.refuseConnections()
      try await origin.acceptConnections()
      try await origin.acceptConnections()
      #expect(try await origin.fetch("/").status == 404)
    }
  }

  // MARK: Holding

  @Test("a held response has the content of the time of its request")
  func heldContent() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/home.js", "old".utf8)
      origin.hold("/home.js")
      let client = try RawClient(origin)
      client.request("/home.js")
      try await origin.waitForRequests(1)
      origin.serve("/home.js", "new".utf8)
      origin.release("/home.js")
      #expect(try await client.receive("old").text.hasSuffix("old"))
      #expect(try await origin.fetch("/home.js").text == "new")
    }
  }

  @Test("holding one path does not hold others")
  func heldPath() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/b.js", "passed".utf8)
      origin.hold("/a.js")
      let held = try RawClient(origin)
      held.request("/a.js")
      try await origin.waitForRequests(1, to: "/a.js")
      #expect(try await origin.fetch("/b.js").text == "passed")
      #expect(held.received.bytes.isEmpty)
    }
  }

  @Test("a held request ends when its client disconnects")
  func heldDisconnect() async throws {
    try await FaultOrigin.running { origin in
      origin.hold("/a.js")
      let client = try RawClient(origin)
      client.request("/a.js")
      try await origin.waitForRequests(1)
      client.leave()
      try await origin.waitForOpenConnections(0)
      origin.release("/a.js")
      #expect(origin.activeRequestCount == 0)
      #expect(origin.completedResponses(path: "/a.js") == 0)
    }
  }

  // MARK: Baseline

  @Test("the baseline may hold all responses")
  func baselineHold() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a.js", "done".utf8)
      origin.baseline.holdsResponses = true
      let client = try RawClient(origin)
      client.request("/a.js")
      try await origin.waitForRequests(1)
      #expect(client.received.bytes.isEmpty)
      origin.baseline.holdsResponses = false
      _ = try await client.receive("done")
    }
  }

  @Test("the latency precedes every head")
  func latency() async throws {
    try await FaultOrigin.running { origin in
      origin.baseline.latency = .milliseconds(30)
      let start = ContinuousClock.now
      _ = try await origin.fetch("/a.js")
      _ = try await origin.fetch("/a.js")
      #expect(start.duration(to: .now) >= .milliseconds(60))
    }
  }

  @Test("the speed is limited on each connection")
  func bandwidth() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a.js", [UInt8](repeating: 65, count: 100_000))
      origin.baseline.bytesPerSecond = 1_000_000
      let start = ContinuousClock.now
      async let first = origin.fetch("/a.js")
      async let second = origin.fetch("/a.js")
      let size = try await first.body.count + second.body.count
      #expect(size == 200_000)
      let elapsed = start.duration(to: .now)
      #expect(elapsed >= .milliseconds(75))
    }
  }

  // MARK: Threads

  @Test("static content is served while Swift's threads are busy")
  func busyThreads() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a.js", "done".utf8)
      origin.script("/a.js", [.delay(.milliseconds(5))])
      let client = try RawClient(origin)
      let answered = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        client.request("/a.js")
        while !client.received.text.hasSuffix("done") { sched_yield() }
        answered.signal()
      }
      #expect(blockThePool(until: answered) == .success)
    }
  }

  /// Occupies every thread of the pool, including the caller's.
  private func blockThePool(until answered: DispatchSemaphore) -> DispatchTimeoutResult {
    let over = DispatchSemaphore(value: 0)
    let count = ProcessInfo.processInfo.activeProcessorCount
    for _ in 0..<count {
      Task.detached { Self.block(until: over) }
    }
    defer { for _ in 0..<count { over.signal() } }
    return answered.wait(timeout: .now() + 10)
  }

  private static func block(until over: DispatchSemaphore) {
    _ = over.wait(timeout: .now() + 20)
  }
}
