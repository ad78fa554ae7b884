import PageRuntime
import PageTesting
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import WebSocketTransport

/// Web sockets against a real server.
struct WebSocketTransportTests {
  /// Runs a socket, sends the commands that the events call for, and returns all events.
  private static func events(
    _ url: String, protocols: [String] = [],
    answering: @escaping @Sendable (WebSocketEvent) -> [WebSocketCommand] = { _ in [] },
    options change: (inout WebSocketTransport.Options) -> Void = { _ in }
  ) async -> [WebSocketEvent] {
    var options = WebSocketTransport.Options()
    change(&options)
    let (commands, continuation) = AsyncStream.makeStream(of: WebSocketCommand.self)
    let events = Mutex<[WebSocketEvent]>([])
    await WebSocketTransport(options).run(
      WebSocketRequest(url: url, protocols: protocols), commands: commands
    ) { event in
      events.withLock { $0.append(event) }
      for command in answering(event) { continuation.yield(command) }
    }
    return events.withLock(\.self)
  }

  @Test("text and binary messages go both ways, and a close is answered")
  func messages() async throws {
    try await SocketServer.running { server in
      let found = await Self.events(server.url("/echo")) { event in
        switch event {
        case .opened: [.send(.text("grün")), .send(.binary([0, 255]))]
        case .message(.binary): [.close(code: 3000, reason: "enough")]
        default: []
        }
      }
      #expect(
        found == [
          .opened(protocol: ""), .message(.text("grün")), .message(.binary([0, 255])),
          .closed(code: 3000, reason: "", wasClean: true),
        ])
      #expect(server.heard.read(\.closes) == [3000])
    }
  }

  @Test("the server's choice of a subprotocol is in the event")
  func subprotocol() async throws {
    try await SocketServer.running { server in
      let found = await Self.events(server.url("/chat"), protocols: ["news", "chat"]) { event in
        if case .opened = event { [.close(code: nil, reason: "")] } else { [] }
      }
      #expect(found == [.opened(protocol: "chat"), .closed(code: 1005, reason: "", wasClean: true)])
      let refused = await Self.events(server.url("/chat"), protocols: ["news"])
      guard case .failed(let reason)? = refused.first else {
        Issue.record("\(refused)")
        return
      }
      #expect(reason.contains("the subprotocol chat, which was not asked for"))
    }
  }

  @Test("a fragmented message comes whole, and a ping is answered")
  func fragments() async throws {
    try await SocketServer.running { server in
      let found = await Self.events(server.url("/pieces")) { event in
        if case .message = event { [.close(code: 1000, reason: "")] } else { [] }
      }
      #expect(found.contains(.message(.text("one two three"))))
      #expect(server.heard.read(\.pongs) == 1)
    }
  }

  @Test("a server's close is answered with its code")
  func serverClose() async throws {
    try await SocketServer.running { server in
      let found = await Self.events(server.url("/bye"))
      #expect(found == [.opened(protocol: ""), .closed(code: 4001, reason: "done", wasClean: true)])
      try await server.wait { $0.closes == [4001] }
    }
  }

  @Test(
    "a connection that ends badly is reported as failed",
    arguments: [
      ("/drop", "ended without being closed", 0), ("/large", "limit of 1000 bytes", 1009), ("/masked", "masked", 1002),
    ])
  func badEnds(_ path: String, _ reason: String, _ code: Int) async throws {
    try await SocketServer.running { server in
      let found = await Self.events(server.url(path), options: { $0.messageLimit = 1_000 })
      guard found.count == 3, case .failed(let said) = found[1] else {
        Issue.record("\(found)")
        return
      }
      #expect(said.contains(reason))
      #expect(found[2] == .closed(code: 1006, reason: "", wasClean: false))
      if code > 0 { try await server.wait { $0.closes == [code] } }
    }
  }

  @Test("a server that does not answer a close is waited for only until the limit")
  func unansweredClose() async throws {
    try await SocketServer.running { server in
      let found = await Self.events(server.url("/deaf")) { event in
        if case .opened = event { [.close(code: 1000, reason: "")] } else { [] }
      } options: {
        $0.closeTimeout = .milliseconds(50)
      }
      #expect(found == [.opened(protocol: ""), .closed(code: 1006, reason: "", wasClean: false)])
    }
  }

  @Test("a connection that cannot be opened fails with the reason")
  func refusals() async throws {
    try await SocketServer.running { server in
      let closed = WebSocketEvent.closed(code: 1006, reason: "", wasClean: false)
      for (url, expected) in [
        (server.url("/nothing"), "the server answers 404"), ("http://127.0.0.1/", "not the URL of a web socket"),
        ("ws://127.0.0.1:1/", "no connection"),
      ] {
        let found = await Self.events(url)
        guard found.count == 2, case .failed(let said) = found[0] else {
          Issue.record("\(found)")
          continue
        }
        #expect(said.contains(expected), "\(said)")
        #expect(found[1] == closed)
      }
    }
  }

  @Test("a silent server is given up at the limit")
  func silence() async throws {
    try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      origin.script("/silent", [.stallBeforeHead])
      let url = "ws" + origin.url(for: "/silent").dropFirst(4)
      let found = await Self.events(url, options: { $0.connectTimeout = .milliseconds(200) })
      guard case .failed(let said)? = found.first else {
        Issue.record("\(found)")
        return
      }
      #expect(said.contains("was not open after 0.2 seconds"))
    }
  }

  @Test("a URL without permission is not connected to")
  func permission() async throws {
    struct Forbidden: Error, CustomStringConvertible { let description = "not there" }
    try await SocketServer.running { server in
      let found = await Self.events(server.url("/echo"), options: { $0.permission = { _ in throw Forbidden() } })
      #expect(found.first == .failed("not there"))
    }
  }

  @Test("a cancelled connection sends a close")
  func cancelling() async throws {
    try await SocketServer.running { server in
      let task = Task { await Self.events(server.url("/echo")) { _ in [.send(.text("here"))] } }
      try await server.wait { !$0.texts.isEmpty }
      task.cancel()
      try await server.wait { $0.closes == [1001] && $0.ended == 1 }
      #expect(await task.value.last == .closed(code: 1006, reason: "", wasClean: false))
    }
  }

  @Test("a server without a trusted certificate is refused")
  func trust() async throws {
    let folder = try TemporaryDirectory()
    let paths = (certificate: folder.file("server.pem"), key: folder.file("server.key"))
    try await RunningProgram(
      "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", paths.key, "-out",
        paths.certificate,
      ]
    ).succeed()
    try await SocketServer.running(certificate: paths) { server in
      @Sendable func closing(_ event: WebSocketEvent) -> [WebSocketCommand] {
        if case .opened = event { [.close(code: 1000, reason: "")] } else { [] }
      }
      let trusted = await Self.events(server.url("/echo")) {
        closing($0)
      } options: {
        $0.certificateAuthorities = paths.certificate
      }
      #expect(trusted == [.opened(protocol: ""), .closed(code: 1000, reason: "", wasClean: true)])
      let strange = await Self.events(server.url("/echo")) { closing($0) }
      guard case .failed(let said)? = strange.first else {
        Issue.record("\(strange)")
        return
      }
      #expect(said.contains("CERTIFICATE_VERIFY_FAILED"), "\(said)")
    }
  }
}
