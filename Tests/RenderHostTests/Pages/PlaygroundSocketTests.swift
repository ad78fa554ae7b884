import Foundation
import HTTPTransport
import HTTPTypes
import Hummingbird
import LivePages
import NIOCore
import PageKit
import PageTesting
import Synchronization
import TestServers
import Testing

@testable import RenderHost

/// Apps that show a bundle on a phone are told of its changes.
@Suite(.timeLimit(.minutes(2)))
struct PlaygroundSocketTests {
  /// An app, as far as its web socket goes.
  private final class App: Sendable {
    struct Heard: Sendable {
      var subprotocol: String?
      var messages: [WebSocketMessage] = []
      /// The code of the close, after the reason why there is no connection.
      var end: [String] = []
    }

    let heard = Monitor(Heard())
    private let commands: AsyncStream<WebSocketCommand>.Continuation
    private let run: Task<Void, Never>

    init(port: Int, path: String = "", protocols: [String] = ["echo-protocol"], fields: HTTPFields = [:]) async throws {
      let (stream, commands) = AsyncStream.makeStream(of: WebSocketCommand.self)
      self.commands = commands
      let request = WebSocketRequest(url: "ws://127.0.0.1:\(port)\(path)", protocols: protocols, fields: fields)
      run = Task { [heard] in
        await WebSocketTransport().run(request, commands: stream) { event in
          heard.change { heard in
            switch event {
            case .opened(let subprotocol): heard.subprotocol = subprotocol
            case .message(let message): heard.messages.append(message)
            case .failed(let reason): heard.end.append(reason)
            case .closed(let code, _, _): heard.end.append("\(code)")
            }
          }
        }
      }
      try await heard.wait(within: .seconds(60), until: { $0.subprotocol != nil || !$0.end.isEmpty })
    }

    deinit { run.cancel() }

    func send(_ message: WebSocketMessage) { commands.yield(.send(message)) }
    func close() { commands.yield(.close(code: 1000, reason: "")) }

    func wait(messages count: Int) async throws {
      try await heard.wait(within: .seconds(60), until: { $0.messages.count >= count || !$0.end.isEmpty })
    }

    func waitForEnd() async throws -> String? {
      try await heard.wait(within: .seconds(60), until: { $0.end.last.map { Int($0) != nil } ?? false })
      return heard.read { $0.end.last }
    }
  }

  /// Runs a host with the socket and a document at `/`.
  private func running(
    silence: Duration = .seconds(30), _ body: (LiveHost, EventLog) async throws -> Void
  ) async throws {
    let changes = EventLog()
    var settings = Settings()
    settings.limits.connectionsPerAddress = 200
    let host = try await LiveHost(
      settings,
      parts: { routes in
        routes.router.add(middleware: PlaygroundSocket(changes: changes, silence: silence))
        routes.router.get("/") { _, _ in
          Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(string: "a document")))
        }
        routes.router.get("/other") { _, _ in Response(status: .accepted) }
      }, adding: { _ in })
    do {
      try await body(host, changes)
    } catch {
      try? await host.stop()
      throw error
    }
    try await host.stop()
  }

  private static func request(
    _ fields: [String] = ["Sec-WebSocket-Protocol: echo-protocol"], path: String = "/"
  ) -> String {
    ([
      "GET \(path) HTTP/1.1", "Host: 192.168.1.20:8080", "Connection: Upgrade", "Upgrade: websocket",
      "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ] + fields).joined(separator: "\r\n") + "\r\n\r\n"
  }

  @Test("an app is told of each change after it has connected, and the path still has its document")
  func changes() async throws {
    try await running { host, changes in
      changes.append("saved", [])
      let apps = [
        try await App(port: host.port), try await App(port: host.port, protocols: ["chat", "echo-protocol"]),
      ]
      for app in apps { #expect(app.heard.read { $0.subprotocol == "echo-protocol" && $0.messages.isEmpty }) }
      for count in 1...3 {
        changes.append("saved", [])
        for app in apps {
          try await app.wait(messages: count)
          #expect(app.heard.read { $0.messages == Array(repeating: .text("refresh"), count: count) && $0.end.isEmpty })
        }
      }
      let document = try await ApplicationClient(port: host.port).execute(uri: "/", method: .get)
      #expect(document.status == .ok && document.text == "a document")
      // Sockets at other paths are not its own.
      let other = try RawClient(port: host.port)
      other.send(Self.request(path: "/other"))
      #expect(try await other.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 202 "))
      apps[0].close()
      #expect(try await apps[0].waitForEnd() == "1000")
    }
  }

  @Test("the messages of an app are ignored, and one that is too long or broken ends its socket")
  func messages() async throws {
    try await running { host, changes in
      let app = try await App(port: host.port)
      for _ in 0..<100 { app.send(.text(String(repeating: "x", count: PlaygroundSocket.messageLimit))) }
      app.send(.binary([0xFF]))
      changes.append("saved", [])
      try await app.wait(messages: 1)
      #expect(app.heard.read { $0.messages == [.text("refresh")] && $0.end.isEmpty })
      app.send(.text(String(repeating: "x", count: PlaygroundSocket.messageLimit + 1)))
      #expect(try await app.waitForEnd() == "1009")
      // A frame that is not masked.
      let raw = try RawClient(port: host.port)
      raw.send(Array(Self.request().utf8) + [0x81, 0x01, 0x61])
      let bytes = try await raw.bytesToEnd()
      #expect(String(decoding: bytes, as: UTF8.self).contains("\r\nSec-WebSocket-Protocol: echo-protocol\r\n"))
      #expect(bytes.suffix(4) == [0x88, 0x02, 0x03, 0xEA])
    }
  }

  @Test("requests that are not an app's are refused with a sentence")
  func refusals() async throws {
    try await running { host, _ in
      let offer = "Sec-WebSocket-Protocol: echo-protocol"
      let agreement = "\r\nSec-WebSocket-Protocol: echo-protocol\r\n"
      for (fields, status, sentence) in [
        ([], 400, "must be echo-protocol, and the request offers none"),
        (["Sec-WebSocket-Protocol: chat, echo"], 400, #"offers \"chat, echo\""#),
        ([offer, "Origin: https://evil.example"], 403, "a page of https://evil.example may not"),
        ([offer, "Origin: null"], 403, "a page of null may not"),
        ([offer, "Origin: "], 403, "may not"), ([offer, "Origin: http://192.168.1.20:8080"], 101, agreement),
        // As SocketRocket, the library of the app for iOS, writes it.
        ([offer, "Origin: http://192.168.1.20:8080/"], 101, agreement), ([offer], 101, agreement),
        (["sec-websocket-protocol: chat,echo-protocol"], 101, agreement),
      ] as [([String], Int, String)] {
        let client = try RawClient(port: host.port)
        client.send(Self.request(fields))
        let answer = try await status == 101 ? client.read(until: "\r\n\r\n") : client.readToEnd()
        #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.contains(sentence), "\(fields): \(answer)")
      }
    }
  }

  @Test("64 apps connect at once, and the next is refused until one has gone")
  func socketLimit() async throws {
    try await running { host, changes in
      var apps: [App] = []
      for _ in 0..<PlaygroundSocket.socketLimit { apps.append(try await App(port: host.port)) }
      let refused = try await App(port: host.port)
      #expect(refused.heard.read { $0.subprotocol == nil && $0.end.first?.contains("503") == true })
      changes.append("saved", [])
      for app in apps {
        try await app.wait(messages: 1)
        #expect(app.heard.read { $0.messages.count == 1 })
      }
      let gone = apps.removeLast()
      gone.close()
      _ = try await gone.waitForEnd()
      let deadline = ContinuousClock.now + .seconds(30)
      while try await App(port: host.port).heard.read({ $0.subprotocol == nil }) {
        try #require(ContinuousClock.now < deadline, "no place became free")
      }
    }
  }

  @Test("a socket ends with the server, by a close that says so")
  func shutdown() async throws {
    try await running { host, _ in
      let app = try await App(port: host.port)
      await host.beginStopping()
      #expect(try await app.waitForEnd() == "1001")
    }
  }

  @Test("an app that does not answer three pings is gone")
  func silence() async throws {
    try await running(silence: .milliseconds(20)) { host, _ in
      let client = try RawClient(port: host.port)
      client.send(Self.request())
      let answer = try ApplicationClient.Answer(try await client.bytesToEnd())
      #expect(answer.status.code == 101 && answer.body == [0x89, 0x00, 0x89, 0x00, 0x89, 0x00])
    }
  }

  private static func first<Element>(of stream: AsyncStream<Element>) async -> Element? {
    for await element in stream { return element }
    return nil
  }

  @Test("an app that answers pings stays")
  func answers() async throws {
    let socket = PlaygroundSocket(changes: EventLog(), silence: .milliseconds(100))
    let (pongs, pong) = AsyncStream.makeStream(of: ByteBuffer.self)
    let pings = Mutex(0)
    try await socket.run(from: { await Self.first(of: pongs) }, after: 0) { bytes in
      #expect(bytes == ByteBuffer(bytes: [0x89, 0x00]))
      let count = pings.withLock { pings in
        pings += 1
        return pings
      }
      if count < 8 { pong.yield(ByteBuffer(bytes: [0x8A, 0x80, 0, 0, 0, 0])) } else { pong.finish() }
    }
    #expect(pings.withLock(\.self) >= 8)
  }

  @Test("an app that does not read is told of many changes by few messages")
  func slowReader() async throws {
    let changes = EventLog()
    let socket = PlaygroundSocket(changes: changes)
    let (reads, read) = AsyncStream.makeStream(of: Void.self)
    let nothing = AsyncStream<ByteBuffer> { _ in }
    let writes = Monitor<[ByteBuffer]>([])
    let run = Task {
      try await socket.run(from: { await Self.first(of: nothing) }, after: 0) { bytes in
        writes.change { $0.append(bytes) }
        _ = await Self.first(of: reads)
      }
    }
    changes.append("saved", [])
    try await writes.wait(within: .seconds(60), until: { $0.count == 1 })
    for _ in 0..<900 { changes.append("saved", []) }
    changes.end()
    read.finish()
    try await run.value
    // The one under way, one that waits, one for all others, and the close.
    #expect(writes.read { (3...4).contains($0.count) && $0.last == ByteBuffer(bytes: [0x88, 0x02, 0x03, 0xE9]) })
  }

  @Test("the URL to scan names the bundle and the port of the web socket, each once")
  func links() {
    let page = "http://192.168.1.20:8080/live/home"
    for (page, bundle, port, link) in [
      (
        page, "http://192.168.1.20:8080/bundles/home.js", 8080,
        "\(page)?wsport=8080&_wx_tpl=http://192.168.1.20:8080/bundles/home.js"
      ),
      (
        page + "?a=1", "http://h/b.js?x=1&wsport=9#z", 1,
        "\(page)?a=1&wsport=1&_wx_tpl=http://h/b.js?x%3D1%26wsport%3D9%23z"
      ),
      ("http://h/", "http://h/a%20b+c/é.js", 65_535, "http://h/?wsport=65535&_wx_tpl=http://h/a%2520b%2Bc/%C3%A9.js"),
    ] {
      #expect(PlaygroundSocket.link(for: page, bundle: bundle, port: port) == link)
      let query = URLComponents(string: link)?.queryItems ?? []
      #expect(query.last { $0.name == "_wx_tpl" }?.value == bundle && query.filter { $0.name == "wsport" }.count == 1)
    }
  }
}
