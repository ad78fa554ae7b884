import CurlTransport
import HTTPTransport
import PageTesting
import Testing

@Suite(.timeLimit(.minutes(2)))
struct BackPressureTests {
  private static let size = 50 << 20

  private let transport: CurlTransport

  init() throws { transport = try CurlTransport() }

  @Test("a reader that pauses holds back only its own server")
  func pausedReader() async throws {
    try await FaultOrigin.running { origin in
      origin.serve("/big", SeededContent.bytes(Self.size))
      origin.serve("/small", SeededContent.bytes(100_000))
      let response = try await transport.send(origin.request("/big"))
      var body = response.body.makeAsyncIterator()
      #expect(try await body.next() != nil)

      for _ in 0..<20 {
        #expect(try await transport.answer(to: origin.request("/small")).body.count == 100_000)
      }
      // 256 KiB wait for the reader, 128 KiB in libcurl; the sockets' buffers hold the rest.
      #expect(origin.bytesSent(path: "/big") < Self.size / 2)
      #expect(origin.completedResponses(path: "/big") == 0)
      withExtendedLifetime(body) {}
    }
  }

  @Test("a reader that continues gets every byte")
  func continuedReader() async throws {
    let content = SeededContent.bytes(Self.size)
    try await FaultOrigin.running { origin in
      origin.serve("/big", content)
      origin.serve("/small", SeededContent.bytes(100_000))
      let response = try await transport.send(origin.request("/big"))
      var received: [UInt8] = []
      for try await chunk in response.body {
        received += chunk
        // Other tasks run now and then, so that the transfer is paused repeatedly.
        if received.count < 5 << 20 { _ = try await transport.answer(to: origin.request("/small")) }
      }
      expectSame(received, content)
    }
  }

  @Test func aPausedTransferIsNotTooSlow() async throws {
    let content = SeededContent.bytes(Self.size)
    try await FaultOrigin.running { origin in
      origin.serve("/big", content)
      origin.serve("/slow", SeededContent.bytes(2000))
      origin.always("/slow", .drip(bytesPerSecond: 1000))
      let limits = TransferLimits(lowSpeedBytesPerSecond: 5000, lowSpeedTime: .seconds(1))
      let response = try await transport.send(origin.request("/big", limits: limits))
      // Twice the limit.
      _ = try await transport.answer(to: origin.request("/slow"))
      expectSame(try await response.body.collect(upTo: .max), content)
    }
  }

  @Test("an error during a pause follows the bytes before it")
  func errorDuringPause() async throws {
    let content = SeededContent.bytes(1 << 20)
    try await FaultOrigin.running { origin in
      origin.serve("/a", content)
      origin.always("/a", .resetAfter(bytes: 200_000))
      let response = try await transport.send(origin.request("/a"))
      try await origin.waitForOpenConnections(0)
      var received: [UInt8] = []
      await #expect(throws: TransportError.self) {
        for try await chunk in response.body { received += chunk }
      }
      expectSame(received, Array(content[..<200_000]))
    }
  }

  @Test("a connection that closes during a pause loses no bytes")
  func closeDuringPause() async throws {
    let content = SeededContent.bytes(600_000)
    try await FaultOrigin.running { origin in
      origin.serve("/a", content)
      origin.always("/a", .closeDelimited())
      let response = try await transport.send(origin.request("/a"))
      try await origin.waitForCompletedResponses(1, to: "/a")
      _ = try await transport.answer(to: origin.request("/b"))
      expectSame(try await response.body.collect(upTo: .max), content)
    }
  }
}
