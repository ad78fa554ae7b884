import Foundation
import PageKit
import PageTesting
import PageWorkers
import ServerKit
import Testing

@testable import RenderHost

/// `renderhost --bundles DIR --gate`: a release whose pages fail is not served.
@Suite(.timeLimit(.minutes(3)))
struct FolderGateTests {
  private static let page = """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div');
    b.appendChild(d.createElement('text', { attr: { value: 'a' } }));
    d.documentElement.appendChild(b);

    """

  private static func running(
    _ mode: GateMode, _ pages: [String: String], _ body: @escaping @Sendable (ServingFixture) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    for (path, text) in pages { try ServingFixture.write(text, to: directory.file("bundles/\(path)")) }
    try await ServingFixture.running(
      directory,
      {
        $0.bundles = directory.file("bundles")
        $0.gate = mode
      }, body)
  }

  private static func outcomes(_ host: ServingFixture, _ outcome: String) throws -> Double {
    try host.count("renderhost_gate_total", ["outcome": outcome])
  }

  @Test("a host goes on serving the former release, says why, and serves the repaired one")
  func refused() async throws {
    try await Self.running(.fail, ["home.js": Self.page, "gate.json": "{}"]) { (host: ServingFixture) async throws in
      let former = try await host.manifest()
      // The settings of the gate are no file of the release.
      #expect(former.files.isEmpty)
      #expect(try Self.outcomes(host, "passed") == 1)

      try host.write(Self.page + "gone();", "home.js")
      try await host.wait(within: .seconds(60)) { $0.refusal != nil && $0.problem != nil }
      let refusal = try #require(host.feed.refusal)
      #expect(refusal.contains("the gate refuses release ") && refusal.contains("home: threw"), "\(refusal)")
      #expect(host.feed.problem == refusal && host.feed.readiness.isReady)
      #expect(try await host.manifest() == former)
      #expect(try await host.get("/bundles/home.js").text == Self.page)
      #expect(host.record.failures.latest.first?.message.contains("the gate refuses") == true)
      #expect(try Self.outcomes(host, "refused") == 1)

      try host.write(Self.page + "// repaired", "home.js")
      try await host.waitForRelease("home.js", Self.page + "// repaired", within: .seconds(60))
      try await host.wait { $0.refusal == nil && $0.problem == nil }
      #expect(try await host.manifest().sequence == former.sequence + 1)
    }
  }

  @Test("a refused release whose folder goes back to the former one leaves no problem")
  func undone() async throws {
    try await Self.running(.fail, ["home.js": Self.page]) { (host: ServingFixture) async throws in
      let former = try await host.manifest()
      try host.write(Self.page + "gone();", "home.js")
      try await host.wait(within: .seconds(60)) { $0.refusal != nil }
      try host.write(Self.page, "home.js")
      try await host.wait(within: .seconds(60)) { $0.refusal == nil && $0.problem == nil }
      #expect(try await host.manifest() == former)
    }
  }

  @Test("an exemption in gate.json lets the refused release pass without another change")
  func exemption() async throws {
    try await Self.running(.fail, ["home.js": Self.page]) { (host: ServingFixture) async throws in
      try host.write(Self.page + "gone();", "home.js")
      try await host.wait(within: .seconds(60)) { $0.refusal != nil }
      try host.write(
        #"{"exemptions": [{"page": "home", "reason": "soon", "until": "9999-12-31"}]}"#, "gate.json")
      try await host.waitForRelease("home.js", Self.page + "gone();", within: .seconds(60))
    }
  }

  @Test("settings of the gate that cannot be read keep a release from being served")
  func unreadable() async throws {
    try await Self.running(.fail, ["home.js": Self.page]) { (host: ServingFixture) async throws in
      try host.write("{\"budget\": 1}", "gate.json")
      try host.write(Self.page + "// 2", "home.js")
      try await host.wait(within: .seconds(60)) { $0.refusal?.contains("gate.json:1:12: there is no member") == true }
      #expect(try await host.get("/bundles/home.js").text == Self.page)
    }
  }

  @Test("with warn, a release whose page fails is served")
  func warned() async throws {
    try await Self.running(.warn, ["home.js": Self.page]) { (host: ServingFixture) async throws in
      try host.write(Self.page + "gone();", "home.js")
      try await host.waitForRelease("home.js", Self.page + "gone();", within: .seconds(60))
      #expect(host.feed.refusal == nil)
      #expect(try Self.outcomes(host, "warned") == 1)
    }
  }

  @Test("the gate needs a folder")
  func combination() throws {
    var settings = Settings()
    settings.manifest = PageURL("https://pages.example.com/manifest.json")
    settings.gate = .fail
    #expect(throws: SettingsError.self) { try settings.checkCombinations() }
  }
}
