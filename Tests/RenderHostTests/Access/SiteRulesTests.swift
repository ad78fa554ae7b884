import HTTPTypes
import Hummingbird
import Logging
import PageTesting
import Testing

@testable import RenderHost
@testable import ServerKit

struct SiteRulesTests {
  private struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let method: HTTPRequest.Method
    let path: String
    var group = RouteGroup.pages
    let host: String?
    var fields: HTTPFields = [:]
    let expected: SiteRules.Refusal?
  }

  private static func fetch(_ site: String, _ mode: String = "cors", _ dest: String = "empty") -> HTTPFields {
    var fields = HTTPFields()
    for (name, value) in [("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", dest)] {
      if let name = HTTPField.Name(name) { fields[name] = value }
    }
    return fields
  }

  private static func body(_ type: String?, origin: String? = nil) -> HTTPFields {
    var fields: HTTPFields = [.contentLength: "15"]
    fields[.contentType] = type
    fields[.origin] = origin
    return fields
  }

  private static let json = body("application/json; charset=utf-8")

  private static let rows: [Row] = [
    // The requested host
    Row(testDescription: "an address", method: .get, path: "/status", host: "127.0.0.1:8080", expected: nil),
    Row(testDescription: "an IPv6 address", method: .get, path: "/status", host: "[::1]:8080", expected: nil),
    Row(testDescription: "localhost", method: .get, path: "/pages/1", host: "LocalHost:8080", expected: nil),
    Row(testDescription: "a permitted name", method: .get, path: "/", host: "pages.example", expected: nil),
    Row(
      testDescription: "a foreign name that resolves here", method: .get, path: "/status", host: "evil.example:8080",
      expected: .host("evil.example:8080")),
    Row(
      testDescription: "the same for a page", method: .get, path: "/pages/1/preview?x=/bundles/", host: "evil.example",
      expected: .host("evil.example")),
    Row(
      testDescription: "a name that begins like an address", method: .get, path: "/metrics",
      host: "127.0.0.1.evil.example", expected: .host("127.0.0.1.evil.example")),
    Row(
      testDescription: "a name that begins like an IPv6 address", method: .get, path: "/status", group: .status,
      host: "[::1].evil.example", expected: .host("[::1].evil.example")),
    Row(
      testDescription: "two ports", method: .get, path: "/status", group: .status, host: "localhost:80:80",
      expected: .host("localhost:80:80")),
    Row(
      testDescription: "an invalid port", method: .get, path: "/status", group: .status, host: "localhost:x",
      expected: .host("localhost:x")),
    Row(
      testDescription: "an open route", method: .get, path: "/bundles/a.js", group: .bundles,
      host: "any.example",
      expected: nil),
    Row(testDescription: "health", method: .get, path: "/healthz", group: .health, host: "any.example", expected: nil),
    Row(
      testDescription: "another spelling of a path", method: .get, path: "//status", group: .status,
      host: "evil.example", expected: .host("evil.example")),
    Row(
      testDescription: "a name in the Host field of HTTP/2", method: .get, path: "/status", group: .status, host: nil,
      fields: HTTPField.Name("Host").map { [$0: "evil.example"] } ?? [:], expected: .host("evil.example")),
    Row(
      testDescription: "no host", method: .get, path: "/status", group: .status, host: nil, expected: nil),
    // The site that causes the request
    Row(
      testDescription: "a form of another site", method: .post, path: "/pages", host: "localhost",
      fields: body("text/plain", origin: "https://evil.example"), expected: .origin("https://evil.example")),
    Row(
      testDescription: "an opaque origin", method: .post, path: "/pages", host: "localhost",
      fields: body("application/json", origin: "null"), expected: .origin("null")),
    Row(
      testDescription: "another port of this machine", method: .delete, path: "/pages/1", host: "localhost:8080",
      fields: [.origin: "http://localhost:3000"], expected: .origin("http://localhost:3000")),
    Row(
      testDescription: "its own dashboard", method: .post, path: "/pages", host: "localhost:8080",
      fields: body("application/json", origin: "https://localhost:8080"), expected: nil),
    Row(
      testDescription: "a script of another site", method: .get, path: "/render?name=home", host: "localhost",
      fields: fetch("cross-site"), expected: .crossSite),
    Row(
      testDescription: "a frame of another site", method: .get, path: "/", host: "localhost",
      fields: fetch("cross-site", "navigate", "iframe"), expected: .crossSite),
    Row(
      testDescription: "a link to the dashboard", method: .get, path: "/", host: "localhost",
      fields: fetch("cross-site", "navigate", "document"), expected: nil),
    Row(
      testDescription: "a form that opens a window", method: .post, path: "/pages", host: "localhost",
      fields: fetch("cross-site", "navigate", "document"), expected: .crossSite),
    Row(
      testDescription: "a picture of a sandboxed preview", method: .get, path: "/resources?page=1&url=a.png",
      host: "localhost", fields: fetch("cross-site", "no-cors", "image"), expected: nil),
    // The body
    Row(testDescription: "JSON", method: .post, path: "/pages", host: "localhost", fields: json, expected: nil),
    Row(
      testDescription: "a JSON subtype", method: .post, path: "/pages/1/fire", host: "localhost",
      fields: body("application/event+json"), expected: nil),
    Row(
      testDescription: "a type that a form can send", method: .post, path: "/pages", host: "localhost",
      fields: body("text/plain"), expected: .contentType("text/plain")),
    Row(
      testDescription: "no type", method: .post, path: "/pages/1/refresh", host: "localhost",
      fields: body(nil), expected: .contentType(nil)),
    Row(
      testDescription: "administration, which checks its token", method: .post, path: "/admin/relaunch", group: .admin,
      host: "localhost", fields: body("text/plain"), expected: nil),
    Row(testDescription: "no body", method: .post, path: "/pages/1/reload", host: "localhost", expected: nil),
  ]

  @Test("only requests that no foreign page can make reach pages and status", arguments: rows.indices)
  func everyRowHolds(_ index: Int) {
    let row = Self.rows[index]
    let head = HTTPRequest(
      method: row.method, scheme: "http", authority: row.host, path: row.path, headerFields: row.fields)
    let rules = SiteRules(hosts: ["Pages.example"])
    #expect(rules.refusal(of: head, to: row.group, showsToken: false) == row.expected, "\(row.testDescription)")
    #expect(rules.refusal(of: head, to: row.group, showsToken: true) == nil, "\(row.testDescription)")
  }

  @Test("a refused request gets the reason, and does not reach its route")
  func refusalsAreAnswered() async throws {
    let server = HostServer(
      settings: Settings(), controls: .fake(), metrics: HostMetrics(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let listener = try #require(ListenerPlan(server.settings).listeners.first)
    let routes = server.routes(of: listener)
    let opened = Monitor(0)
    routes.add(.pages) { router in
      router.post("/pages") { _, _ in
        opened.change { $0 += 1 }
        return "opened"
      }
    }
    try await Application(router: routes.router, logger: server.logger).serve { client in
      try await client.execute(uri: "/status", method: .get) { #expect($0.status == .ok) }
      try await client.execute(uri: "/status", method: .get, headers: [.origin: "https://evil.example"]) { answer in
        #expect(answer.status == .forbidden)
        #expect(answer.text.contains("https://evil.example"))
      }
      try await client.execute(
        uri: "/pages", method: .post, headers: [.contentType: "text/plain"], body: "{}"
      ) { #expect($0.status == .unsupportedMediaType) }
    }
    #expect(opened.read { $0 } == 0)
  }
}
