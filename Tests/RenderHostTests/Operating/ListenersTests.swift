import Foundation
import HTTPTypes
import Hummingbird
import Logging
import PageTesting
import TestServers
import Testing

@testable import RenderHost
@testable import ServerKit

/// A host with two listeners: one for everybody, and one for the operator.
@Suite(.timeLimit(.minutes(2)))
struct ListenersTests {
  private static let token = "0123456789abcdef"

  /// A route of each kind that the daemon adds to the server's own.
  private static func add(to routes: ListenerRoutes) {
    routes.add(.bundles) { router in
      router.get("/manifest.json") { _, context in
        context.replay?.allow { true }
        return "the manifest"
      }
    }
    routes.add(.pages) { router in
      router.get("/pages") { _, _ in "the pages" }
      router.post("/pages") { _, _ in "a page" }
      router.get("/resources") { _, _ in "a picture" }
    }
  }

  private func host(
    _ change: (inout Settings) -> Void = { _ in }, logger: Logger? = nil
  ) async throws -> LiveHost {
    var settings = Settings()
    settings.adminListen = ("127.0.0.1", 0)
    settings.adminTokens = [Self.token]
    change(&settings)
    return try await LiveHost(settings, logger: logger, adding: Self.add(to:))
  }

  /// An answer without the fields that are new each time.
  private func ask(_ port: Int, _ head: String, host: String = "h", _ fields: String = "") async throws -> String {
    let client = try RawClient(port: port)
    client.send("\(head) HTTP/1.1\r\nHost: \(host)\r\n\(fields)Connection: close\r\n\r\n")
    let lines = try await client.readToEnd().components(separatedBy: "\r\n")
    return lines.filter { !$0.lowercased().hasPrefix("date:") && !$0.lowercased().hasPrefix("x-request-id:") }
      .joined(separator: "\r\n")
  }

  /// Routes of parts that the host does not have.
  private static let absent = ["/admin/gateway/purge", "/admin/release/halt"]
  private static let guarded = [
    ("GET", "/"), ("GET", "/status"), ("GET", "/metrics"), ("GET", "/pages"), ("POST", "/pages"), ("GET", "/resources"),
    ("POST", "/admin/relaunch"), ("GET", "/admin/settings"), ("POST", "/admin/gateway/purge"),
    ("POST", "/admin/release/halt"),
  ]

  @Test("the public listener answers guarded routes like unknown paths")
  func publicListener() async throws {
    let live = try await host()
    let spellings = ["/status/", "//status", "/status?a", "/%73tatus"].map { ("GET", $0) }
    for (method, path) in Self.guarded + spellings {
      for (host, fields) in [
        ("h", ""), ("evil.example", "Origin: https://evil.example\r\n"), ("127.0.0.1", "Content-Length: 0\r\n"),
        ("127.0.0.1", "Authorization: Bearer \(Self.token)\r\n"), ("h", "Authorization: Bearer wrong\r\n"),
      ] {
        let answer = try await ask(live.port, "\(method) \(path)", host: host, fields)
        // The paths have the same length, so that only they differ in the answers.
        let plain = String(path.prefix { $0 != "?" })
        let unknown = String(plain.map { $0 == "/" ? "/" : "x" } + (plain == "/" ? "x" : ""))
        let other = try await ask(live.port, "\(method) \(unknown)", host: host, fields)
        #expect(answer.hasPrefix("HTTP/1.1 404 "), "\(method) \(path) of \(host): \(answer)")
        if plain != "/" { #expect(answer.replacing(plain, with: unknown) == other, "\(method) \(path) of \(host)") }
      }
    }
    try await live.stop()
  }

  @Test("the admin listener has the guarded routes, and none of the public ones")
  func adminListener() async throws {
    let live = try await host()
    let authorization = "Authorization: Bearer \(Self.token)\r\n"
    for (method, path) in Self.guarded where !Self.absent.contains(path) {
      let answer = try await ask(live.adminPort, "\(method) \(path)", host: "localhost", authorization)
      #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(method) \(path): \(answer)")
    }
    #expect(try await ask(live.adminPort, "GET /healthz").contains("alive"))
    #expect(try await ask(live.adminPort, "GET /manifest.json").hasPrefix("HTTP/1.1 404 "))
    #expect(try await ask(live.port, "GET /manifest.json").hasSuffix("the manifest"))
    #expect(try await ask(live.port, "GET /healthz").contains("alive"))
    // On loopback only administration requires the token.
    #expect(try await ask(live.adminPort, "GET /status", host: "localhost").hasPrefix("HTTP/1.1 200 "))
    #expect(try await ask(live.adminPort, "GET /admin/settings", host: "localhost").hasPrefix("HTTP/1.1 401 "))
    try await live.stop()
  }

  @Test("public routes answer every host, and guarded ones only permitted hosts")
  func permittedHosts() async throws {
    let live = try await host { ($0.publicRoutes, $0.hosts) = ([.metrics], ["Pages.example"]) }
    for (port, path, host, status) in [
      (live.port, "/manifest.json", "evil.example", 200), (live.port, "/healthz", "evil.example", 200),
      (live.port, "/metrics", "evil.example", 421), (live.port, "//metrics", "evil.example", 421),
      (live.port, "/metrics/", "evil.example", 421), (live.port, "/metrics", "pages.example", 200),
      (live.port, "http://evil.example/metrics", "localhost", 421), (live.port, "/status", "evil.example", 404),
      (live.adminPort, "/status", "evil.example", 421), (live.adminPort, "//status", "evil.example", 421),
      (live.adminPort, "/", "evil.example", 421), (live.adminPort, "/healthz", "evil.example", 200),
      (live.adminPort, "/status", "pages.example", 200), (live.adminPort, "//status", "localhost", 200),
    ] {
      let answer = try await ask(port, "GET \(path)", host: host)
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(path) of \(host): \(answer)")
    }
    try await live.stop()
  }

  @Test("an answer that one listener remembers is not the other's")
  func answersAreRememberedApart() async throws {
    let live = try await host()
    let head = "GET /manifest.json HTTP/1.1\r\nHost: h\r\n\r\n"
    for _ in 0..<3 {
      let client = try RawClient(port: live.port)
      client.send(head)
      #expect(try await client.read(until: "the manifest").hasPrefix("HTTP/1.1 200 "))
    }
    let other = try RawClient(port: live.adminPort)
    other.send(head)
    #expect(try await other.read(until: "there is nothing at").hasPrefix("HTTP/1.1 404 "))
    try await live.stop()
  }

  @Test("both listeners hold clients to the limits, and each counts its own connections")
  func limitsHoldOnBoth() async throws {
    let live = try await host { $0.limits.connectionsPerAddress = 1 }
    for port in [live.port, live.adminPort] {
      let client = try RawClient(port: port)
      client.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await client.read(until: "alive").hasPrefix("HTTP/1.1 200 "))
      #expect(try await RawClient(port: port).readToEnd().hasPrefix("HTTP/1.1 429 "))
      client.send("GET /\(String(repeating: "u", count: 9000)) HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await client.readToEnd().hasPrefix("HTTP/1.1 414 "))
    }
    try await live.stop()
  }

  @Test("both listeners log their requests")
  func accessLogs() async throws {
    let lines = Monitor<[String]>([])
    let logger = Logger(label: "l") {
      JSONLogHandler(label: $0) { line in lines.change { $0.append(String(decoding: line, as: UTF8.self)) } }
    }
    let live = try await host(logger: logger)
    _ = try await ask(live.port, "GET /manifest.json")
    _ = try await ask(live.adminPort, "GET /status", host: "localhost")
    try await live.stop()
    let said = lines.read { $0 }
    for path in ["/manifest.json", "/status"] {
      #expect(said.filter { $0.contains(#""message":"Answered""#) && $0.contains(#""path":"\#(path)""#) }.count == 1)
    }
    #expect(said.contains { $0.contains(#""Listening""#) && $0.contains(":\(live.port)\"") })
    #expect(said.contains { $0.contains(#""The admin listener is up""#) && $0.contains(":\(live.adminPort)\"") })
  }

  @Test("both listeners finish requests under way at shutdown")
  func shutdown() async throws {
    let (arrived, mayEnd) = (Monitor(0), Monitor(false))
    var settings = Settings()
    settings.adminListen = ("127.0.0.1", 0)
    let live = try await LiveHost(settings) { routes in
      routes.router.get("/slow") { _, _ in
        arrived.change { $0 += 1 }
        try await mayEnd.wait(within: .seconds(60), until: { $0 })
        return "done"
      }
    }
    let clients = try [live.port, live.adminPort].map { try RawClient(port: $0) }
    for client in clients { client.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n") }
    try await arrived.wait(within: .seconds(60), until: { $0 == 2 })
    await live.beginStopping()
    mayEnd.change { $0 = true }
    for client in clients { #expect(try await client.readToEnd().hasSuffix("done")) }
    try await live.ended()
  }

  @Test("with a certificate the public listener serves TLS, and the admin listener of this machine does not")
  func loopbackNeedsNoCertificate() async throws {
    let folder = try TemporaryDirectory()
    let files = try await TLSFiles.made("one", in: folder)
    let live = try await host { ($0.certificate, $0.privateKey) = (files.certificate, files.privateKey) }
    let served = try await Tool.run(
      "curl", "-sk", "--http2", "-w", " %{http_version}", "https://127.0.0.1:\(live.port)/manifest.json")
    #expect(served.output == "the manifest 2")
    let hidden = try await Tool.run(
      "curl", "-sk", "--http2", "-o", "/dev/null", "-w", "%{http_code}", "https://127.0.0.1:\(live.port)/status")
    #expect(hidden.output == "404")
    #expect(try await ask(live.adminPort, "GET /status", host: "localhost").hasPrefix("HTTP/1.1 200 "))
    try await live.stop()
  }

  @Test("the error of an admin address in use names it")
  func takenAdminAddress() async throws {
    let live = try await host()
    var settings = Settings()
    (settings.port, settings.adminListen) = (0, ("127.0.0.1", live.adminPort))
    let second = HostServer(
      settings: settings, controls: .fake(), metrics: HostMetrics(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let error = await #expect(throws: SettingsError.self) { try await second.run() }
    #expect(
      error?.description == "--admin-listen: cannot listen on 127.0.0.1:\(live.adminPort): Address already in use")
    try await live.stop()
  }

  @Test("a server with a refused plan does not start")
  func refusedPlan() throws {
    var settings = Settings()
    settings.adminListen = ("192.0.2.1", 0)
    let server = HostServer(
      settings: settings, controls: .fake(), metrics: HostMetrics(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    #expect(throws: SettingsError.self) { try server.parts(trapsSignals: false) }
  }

  @Test("the host is ready when all listeners are listening")
  func readiness() async throws {
    let folder = try TemporaryDirectory()
    let socket = try NotifySocket(path: folder.file("notify"))
    let readiness = ReadinessService(
      ServiceNotifier(environment: ["NOTIFY_SOCKET": socket.path]), checks: [], listeners: 2)
    for isReady in [false, false, true] {
      #expect(await readiness.look() == isReady)
      readiness.listens()
    }
    try await socket.hear { $0 == ["STATUS=Not ready: the host is not listening yet", "STATUS=Ready", "READY=1"] }
  }

  // MARK: The token

  private static func basic(_ text: String) -> String { "Basic \(Data(text.utf8).base64EncodedString())" }

  /// The answers of a listener that other machines can reach.
  private func distant(
    token: String? = token, asksToken: Bool = true,
    _ body: @escaping @Sendable (ApplicationClient) async throws -> Void
  ) async throws {
    var settings = Settings()
    settings.adminTokens = token.map { [$0] } ?? []
    let server = HostServer(
      settings: settings, controls: .fake(), metrics: HostMetrics(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let routes = server.routes(
      of: .init(
        key: .listen, host: "192.0.2.1", port: 0, groups: Set(RouteGroup.allCases), isSecure: false,
        asksToken: asksToken))
    Self.add(to: routes)
    try await Application(router: routes.router, logger: server.logger).serve { try await body($0) }
  }

  @Test("beyond loopback all guarded routes require the token")
  func tokenBeyondLoopback() async throws {
    try await distant { client in
      for path in ["/", "/status", "//status", "/metrics", "/pages", "/resources"] {
        for (authorization, status) in [
          (nil, 401), ("Bearer wrong", 401), ("Bearer", 401), ("Basic \(Self.token)", 401), ("Basic %", 401),
          (Self.basic(Self.token), 401), (Self.basic("admin:wrong"), 401), (Self.basic("\(Self.token):"), 401),
          ("Bearer \(Self.token)", 200), (Self.basic(":\(Self.token)"), 200), (Self.basic("admin:\(Self.token)"), 200),
        ] as [(String?, Int)] {
          var fields = HTTPFields()
          fields[.authorization] = authorization
          try await client.execute(uri: path, method: .get, headers: fields) { answer in
            #expect(answer.status.code == status, "\(path) with \(authorization ?? "nothing")")
            let challenges = answer.headers[values: .wwwAuthenticate].joined(separator: ", ")
            #expect((status == 401) == (challenges.contains("Bearer ") && challenges.contains("Basic ")))
            #expect(challenges.contains("invalid_token") == (status == 401 && authorization != nil))
          }
        }
      }
      for path in ["/healthz", "/readyz", "/manifest.json"] {
        try await client.execute(uri: path, method: .get) { #expect($0.status == .ok, "\(path)") }
      }
      // A stored password is not enough to change something.
      try await client.execute(
        uri: "/admin/relaunch", method: .post, headers: [.authorization: Self.basic("a:\(Self.token)")]
      ) { #expect($0.status == .unauthorized) }
    }
  }

  @Test("a password that the browser has stored does not permit requests of other sites' pages")
  func storedPassword() async throws {
    try await distant { client in
      for (authorization, status) in [
        (Self.basic("a:\(Self.token)"), HTTPResponse.Status.forbidden), ("Bearer \(Self.token)", .ok),
      ] {
        let fields: HTTPFields = [.origin: "https://evil.example", .authorization: authorization]
        try await client.execute(uri: "/pages", method: .post, headers: fields) { #expect($0.status == status) }
      }
    }
  }

  @Test("with --insecure-admin only administration requires the token")
  func insecureListener() async throws {
    try await distant(asksToken: false) { client in
      try await client.execute(uri: "/status", method: .get) { #expect($0.status == .ok) }
      try await client.execute(uri: "/admin/settings", method: .get) { #expect($0.status == .unauthorized) }
    }
    // If no token is set, no token is accepted.
    try await distant(token: nil) { client in
      for authorization in ["Bearer ", "Basic \(Data(":".utf8).base64EncodedString())"] {
        try await client.execute(uri: "/status", method: .get, headers: [.authorization: authorization]) {
          #expect($0.status == .unauthorized)
        }
      }
    }
  }

  // MARK: Answers that depend on the listener

  private func routes(
    carrying groups: Set<RouteGroup>, asksToken: Bool = false
  ) -> Router<HostRequestContext> {
    var controls = HostControls.fake {
      var status = HostStatus(started: Date())
      status.pages = [
        .init(id: "p", url: "u", phase: "live", opened: Date(), preview: "/pages/p/preview")
      ]
      return status
    }
    controls.server.checks = [HealthCheck(name: "store") { "/var/lib/store is away" }]
    let server = HostServer(
      settings: Settings(), controls: controls, metrics: HostMetrics(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    return server.routes(
      of: .init(key: .listen, host: "127.0.0.1", port: 0, groups: groups, isSecure: false, asksToken: asksToken)
    ).router
  }

  @Test("the reasons of unreadiness are disclosed only with the status")
  func readinessReasons() async throws {
    for (groups, asksToken, isTold) in [
      ([.health], false, false), ([.health, .status], true, false), ([.health, .status], false, true),
    ] as [(Set<RouteGroup>, Bool, Bool)] {
      try await Application(router: routes(carrying: groups, asksToken: asksToken)).serve { client in
        try await client.execute(uri: "/readyz", method: .get) { answer in
          #expect(answer.status == .serviceUnavailable)
          let text = answer.text
          #expect(text.contains(#""name":"store","ok":false"#) && text.contains("/var/lib") == isTold, "\(text)")
        }
      }
    }
  }

  @Test("the dashboard links only to routes of its listener")
  func dashboardLinks() async throws {
    for (groups, links) in [
      ([.dashboard, .status], ["/status"]),
      ([.dashboard, .status, .health, .metrics], ["/readyz", "/metrics", "/status"]),
    ] as [(Set<RouteGroup>, [String])] {
      try await Application(router: routes(carrying: groups)).serve { client in
        try await client.execute(uri: "/", method: .get) { answer in
          let found = answer.text.matches(of: /href="(\/[a-z]+)"/).map { String($0.1) }
          #expect(found == links)
        }
        try await client.execute(uri: "/status", method: .get) { answer in
          #expect(!answer.text.contains("/preview"))
        }
      }
    }
  }
}
