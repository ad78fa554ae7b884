import CurlTransport
import HTTPTransport
import PageTesting
import Testing

@Suite(.timeLimit(.minutes(2)))
struct ConcurrencyTests {
  private let transport: CurlTransport

  init() throws { transport = try CurlTransport() }

  @Test("200 simultaneous transfers get their own responses")
  func simultaneousTransfers() async throws {
    try await FaultOrigin.running { [transport] origin in
      let contents = (0..<200).map { SeededContent.bytes(1 + $0 * 1000, seed: UInt64($0)) }
      for (number, content) in contents.enumerated() { origin.serve("/\(number)", content) }
      try await withThrowingTaskGroup(of: (Int, [UInt8]).self) { group in
        for number in contents.indices {
          group.addTask { (number, try await transport.answer(to: origin.request("/\(number)")).body) }
        }
        for try await (number, body) in group { expectSame(body, contents[number]) }
      }
      #expect(origin.requests.count == 200)
    }
  }

  @Test func noMoreConnectionsAreOpenThanAllowed() async throws {
    let narrow = try CurlTransport(CurlTransport.Configuration(connectionsPerHost: 3))
    try await FaultOrigin.running { origin in
      origin.serve("/a", SeededContent.bytes(1000))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<30 { group.addTask { _ = try await narrow.answer(to: origin.request("/a")) } }
        try await group.waitForAll()
      }
      #expect(origin.connectionCount <= 3)
      #expect(origin.completedResponses(path: "/a") == 30)
    }
  }

  @Test func aThousandRequestsOneAfterTheOtherUseOneConnection() async throws {
    try await FaultOrigin.running { origin in
      origin.respond("/*") { OriginResponse(body: $0.path.utf8) }
      for number in 0..<1000 {
        let answer = try await transport.answer(to: origin.request("/\(number)"))
        #expect(answer.text == "/\(number)")
      }
      #expect(origin.connectionCount == 1)
    }
  }

  @Test func transportsAreIndependentOfOneAnother() async throws {
    let other = try CurlTransport()
    try await FaultOrigin.running { origin in
      origin.serve("/a", "body".utf8)
      _ = try await other.answer(to: origin.request("/a"))
      await other.shutDown()
      #expect(try await transport.answer(to: origin.request("/a")).text == "body")
    }
  }
}
