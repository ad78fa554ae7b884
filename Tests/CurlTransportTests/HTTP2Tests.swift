import CurlTransport
import HTTPTransport
import HTTPTypes
import PageTesting
import TestServers
import Testing

@Suite(.enabled(if: NginxServer.isInstalled, "nginx is not installed"), .timeLimit(.minutes(2)))
struct HTTP2Tests {
  private static func transport(to server: NginxServer) throws -> CurlTransport {
    try CurlTransport(CurlTransport.Configuration(certificateAuthorities: server.certificateAuthority))
  }

  @Test func sixtyTransfersAtOnceShareOneConnection() async throws {
    let content = SeededContent.bytes(100_000)
    try await NginxServer.running(serving: ["a": content]) { server in
      let transport = try Self.transport(to: server)
      try await withThrowingTaskGroup(of: Answer.self) { group in
        for _ in 0..<60 { group.addTask { try await transport.answer(to: server.request("/a")) } }
        for try await answer in group {
          expectSame(answer.body, content)
          #expect(answer.summary.httpVersion == "2")
        }
      }
      let accesses = try await server.accesses(60)
      #expect(accesses.count == 60)
      #expect(Set(accesses.map { $0[0] }).count == 1)
      #expect(Set(accesses.map { $0[1] }) == ["HTTP/2.0"])
    }
  }

  @Test("a server with only HTTP/1.1 gets several connections")
  func http1Connections() async throws {
    let big = SeededContent.bytes(20 << 20)
    try await NginxServer.running(serving: ["big": big], isHTTP2: false) { server in
      let transport = try Self.transport(to: server)
      let first = try await transport.send(server.request("/big"))
      let second = try await transport.answer(to: server.request("/big"))
      expectSame(second.body, big)
      #expect(second.summary.httpVersion == "1.1")
      #expect(try await first.body.collect(upTo: .max).count == big.count)
    }
  }

  @Test("an HTTP/1.1 connection is reused")
  func http1Reuse() async throws {
    try await NginxServer.running(serving: ["a": [1]], isHTTP2: false) { server in
      let transport = try Self.transport(to: server)
      for _ in 0..<5 { #expect(try await transport.answer(to: server.request("/a")).body == [1]) }
      #expect(Set(try await server.accesses(5).map { $0[0] }).count == 1)
    }
  }

  @Test(arguments: [1000, 100_000])
  func theBytesOfAnUploadAreCountedOnce(size: Int) async throws {
    try await NginxServer.running(serving: ["a": [1]]) { server in
      var request = server.request("/a")
      request.head.method = .put
      request.body = SeededContent.bytes(size)
      let answer = try await Self.transport(to: server).answer(to: request)
      #expect(answer.head.status == .noContent)
      #expect((Int64(size)..<Int64(size + 1000)).contains(answer.summary.bytesSent))
    }
  }

  @Test func aCertificateOfAnUnknownAuthorityIsRefused() async throws {
    try await NginxServer.running(serving: ["a": [1]]) { server in
      let request = server.request("/a")
      let error = try await CurlTransport().failure(of: request)
      guard case .insecure(request.url, _) = error else {
        Issue.record(error)
        return
      }
      #expect(try await server.accesses(0).isEmpty)
    }
  }

  @Test func aCertificateForAnotherNameIsRefused() async throws {
    try await NginxServer.running(serving: ["a": [1]]) { server in
      var request = server.request("/a")
      request.head.authority = "localhost:\(server.port)"
      let error = try await Self.transport(to: server).failure(of: request)
      guard case .insecure(request.url, _) = error else {
        Issue.record(error)
        return
      }
    }
  }

  @Test("the timings contain the end of the TLS handshake")
  func handshakeTime() async throws {
    try await NginxServer.running(serving: ["a": [1]]) { server in
      let timings = try await Self.transport(to: server).answer(to: server.request("/a")).summary
      #expect(timings.connected < timings.secured)
      #expect(timings.secured <= timings.firstByte)
    }
  }

  @Test("an unread body does not stall other transfers")
  func unreadBody() async throws {
    let big = SeededContent.bytes(5 << 20)
    let small = SeededContent.bytes(100_000, seed: 2)
    try await NginxServer.running(serving: ["big": big, "small": small]) { server in
      let transport = try Self.transport(to: server)
      let unread = try await transport.send(server.request("/big"))
      for _ in 0..<20 { expectSame(try await transport.answer(to: server.request("/small")).body, small) }
      expectSame(try await unread.body.collect(upTo: .max), big)
      #expect(Set(try await server.accesses(21).map { $0[0] }).count == 1)
    }
  }

  @Test("a dropped stream leaves no bytes to the next one")
  func droppedStream() async throws {
    // Seen once in some hundreds of runs on a busy machine: github.com/curl/curl/issues/10988.
    try await withKnownIssue("libcurl 7.88 can leave a connection with paused streams stuck", isIntermittent: true) {
      let first = SeededContent.bytes(5 << 20)
      let second = SeededContent.bytes(5 << 20, seed: 2)
      try await NginxServer.running(serving: ["first": first, "second": second, "small": [1]]) { server in
        let transport = try Self.transport(to: server)
        // The connection is in use while the body is unread.
        let unread = try await transport.send(server.request("/first"))
        for _ in 0..<10 {
          var dropped: TransportResponse? = try await transport.send(server.request("/first"))
          for _ in 0..<5 { _ = try await transport.answer(to: server.request("/small")) }
          #expect(dropped != nil)
          dropped = nil
          let response = try await transport.send(server.request("/second"))
          for _ in 0..<5 { _ = try await transport.answer(to: server.request("/small")) }
          expectSame(try await response.body.collect(upTo: .max), second)
        }
        expectSame(try await unread.body.collect(upTo: .max), first)
      }
    } matching: {
      if case TransportError.tooSlow? = $0.error { true } else { false }
    }
  }

  @Test("dropped streams leave the connection to the others")
  func droppedStreams() async throws {
    let big = SeededContent.bytes(5 << 20)
    try await NginxServer.running(serving: ["big": big]) { server in
      let transport = try Self.transport(to: server)
      async let kept = transport.answer(to: server.request("/big"))
      for _ in 0..<5 { #expect(try await transport.send(server.request("/big")).head.status == .ok) }
      expectSame(try await kept.body, big)
      // libcurl 7.88 informs the server of a dropped stream when it uses the connection again.
      expectSame(try await transport.answer(to: server.request("/big")).body, big)
      let accesses = try await server.accesses(7)
      #expect(accesses.count == 7)
      #expect(Set(accesses.map { $0[0] }).count == 1)
    }
  }
}
