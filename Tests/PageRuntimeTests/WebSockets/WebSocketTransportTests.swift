import Foundation
import NIOPosix
import PageTesting
import Synchronization
import TestServers
import Testing

@testable import PageRuntime

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

  // MARK: TLS

  /// A server's certificate, its key and the authority that issued it, in files.
  private struct SecureFiles {
    let folder: TemporaryDirectory
    let server: (certificate: String, key: String)
    var authority: String { folder.file("authority.pem") }

    init(names: String = "IP:127.0.0.1", signsItself: Bool = false, days: ClosedRange<Int> = -1...1) throws {
      folder = try TemporaryDirectory()
      server = (folder.file("server.pem"), folder.file("server.key"))
      let authority = try Certificate(names: nil)
      let certificate = try Certificate(names: names, issuer: signsItself ? nil : authority, days: days)
      try authority.write(to: self.authority)
      try certificate.write(to: server.certificate)
      try certificate.writeKey(to: server.key)
    }
  }

  @Sendable private static func closing(_ event: WebSocketEvent) -> [WebSocketCommand] {
    if case .opened = event { [.close(code: 1000, reason: "")] } else { [] }
  }

  @Test("a server whose certificate is for its host, from a trusted authority, is talked to")
  func trust() async throws {
    for names in ["IP:127.0.0.1", "DNS:localhost"] {
      let files = try SecureFiles(names: names)
      try await SocketServer.running(certificate: files.server) { server in
        let host = names == "DNS:localhost" ? "localhost" : "127.0.0.1"
        let found = await Self.events("wss://\(host):\(server.port)/echo", answering: Self.closing) {
          $0.certificateAuthorities = files.authority
        }
        #expect(found == [.opened(protocol: ""), .closed(code: 1000, reason: "", wasClean: true)], "\(found)")
      }
    }
  }

  @Test("a server whose certificate is not valid for its host is refused, with the reason")
  func refusedCertificates() async throws {
    for (files, isTrusted, reason) in [
      (try SecureFiles(), false, "unable to get local issuer certificate"),
      (try SecureFiles(signsItself: true), true, "self-signed certificate"),
      (try SecureFiles(days: -3...(-2)), true, "certificate has expired"),
      (try SecureFiles(names: "IP:127.0.0.2"), true, "IP address mismatch"),
      (try SecureFiles(names: "DNS:example.com"), true, "IP address mismatch"),
    ] {
      try await SocketServer.running(certificate: files.server) { server in
        let found = await Self.events(server.url("/echo"), answering: Self.closing) {
          $0.certificateAuthorities = isTrusted ? files.authority : nil
        }
        #expect(
          found == [
            .failed(
              "\(server.url("/echo")): no connection: the certificate of 127.0.0.1 is refused: \(reason)"),
            .closed(code: 1006, reason: "", wasClean: false),
          ], "\(found)")
      }
    }
  }

  @Test("a certificate for another name is refused")
  func wrongName() async throws {
    let files = try SecureFiles(names: "IP:127.0.0.1, DNS:example.com")
    try await SocketServer.running(certificate: files.server) { server in
      let found = await Self.events("wss://localhost:\(server.port)/echo", answering: Self.closing) {
        $0.certificateAuthorities = files.authority
      }
      guard case .failed(let said)? = found.first else {
        Issue.record("\(found)")
        return
      }
      #expect(said.contains("the certificate of localhost is refused: hostname mismatch"), "\(said)")
    }
  }

  @Test("a file of authorities that is not there fails the connection")
  func missingAuthorities() async throws {
    let found = await Self.events("wss://127.0.0.1:1/") { _ in
      []
    } options: {
      $0.certificateAuthorities = "/nowhere.pem"
    }
    guard case .failed(let said)? = found.first else {
      Issue.record("\(found)")
      return
    }
    #expect(said.contains("/nowhere.pem: the certificate authorities cannot be read: No such file"), "\(said)")
  }

  @Test("no event loop waits while the file of authorities is read")
  func slowAuthorities() async throws {
    let folder = try TemporaryDirectory()
    let pipe = folder.file("ca.pem")
    #expect(mkfifo(pipe, 0o600) == 0)
    let files = try SecureFiles()
    try await SocketServer.running(certificate: files.server) { server in
      async let found = Self.events(server.url("/echo"), answering: Self.closing) { $0.certificateAuthorities = pipe }
      // Can be opened once it is being read; the reader then waits until it is closed.
      var writer: CInt = -1
      try await eventually("the file is read") {
        writer = open(pipe, O_WRONLY | O_NONBLOCK)
        return writer >= 0
      }
      let running = Mutex(0)
      var count = 0
      for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
        count += 1
        loop.execute { running.withLock { $0 += 1 } }
      }
      let expected = count
      await #expect(throws: Never.self) {
        try await eventually("every event loop runs", within: .seconds(10)) { running.withLock { $0 == expected } }
      }
      close(writer)
      guard case .failed(let said)? = await found.first else {
        Issue.record("an empty file of authorities is accepted")
        return
      }
      #expect(said.contains("the certificate authorities cannot be read"), "\(said)")
    }
  }

  @Test(
    "a server that does not speak TLS, or ends the connection, is refused",
    arguments: [
      (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), false, "TLS with 127.0.0.1 failed: "),
      (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), true, "TLS with 127.0.0.1 failed: "),
      ([0x16, 3, 3, 0, 100, 2, 0, 0, 96, 3, 3], true, "127.0.0.1 ended the connection during the TLS handshake"),
      ([], true, "127.0.0.1 ended the connection during the TLS handshake"),
    ])
  func garbage(_ bytes: [UInt8], _ closes: Bool, _ reason: String) async throws {
    try await RawOrigin.running({ _ in (bytes, closes) }) { server in
      let found = await Self.events("wss://127.0.0.1:\(server.port)/")
      guard case .failed(let said)? = found.first else {
        Issue.record("\(found)")
        return
      }
      #expect(said.contains(reason), "\(said)")
      #expect(found.last == .closed(code: 1006, reason: "", wasClean: false))
    }
  }

  @Test("a server that is silent during the handshake is given up at the limit")
  func silentHandshake() async throws {
    try await RawOrigin.running({ _ in nil }) { server in
      let found = await Self.events(
        "wss://127.0.0.1:\(server.port)/", options: { $0.connectTimeout = .milliseconds(200) })
      guard case .failed(let said)? = found.first else {
        Issue.record("\(found)")
        return
      }
      #expect(said.contains("was not open after 0.2 seconds"), "\(said)")
      try await server.wait { $0.first?.hasEnded == true }
    }
  }

  @Test("a large message and many small ones go both ways over TLS, in order")
  func sizes() async throws {
    let files = try SecureFiles()
    // The server makes a text of it: letters are quick.
    let large = (0..<(5 << 20)).map { UInt8(ascii: "a") + UInt8($0 / 3 % 26) }
    let count = 5_000
    try await SocketServer.running(certificate: files.server) { server in
      let found = await Self.events(server.url("/echo")) { event in
        switch event {
        case .opened: (0..<count).map { .send(.text("\($0)")) } + [.send(.binary(large))]
        case .message(.binary): [.close(code: 1000, reason: "")]
        default: []
        }
      } options: {
        $0.certificateAuthorities = files.authority
      }
      let expected: [WebSocketEvent] =
        [.opened(protocol: "")] + (0..<count).map { .message(.text("\($0)")) } + [
          .message(.binary(large)), .closed(code: 1000, reason: "", wasClean: true),
        ]
      let isSame = found == expected
      #expect(isSame, "\(found.count) events")
    }
  }

  @Test("a connection over TLS that ends, or sends too much, is reported as failed")
  func badEndsOverTLS() async throws {
    let files = try SecureFiles()
    for (path, reason) in [("/drop", "ended without being closed"), ("/large", "limit of 1000 bytes")] {
      try await SocketServer.running(certificate: files.server) { server in
        let found = await Self.events(server.url(path)) { _ in
          []
        } options: {
          $0.certificateAuthorities = files.authority
          $0.messageLimit = 1_000
        }
        guard found.count == 3, case .failed(let said) = found[1] else {
          Issue.record("\(found)")
          return
        }
        #expect(said.contains(reason), "\(said)")
      }
    }
  }

  @Test("a connection over TLS that is cut in the middle of a message is reported as failed")
  func cutMessage() async throws {
    let files = try SecureFiles()
    try await SocketServer.running(certificate: files.server) { server in
      try await TCPRelay.running(to: server.port) { relay in
        let talk = Task {
          await Self.events("wss://127.0.0.1:\(relay.port)/echo") { event in
            if case .opened = event { [.send(.text("here"))] } else { [] }
          } options: {
            $0.certificateAuthorities = files.authority
          }
        }
        try await server.wait { !$0.texts.isEmpty }
        relay.cut()
        let found = await talk.value
        #expect(found.last == .closed(code: 1006, reason: "", wasClean: false))
        guard case .failed(let said)? = found.dropLast().last else {
          Issue.record("\(found)")
          return
        }
        #expect(said.contains("ended without being closed"), "\(said)")
      }
    }
  }

  @Test("a cancelled connection over TLS sends a close")
  func cancellingOverTLS() async throws {
    let files = try SecureFiles()
    try await SocketServer.running(certificate: files.server) { server in
      let task = Task {
        await Self.events(server.url("/echo")) { _ in
          [.send(.text("here"))]
        } options: {
          $0.certificateAuthorities = files.authority
        }
      }
      try await server.wait { !$0.texts.isEmpty }
      task.cancel()
      try await server.wait { $0.closes == [1001] && $0.ended == 1 }
      #expect(await task.value.last == .closed(code: 1006, reason: "", wasClean: false))
    }
  }
}
