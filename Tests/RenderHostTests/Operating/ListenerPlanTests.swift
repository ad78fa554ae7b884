import Testing

@testable import RenderHost
@testable import ServerKit

struct ListenerPlanTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var listen = "127.0.0.1"
    var admin: String?
    var named: Set<RouteGroup> = []
    var token: String?
    var isInsecure = false
    var hasCertificate = false
    /// The address, TLS, the token and the groups of each listener.
    var expected: [(String, Bool, Bool, Set<RouteGroup>)] = []
    /// A part of the refusal; `nil` if the plan is accepted.
    var refusal: String?
    var warnings: [String] = []

    var testDescription: String { "\(listen) \(admin ?? "-") \(named.list)" }

    var settings: Settings {
      var settings = Settings()
      (settings.address, settings.publicRoutes) = (listen, named)
      settings.adminListen = admin.flatMap { SettingText.address($0) }
      (settings.adminTokens, settings.allowsInsecureAdmin) = (token.map { [$0] } ?? [], isInsecure)
      if hasCertificate { (settings.certificate, settings.privateKey) = ("c", "k") }
      return settings
    }
  }

  private static let all = Set(RouteGroup.allCases)
  private static let open: Set<RouteGroup> = [.bundles, .health]
  private static let own = all.subtracting([.bundles])
  private static let token = "0123456789abcdef"

  private static let rows: [Row] = [
    // A loopback --listen serves both, alone.
    Row(expected: [("127.0.0.1:8080", false, false, all)]),
    Row(listen: "localhost", named: [.pages], expected: [("localhost:8080", false, false, all)]),
    Row(listen: "::1", hasCertificate: true, expected: [("[::1]:8080", true, false, all)]),
    Row(listen: "127.8.9.1", expected: [("127.8.9.1:8080", false, false, all)]),
    Row(listen: "2130706433", expected: [("2130706433:8080", false, false, all)]),
    // With any other --listen, the rest is on loopback.
    Row(
      listen: "0.0.0.0",
      expected: [("127.0.0.1:0", false, false, own), ("0.0.0.0:8080", false, true, open)]),
    Row(
      listen: "::", hasCertificate: true,
      expected: [("127.0.0.1:0", false, false, own), ("[::]:8080", true, true, open)]),
    Row(
      listen: "pages.example", token: token,
      expected: [("127.0.0.1:0", false, false, own), ("pages.example:8080", false, true, open)]),
    Row(
      listen: "127.0.0.1.example",
      expected: [("127.0.0.1:0", false, false, own), ("127.0.0.1.example:8080", false, true, open)]),
    // A given --admin-listen takes the rest from --listen.
    Row(
      admin: "127.0.0.1:9090", hasCertificate: true,
      expected: [("127.0.0.1:9090", false, false, own), ("127.0.0.1:8080", true, false, open)]),
    Row(
      admin: "[::1]:0", named: [.pages, .metrics],
      expected: [("[::1]:0", false, false, own), ("127.0.0.1:8080", false, false, open.union([.pages, .metrics]))]),
    Row(
      admin: "localhost:1", named: [.dashboard],
      expected: [
        ("localhost:1", false, false, own), ("127.0.0.1:8080", false, false, open.union([.dashboard, .status])),
      ]),
    // Guarded routes require the token where other machines can reach them.
    Row(
      admin: "10.0.0.5:9090", token: token,
      expected: [("10.0.0.5:9090", false, true, own), ("127.0.0.1:8080", false, false, open)],
      warnings: ["the admin token is sent in clear to 10.0.0.5:9090"]),
    Row(
      admin: "10.0.0.5:9090", token: token, hasCertificate: true,
      expected: [("10.0.0.5:9090", true, true, own), ("127.0.0.1:8080", true, false, open)]),
    Row(
      listen: "0.0.0.0", named: [.pages], token: token, hasCertificate: true,
      expected: [("127.0.0.1:0", false, false, own), ("0.0.0.0:8080", true, true, open.union([.pages]))]),
    Row(
      listen: "0.0.0.0", named: [.admin], token: token,
      expected: [("127.0.0.1:0", false, false, own), ("0.0.0.0:8080", false, true, open.union([.admin]))],
      warnings: ["the admin token is sent in clear to 0.0.0.0:8080"]),
    // With --insecure-admin they do not.
    Row(
      listen: "0.0.0.0", named: [.pages, .metrics], isInsecure: true,
      expected: [("127.0.0.1:0", false, false, own), ("0.0.0.0:8080", false, false, open.union([.pages, .metrics]))],
      warnings: ["pages and metrics answer everybody who can reach 0.0.0.0:8080 (--insecure-admin)"]),
    Row(
      admin: "0.0.0.0:9090", token: token, isInsecure: true,
      expected: [("0.0.0.0:9090", false, false, own), ("127.0.0.1:8080", false, false, open)],
      warnings: [
        "pages, dashboard, status and metrics answer everybody who can reach 0.0.0.0:9090 (--insecure-admin)",
        "the admin token is sent in clear to 0.0.0.0:9090",
      ]),
  ]

  @Test("the settings determine the routes of each listener and their access", arguments: rows.indices)
  func plan(_ index: Int) {
    let row = Self.rows[index]
    let plan = ListenerPlan(row.settings.server)
    #expect(plan.listeners.map(\.address) == row.expected.map(\.0))
    #expect(plan.listeners.map(\.isSecure) == row.expected.map(\.1))
    #expect(plan.listeners.map(\.asksToken) == row.expected.map(\.2))
    #expect(plan.listeners.map(\.groups) == row.expected.map(\.3))
    #expect(plan.refusal == nil)
    #expect(plan.warnings.count == row.warnings.count)
    for (said, expected) in zip(plan.warnings, row.warnings) { #expect(said.hasPrefix(expected)) }
    #expect(plan.admin?.groups.contains(.admin) == true && plan.listeners.last?.isPublic == true)
  }

  private static let refused: [Row] = [
    Row(
      admin: "0.0.0.0:9090",
      refusal: "--admin-listen: pages, dashboard, status and metrics would answer everybody who can reach 0.0.0.0:9090"),
    Row(admin: "[2001:db8::1]:9090", hasCertificate: true, refusal: "who can reach [2001:db8::1]:9090"),
    Row(admin: "admin.example:9090", refusal: "who can reach admin.example:9090"),
    Row(
      listen: "0.0.0.0", named: [.pages], refusal: "--public: pages would answer everybody who can reach 0.0.0.0:8080"),
    Row(listen: "0.0.0.0", admin: "127.0.0.1:9090", named: [.metrics], refusal: "--public: metrics would answer"),
    Row(listen: "0.0.0.0", named: [.dashboard], refusal: "--public: dashboard and status would answer"),
    Row(admin: "127.0.0.1:8080", refusal: "--listen and --admin-listen are both 127.0.0.1:8080"),
  ]

  @Test("a daemon does not start if other machines could reach pages or status without a token", arguments: refused)
  func unsafePlan(_ row: Row) throws {
    let refusal = try #require(ListenerPlan(row.settings.server).refusal)
    #expect(refusal.contains(row.refusal ?? "-"))
    #expect(row.settings.problems.first == refusal)
    guard !refusal.contains("are both") else { return }
    #expect(refusal.contains("--insecure-admin") && refusal.contains("--admin-token-file"))
    var settings = row.settings
    settings.allowsInsecureAdmin = true
    #expect(ListenerPlan(settings.server).refusal == nil)
    settings.allowsInsecureAdmin = false
    settings.adminTokens = [Self.token]
    #expect(ListenerPlan(settings.server).refusal == nil)
  }

  @Test("groups are listed with commas and \"and\"")
  func groupList() {
    #expect(RouteGroup.guarded.list == "pages, dashboard, status, metrics and admin")
    #expect([RouteGroup.metrics, .pages].list == "pages and metrics")
    #expect([RouteGroup.metrics].list == "metrics" && [RouteGroup]().list == "")
  }
}
