import PageTesting
import ScriptEngine
import TestServers
import Testing

@testable import PageRuntime

/// The module `webSocket`, against a real server.
@Suite(.timeLimit(.minutes(5))) struct WebSocketModuleTests {
  /// The two ways in which scripts name their listeners.
  enum Form: CaseIterable {
    case called, assigned

    func listen(_ event: String, _ body: String) -> String {
      let function = "function (e) { \(body) }"
      return self == .called ? "socket.\(event)(\(function))" : "socket.\(event) = \(function)"
    }
  }

  private static func script(_ url: String, _ form: Form, whenOpen: String = "") -> String {
    let heard = """
      say(typeof e.data === 'object' ? Array.from(new Uint8Array(e.data)) : e.data)
      if (e.data === 'last') socket.close(3001, 'done')
      """
    return """
      var socket = module('webSocket')
      socket.WebSocket('\(url)', '')
      \(form.listen("onopen", "say(Object.keys(e).length === 0 ? 'open' : e); \(whenOpen)"))
      \(form.listen("onmessage", heard))
      \(form.listen("onerror", "say(typeof e.data)"))
      \(form.listen("onclose", "say([e.code, e.reason, e.wasClean])"))
      """
  }

  @Test("text and binary messages go both ways", arguments: Form.allCases)
  func messages(_ form: Form) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      try await SocketServer.running { server in
        let send = "socket.send('a'); socket.send(new Uint8Array([1, 255]).buffer); socket.send('last')"
        let page = try await fixture.speakingPage(Self.script(server.url("/echo"), form, whenOpen: send))
        await page.waitUntilShown(#"["open","a",[1,255],"last",[3001,"",true]]"#)
        await page.destroy()
      }
    }
  }

  @Test("listeners that are named before the connection, or for an earlier one, hear it")
  func earlyListeners() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      try await SocketServer.running { server in
        let page = try await fixture.speakingPage(
          """
          var socket = module('webSocket'), times = 0
          socket.onopen = function () {
            say('open')
            times += 1
            if (times === 1) socket.WebSocket('\(server.url("/echo"))', '')
          }
          socket.WebSocket('\(server.url("/echo"))', '')
          """)
        await page.waitUntilShown(#"["open","open"]"#)
        await page.destroy()
      }
    }
  }

  @Test("a value other than a function that is assigned to a method is logged, and the method stays")
  func otherValues() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        "var socket = module('webSocket'); socket.onopen = null; socket.own = 7; show([typeof socket.onopen, socket.own])"
      )
      #expect(await page.shown == #"["function",7]"#)
      await page.destroy()
      var logs: [String] = []
      for await event in page.events { if case .log("error", let text) = event { logs.append(text) } }
      #expect(logs == ["webSocket.onopen stays as it is: only a function can be assigned to it"])
    }
  }

  @Test("a server's close and a lost connection are events of the script")
  func ends() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      try await SocketServer.running { server in
        for (path, expected) in [
          ("/bye", #"["open",[4001,"done",true]]"#), ("/drop", #"["open","string",[1006,"",false]]"#),
          ("/nothing", #"["string",[1006,"",false]]"#),
        ] {
          let page = try await fixture.speakingPage(Self.script(server.url(path), .assigned))
          await page.waitUntilShown(expected)
          await page.destroy()
        }
      }
    }
  }

  @Test("a destroyed page closes its socket, and a second socket closes the first")
  func replacement() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      try await SocketServer.running { server in
        let again = "socket.WebSocket('\(server.url("/echo"))', ''); socket.onopen = function () { say('again') }"
        let page = try await fixture.speakingPage(Self.script(server.url("/echo"), .called, whenOpen: again))
        await page.waitUntilShown(#"["open","again"]"#)
        try await server.wait { $0.closes == [1001] && $0.ended == 1 }
        await page.destroy()
        try await server.wait { $0.closes == [1001, 1001] && $0.ended == 2 }
      }
    }
  }

  @Test("a close with an invalid code or reason is an error")
  func invalidCloses() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      try await SocketServer.running { server in
        let page = try await fixture.speakingPage(
          Self.script(server.url("/echo"), .called, whenOpen: "socket.close(1001, '')"))
        await page.waitUntilShown(#"["open"]"#)
        await page.settle(within: .seconds(60))
        #expect(await page.exceptions.contains { $0.contains("not with 1001") })
      }
    }
  }

  @Test("the bytes that wait to be sent have a limit")
  func outboxLimit() async throws {
    /// Reads no command.
    struct Deaf: WebSocketing {
      func run(
        _ request: WebSocketRequest, commands: AsyncStream<WebSocketCommand>,
        receive: @escaping @Sendable (WebSocketEvent) async -> Void
      ) async { try? await Task.sleep(for: .seconds(3_600)) }
    }
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.register(Deaf() as any WebSocketing, as: \.sockets)
      let page = await PageInstance(environment: fixture.environment)
      let socket = await PageSocket(WebSocketRequest(url: "ws://deaf"), of: page, byteLimit: 10)
      try await socket.send(.text("12345678"))
      try await socket.close(nil, "")
      await #expect(throws: ScriptError.self) { try await socket.send(.text("123")) }
      // It is closed: what comes later is dropped.
      try await socket.send(.text("123"))
    }
  }
}
