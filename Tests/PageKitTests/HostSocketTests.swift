import Foundation
import PageKit
import PageTesting
import TestServers
import Testing

/// Web sockets of a host's pages.
@Suite(.timeLimit(.minutes(5))) struct HostSocketTests {
  private struct Forbidden: Error, CustomStringConvertible { let description = "not there" }

  /// Returns the events that a page of a host gets when it opens a socket.
  private static func told(
    _ url: String, _ change: (inout HostConfiguration) -> Void = { _ in }
  ) async throws -> String? {
    let folder = try TemporaryDirectory()
    var configuration = try HostConfiguration(
      manifest: folder.file("manifest.json"), store: StoreDirectory(folder.file("store")))
    change(&configuration)
    let page = await (try PageHost(configuration)).page()
    try await page.render(
      """
      // { "framework": "Vanilla" }
      var d = weex.document, b = d.createBody('div'), t = d.createElement('text')
      d.documentElement.appendChild(b); b.appendChild(t)
      var socket = weex.requireModule('webSocket')
      socket.WebSocket('\(url)', '')
      socket.onopen = function () { t.setAttr('value', 'open') }
      socket.onerror = function (e) { t.setAttr('value', e.data) }
      """)
    for await event in page.events {
      guard case .commands = event else { continue }
      let shown = await page.tree.elements.values.compactMap { $0.attributes["value"]?.string }.first
      guard let shown else { continue }
      await page.destroy()
      return shown
    }
    return nil
  }

  @Test("a page of a host can open a web socket")
  func opening() async throws {
    try await SocketServer.running { server in
      let told = try await Self.told(server.url("/echo"))
      #expect(told == "open")
    }
  }

  @Test("web sockets are limited to the origins that requests may go to")
  func permission() async throws {
    try await SocketServer.running { server in
      let told = try await Self.told(server.url("/echo")) { configuration in
        configuration.resources.permission = { url in
          #expect(url.text.hasPrefix("http://127.0.0.1:"))
          throw Forbidden()
        }
      }
      #expect(told == "not there")
    }
  }
}
