import Foundation
import HTTPTypes
import Hummingbird
import Logging
import PageTesting
import Testing

@testable import RenderHost
@testable import ServerKit

struct OperatingRoutesTests {
  private static let token = "correct horse battery staple"

  private func application(
    token: String? = nil, controls: HostControls = .fake(), metrics: HostMetrics = HostMetrics(),
    routes: (Router<HostRequestContext>) -> Void = { _ in }
  ) throws -> some ApplicationProtocol {
    var settings = Settings()
    settings.adminTokens = token.map { [$0] } ?? []
    settings.webhookSecret = token
    let server = HostServer(
      settings: settings, controls: controls, metrics: metrics,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let router = try server.router()
    routes(router)
    return Application(router: router, logger: server.logger)
  }

  @Test("the host is ready when all checks succeed")
  func readiness() async throws {
    let problem = Monitor<String?>("no release is active yet")
    var controls = HostControls.fake()
    controls.server.checks = [
      HealthCheck(name: "store") { nil }, HealthCheck(name: "release") { problem.read { $0 } },
    ]
    try await application(controls: controls).serve { client in
      try await client.execute(uri: "/readyz", method: .get) { answer in
        #expect(answer.status == .serviceUnavailable)
        let text = answer.text
        #expect(
          text
            == #"{"checks":[{"name":"store","ok":true},{"name":"release","ok":false,"reason":"no release is active yet"}],"#
            + #""ready":false}"#)
      }
      problem.change { $0 = nil }
      try await client.execute(uri: "/readyz", method: .get) { #expect($0.status == .ok) }
      try await client.execute(uri: "/healthz", method: .get) { #expect($0.status == .ok) }
    }
  }

  @Test("a host that serves and cannot write its store is ready, and says so")
  func warning() async throws {
    var controls = HostControls.fake()
    controls.server.checks = [
      HealthCheck(name: "store") {
        nil
      } warning: {
        "the disk is full"
      }
    ]
    try await application(controls: controls).serve { client in
      try await client.execute(uri: "/readyz", method: .get) { answer in
        #expect(answer.status == .ok)
        #expect(
          answer.text
            == #"{"checks":[{"name":"store","ok":false,"reason":"the disk is full","required":false}],"ready":true}"#)
      }
    }
  }

  @Test(
    "without a token there are no admin routes",
    arguments: ["/admin/settings", "/admin/relaunch", "/admin/cache/clear", "/admin"])
  func noToken(_ path: String) async throws {
    try await application().serve { client in
      for method in [HTTPRequest.Method.get, .post] {
        try await client.execute(uri: path, method: method, headers: [.authorization: "Bearer "]) { answer in
          #expect(answer.status == .notFound)
        }
      }
    }
  }

  @Test(
    "an admin request without the token is refused",
    arguments: [
      nil, "Bearer", "Bearer ", "Bearer wrong", "Basic correct horse battery staple",
      "Bearer correct horse battery stapl", "Bearer correct horse battery staples", "correct horse battery staple",
    ])
  func missingToken(_ authorization: String?) async throws {
    let relaunched = Monitor(0)
    var controls = HostControls.fake()
    controls.server.relaunch = { relaunched.change { $0 += 1 } }
    try await application(token: Self.token, controls: controls).serve { client in
      var headers = HTTPFields()
      headers[.authorization] = authorization
      try await client.execute(uri: "/admin/relaunch", method: .post, headers: headers) { answer in
        #expect(answer.status == .unauthorized)
        #expect(answer.headers[.wwwAuthenticate]?.hasPrefix("Bearer") == true)
      }
    }
    #expect(relaunched.read { $0 } == 0)
  }

  @Test("the token permits halting the release and going on, and an answer says why that cannot be done")
  func halting() async throws {
    let done = Monitor<[Bool]>([])
    var controls = HostControls.fake()
    controls.setHalted = { isHalted in
      done.change { $0.append(isHalted) }
      guard isHalted else { throw ServedError(status: .conflict, reason: "release r5 is not halted") }
      return "r5"
    }
    let headers: HTTPFields = [.authorization: "Bearer \(Self.token)"]
    try await application(token: Self.token, controls: controls).serve { client in
      try await client.execute(uri: "/admin/release/halt", method: .post, headers: headers) { answer in
        #expect((answer.status, answer.text) == (.ok, #"{"release":"r5"}"#))
      }
      try await client.execute(uri: "/admin/release/resume", method: .post, headers: headers) { answer in
        #expect((answer.status, answer.text) == (.conflict, #"{"error":"release r5 is not halted"}"#))
      }
      try await client.execute(uri: "/admin/release/halt", method: .post) { #expect($0.status == .unauthorized) }
    }
    #expect(done.read { $0 } == [true, false])
    try await application(token: Self.token, controls: .fake()).serve { client in
      try await client.execute(uri: "/admin/release/halt", method: .post, headers: headers) {
        #expect($0.status == .notFound)
      }
    }
  }

  @Test("the token permits relaunch, clearing the cache and reading the settings")
  func adminRoutes() async throws {
    struct Away: Error, CustomStringConvertible {
      let description = "https://a.example/manifest.json answered 503"
    }
    let done = Monitor<[String]>([])
    var controls = HostControls.fake()
    controls.server.relaunch = { done.change { $0.append("relaunch") } }
    controls.server.clearCache = { throw Away() }
    try await application(token: Self.token, controls: controls).serve { client in
      let headers: HTTPFields = [.authorization: "bearer \(Self.token)"]
      try await client.execute(uri: "/admin/relaunch", method: .post, headers: headers) { #expect($0.status == .ok) }
      try await client.execute(uri: "/admin/cache/clear", method: .post, headers: headers) { answer in
        #expect(answer.status == .badGateway)
        #expect(answer.text == #"{"error":"https://a.example/manifest.json answered 503"}"#)
      }
      try await client.execute(uri: "/admin/settings", method: .get, headers: headers) { answer in
        let text = answer.text
        #expect(text.contains(#"{"key":"page-time","source":"default","value":"5"}"#))
        #expect(text.contains("********") && !text.contains(Self.token))
      }
    }
    #expect(done.read { $0 } == ["relaunch"])
  }

  @Test(
    "a valid request id is adopted",
    arguments: [
      ("abc-DEF_1.2:3", true), (String(repeating: "a", count: 128), true), (String(repeating: "a", count: 129), false),
      ("", false), ("a b", false), ("a\"b", false), ("é", false),
    ])
  func requestID(_ id: String, _ isTaken: Bool) async throws {
    try await application().serve { client in
      try await client.execute(uri: "/healthz", method: .get, headers: [.requestID: id]) { answer in
        let given = try #require(answer.headers[.requestID])
        #expect((given == id) == isTaken)
        #expect(isTaken || given.utf8.count == 16)
      }
    }
  }

  @Test("errors are JSON, and internal errors are not disclosed")
  func jsonErrors() async throws {
    struct Secret: Error {}
    try await application { router in
      router.get("/fault") { _, _ -> String in throw Secret() }
      router.get("/teapot") { _, _ -> String in
        throw HTTPError(.conflict, headers: [.retryAfter: "3"], message: "I \"am\"")
      }
      router.get("/busy") { _, _ -> String in throw HTTPError(.serviceUnavailable) }
    }.serve { client in
      try await client.execute(uri: "/fault", method: .get) { answer in
        #expect(answer.status == .internalServerError && !answer.text.contains("Secret"))
      }
      try await client.execute(uri: "/teapot", method: .get) { answer in
        #expect(answer.status == .conflict && answer.headers[.retryAfter] == "3")
        #expect(answer.text == #"{"error":"I \"am\""}"#)
      }
      try await client.execute(uri: "/busy", method: .get) { answer in
        #expect(answer.text == #"{"error":"service unavailable"}"#)
      }
      try await client.execute(uri: "/nothing", method: .get) { answer in
        #expect(answer.status == .notFound && answer.headers[.requestID] != nil)
        #expect(answer.text == #"{"error":"there is nothing at GET /nothing"}"#)
      }
    }
  }

  @Test("requests are counted by route, never by path")
  func routeMetrics() async throws {
    let metrics = HostMetrics()
    try await application(metrics: metrics) { router in
      router.get("/things/:id") { _, _ in "here" }
      router.get("/stream") { _, _ in
        Response(status: .ok, body: ResponseBody { writer in try await writer.finish(nil) })
      }
    }.serve { client in
      for number in 0..<20 { try await client.execute(uri: "/things/\(number)", method: .get) { _ in } }
      for number in 0..<5 { try await client.execute(uri: "/made-up/\(number)", method: .get) { _ in } }
      try await client.execute(uri: "/stream", method: .get) { _ in }
      try await client.execute(uri: "/metrics", method: .get, headers: [.accept: "application/openmetrics-text"]) {
        answer in
        #expect(answer.headers[.contentType]?.hasPrefix("application/openmetrics-text; version=1.0.0") == true)
        let parsed = try StrictMetrics(answer.text)
        let name = "renderhost_http_requests_total"
        #expect(parsed.value(name, ["method": "GET", "route": "/things/{id}", "status": "200"]) == 20)
        #expect(parsed.value(name, ["method": "GET", "route": "none", "status": "404"]) == 5)
        #expect(parsed.value(name, ["method": "GET", "route": "/stream", "status": "200"]) == 1)
        #expect(parsed.value("renderhost_http_requests_in_flight", [:]) == 1)
        #expect(!parsed.samples.contains { $0.labels["route"]?.contains("made-up") == true })
        let count = parsed.value(
          "renderhost_http_request_duration_seconds_count", ["method": "GET", "route": "/things/{id}"])
        #expect(count == 20)
      }
    }
  }

  @Test("the status has checks and traffic beside the owner's values")
  func statusContents() async throws {
    var controls = HostControls.fake {
      var status = HostStatus(started: Date(timeIntervalSince1970: 1_795_000_000))
      status.failures = (0..<50).map { .init(time: Date(), kind: "page", message: "\($0)", subject: nil) }
      return status
    }
    controls.server.checks = [HealthCheck(name: "store") { nil }]
    try await application(controls: controls).serve { client in
      try await client.execute(uri: "/status", method: .get) { answer in
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let status = try decoder.decode(HostStatus.self, from: Data(answer.body))
        #expect(status.started == Date(timeIntervalSince1970: 1_795_000_000))
        #expect(status.failures.count == HostStatus.failureLimit)
        #expect(status.checks == [.init(name: "store", ok: true, reason: nil)])
        #expect(status.traffic.interval == 5)
      }
    }
  }
}
