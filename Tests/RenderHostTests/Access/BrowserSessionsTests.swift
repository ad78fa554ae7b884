import HTTPTypes
import Hummingbird
import PageTesting
import TestServers
import Testing

@testable import RenderHost
@testable import ServerKit

/// Browsers that have a ticket in place of the token.
struct BrowserSessionsTests {
  private static let start = ContinuousClock.now

  private func cookie(_ secret: String) -> HTTPFields { [.cookie: "a=b; renderhost-live=\(secret)"] }

  @Test("a ticket is good once, and its session for its time")
  func ticket() throws {
    let sessions = BrowserSessions()
    let ticket = try sessions.ticket(at: Self.start)
    #expect(sessions.redeem("other", at: Self.start) == nil)
    let secret = try #require(sessions.redeem(ticket, at: Self.start))
    #expect(sessions.redeem(ticket, at: Self.start) == nil)
    #expect(sessions.accepts(cookie(secret), at: Self.start))
    #expect(!sessions.accepts(cookie(ticket), at: Self.start) && !sessions.accepts([:], at: Self.start))
    #expect(!sessions.accepts(cookie(secret), at: Self.start + BrowserSessions.sessionTime))
  }

  @Test("an old ticket is worth nothing")
  func oldTicket() throws {
    let sessions = BrowserSessions()
    let ticket = try sessions.ticket(at: Self.start)
    #expect(sessions.redeem(ticket, at: Self.start + BrowserSessions.ticketTime) == nil)
  }

  @Test("a standing ticket lets any number of browsers in, at any time")
  func standingTicket() throws {
    let ticket = BrowserSessions.secret()
    let sessions = try BrowserSessions(standing: ticket)
    for hours in [0, 0, 100] {
      let now = Self.start + .seconds(hours * 3_600)
      let secret = try #require(sessions.redeem(ticket, at: now))
      #expect(sessions.accepts(cookie(secret), at: now) && !sessions.accepts(cookie(ticket), at: now))
    }
    #expect(sessions.redeem("", at: Self.start) == nil && sessions.redeem(ticket + "0", at: Self.start) == nil)
  }

  @Test("of too many tickets the oldest go")
  func bound() throws {
    let sessions = BrowserSessions()
    let first = try sessions.ticket(at: Self.start)
    let second = try sessions.ticket(at: Self.start + .seconds(1))
    for number in 0..<BrowserSessions.limit - 1 {
      _ = try sessions.ticket(at: Self.start + .seconds(2) + .milliseconds(number))
    }
    #expect(sessions.redeem(first, at: Self.start + .seconds(3)) == nil)
    #expect(sessions.redeem(second, at: Self.start + .seconds(3)) != nil)
  }

  @Test("a cookie is for no script and no other site, and only for TLS where there is TLS")
  func field() {
    #expect(
      BrowserSessions.field("x", isSecure: true)
        == "renderhost-live=x; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure")
    #expect(!BrowserSessions.field("x", isSecure: false).contains("Secure"))
  }

  @Test("a listener that asks for the token lets a browser with a ticket in, to the routes that take one")
  func listener() async throws {
    var settings = Settings()
    settings.address = "0.0.0.0"
    settings.adminTokens = ["a token of some length"]
    settings.publicRoutes = [.pages]
    let sessions = BrowserSessions()
    let host = try await LiveHost(
      settings,
      adding: { routes in
        routes.add(.pages) { router in router.get("/closed") { _, _ in Response(status: .ok) } }
        routes.add(.pages, sessions: sessions) { router in router.get("/open") { _, _ in Response(status: .ok) } }
      })
    func ask(_ path: String, _ fields: String = "") async throws -> String {
      let client = try RawClient(port: host.port)
      client.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(fields)Connection: close\r\n\r\n")
      return try await client.readToEnd()
    }
    #expect(try await ask("/open").hasPrefix("HTTP/1.1 401 "))
    let ticket = try sessions.ticket(at: .now)
    #expect(try await ask("/closed?ticket=\(ticket)").hasPrefix("HTTP/1.1 401 "))
    let first = try await ask("/open?ticket=\(ticket)")
    #expect(first.hasPrefix("HTTP/1.1 200 "))
    let start = try #require(first.firstRange(of: "renderhost-live=")?.lowerBound)
    let cookie = first[start...].prefix { $0 != ";" }
    #expect(try await ask("/open?ticket=\(ticket)").hasPrefix("HTTP/1.1 401 "))
    #expect(try await ask("/open", "Cookie: \(cookie)\r\n").hasPrefix("HTTP/1.1 200 "))
    #expect(try await ask("/closed", "Cookie: \(cookie)\r\n").hasPrefix("HTTP/1.1 401 "))
    #expect(try await ask("/open", "Cookie: \(cookie)\r\nOrigin: http://evil.example\r\n").hasPrefix("HTTP/1.1 403 "))
    try await host.stop()
  }
}
