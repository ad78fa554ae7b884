import HTTPTypes
import PageTesting
import Testing

/// The records of an origin, and waiting for them.
@Suite(.timeLimit(.minutes(5)))
struct FaultOriginRecordTests {
  @Test("every request is recorded in order")
  func order() async throws {
    try await FaultOrigin.running { origin in
      let before = ContinuousClock.now
      _ = try await origin.fetch("/a.js?v=1", ["X-Token: one", "Accept: */*"])
      _ = try await origin.fetch("/b", method: "POST", body: "payload")
      let requests = origin.requests
      #expect(requests.map(\.index) == [0, 1])
      #expect(requests.map(\.method) == [.get, .post])
      #expect(requests.map(\.path) == ["/a.js?v=1", "/b"])
      #expect(requests.map(\.connection) == [0, 1])
      #expect(requests.map(\.text) == ["", "payload"])
      #expect(requests.map(\.bodySize) == [0, 7])
      let token = try #require(HTTPField.Name("x-token"))
      #expect(requests.first?.headers[token] == "one")
      #expect(requests.first?.headers[.accept] == "*/*")
      #expect(zip(requests, requests.dropFirst()).allSatisfy { $0.began <= $1.began })
      #expect(requests.allSatisfy { (before...ContinuousClock.now).contains($0.began) })
      #expect(origin.requests(to: "/a.js").count == 1)
    }
  }

  @Test("bytes and responses are counted by path")
  func countsByPath() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a.js", "12345".utf8)
      origin.script("/a.js", [.resetAfter(bytes: 2)])
      _ = try await origin.wire("/a.js")
      _ = try await origin.fetch("/a.js")
      _ = try await origin.fetch("/a.js", ["Range: bytes=3-"])
      #expect(origin.requestCount(path: "/a.js") == 3)
      #expect(origin.bytesSent(path: "/a.js") == 2 + 5 + 2)
      #expect(origin.completedResponses(path: "/a.js") == 2)
      #expect(origin.requestCount(path: "/b.js") == 0)
      #expect(origin.requestCount(path: "/*") == 3)
    }
  }

  @Test("a response that a client has received is counted")
  func receivedIsCounted() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a.js", "done".utf8)
      let client = try RawClient(origin)
      for count in 1...200 {
        client.request("/a.js")
        try await client.receive { $0.text.ranges(of: "done").count == count }
        #expect(origin.completedResponses(path: "/a.js") == count)
        #expect(origin.activeRequestCount == 0)
      }
    }
  }

  @Test("held requests count as concurrent")
  func heldRequests() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/a.js", "done".utf8)
      origin.hold("/a.js")
      let clients = try (0..<5).map { _ in try RawClient(origin) }
      for client in clients { client.request("/a.js") }
      try await origin.waitForRequests(5, to: "/a.js")
      #expect(origin.maxConcurrentRequests == 5)
      #expect(origin.activeRequestCount == 5)
      #expect(origin.completedResponses(path: "/a.js") == 0)
      origin.release("/a.js")
      try await origin.waitForCompletedResponses(5, to: "/a.js")
      for client in clients { _ = try await client.receive("done") }
      #expect(origin.activeRequestCount == 0)
      #expect(origin.connectionCount == 5)
    }
  }

  @Test("waiting for a met expectation returns at once")
  func metExpectation() async throws {
    try await FaultOrigin.running { origin in
      _ = try await origin.fetch("/a.js")
      try await origin.waitForRequests(1, to: "/a.js", within: .zero)
    }
  }

  @Test("waiting ends at the deadline with the last number")
  func deadline() async throws {
    try await FaultOrigin.running { origin in
      _ = try await origin.fetch("/a.js")
      let expected = OriginError.deadlinePassed(
        waitedFor: "2 requests to /a.js", limit: .milliseconds(20), found: 1)
      await #expect(throws: expected) {
        try await origin.waitForRequests(2, to: "/a.js", within: .milliseconds(20))
      }
    }
  }

  @Test("waiting ends when its task is cancelled")
  func cancelledWait() async throws {
    try await FaultOrigin.running { origin in
      let waiting = Task { try await origin.waitForRequests(1) }
      waiting.cancel()
      await #expect(throws: CancellationError.self) { try await waiting.value }
    }
  }
}
