import PageTesting
import ScriptEngine
import TestServers
import Testing
import WebSocketTransport

@testable import PageRuntime

/// The module `webSocket`, against a real server.
@Suite(.timeLimit(.minutes(5))) struct WebSocketModuleTests {
  private static func script(_ url: String, _ onOpen: String) -> String {
    """
    var socket = module('webSocket')
    socket.WebSocket('\(url)', '')
    socket.onOpen(function () { say('open'); \(onOpen) })
    socket.onMessage(function (e) { say(typeof e.data === 'object' ? Array.from(new Uint8Array(e.data)) : e.data)
      if (e.data === 'last') socket.close(3001, 'done') })
    socket.onError(function (e) { say(typeof e.data) })
    socket.onClose(function (e) { say([e.code, e.reason, e.wasClean]) })
    """
  }

  @Test("text and binary messages go both ways")
  func messages() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      try await SocketServer.running { server in
        let send = "socket.send('a'); socket.send(new Uint8Array([1, 255]).buffer); socket.send('last')"
        let page = try await fixture.speakingPage(Self.script(server.url("/echo"), send))
        await page.waitUntilShown(#"["open","a",[1,255],"last",[3001,"",true]]"#)
        await page.destroy()
      }
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
          let page = try await fixture.speakingPage(Self.script(server.url(path), ""))
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
        let again = "socket.WebSocket('\(server.url("/echo"))', ''); socket.onOpen(function () { say('again') })"
        let page = try await fixture.speakingPage(Self.script(server.url("/echo"), again))
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
        let page = try await fixture.speakingPage(Self.script(server.url("/echo"), "socket.close(1001, '')"))
        await page.waitUntilShown(#"["open"]"#)
        await page.settle(within: .seconds(60))
        #expect(await page.exceptions.contains { $0.contains("not with 1001") })
      }
    }
  }

  @Test("the bytes that wait to be sent have a limit")
  func outboxLimit() {
    let outbox = SocketOutbox(limit: 10)
    #expect(outbox.add(.send(.text("12345678")), bytes: 8))
    #expect(!outbox.add(.send(.text("123")), bytes: 3))
    #expect(outbox.add(.close(code: nil, reason: ""), bytes: 0))
  }
}
