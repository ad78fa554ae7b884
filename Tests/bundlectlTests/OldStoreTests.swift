import Foundation
import PageTesting
import TestSupport
import Testing

/// A store that an earlier program wrote opens, and goes on.
///
/// `Fixtures/store-9.tar.gz` is what `bundlectl` of the commit d1c88047 left: a store of version 9, held at the first of
/// two releases, the second of which is good, with a page's `storage`; responses of version 4, one of them kept, two of
/// them variants, one long and one of a shared cache; and the second release in one file. Nothing answers at its URLs.
struct OldStoreTests {
  private static let manifest = "http://pages.test:8080/manifest.json"

  /// A copy of what the earlier program left.
  private struct Copy {
    let folder: TemporaryDirectory

    func run(_ arguments: String...) async throws -> Command.Result {
      let result = try await Command.start(arguments + ["--store", folder.file("store")], in: folder.path).result()
      #expect(result.status == 0, "\(arguments): \(result.error)\(result.output)")
      return result
    }

    func cached(_ path: String, _ more: String...) async throws -> String {
      let fetch = ["fetch", "-p", "cacheOnly", "http://api.test:8081\(path)", "--store", folder.file("store")]
      return try await Command.start(fetch + more).result().output
    }

    /// The text that the page `home` shows without a network.
    func home() async throws -> String {
      try await run("render", "home", "--offline", "--manifest", OldStoreTests.manifest).output
    }
  }

  private static func opened(_ body: (Copy) async throws -> Void) async throws {
    try await TemporaryDirectory.with { folder in
      let archive = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Fixtures/store-9.tar.gz")
      let unpacked = try await RunningProgram("tar", ["-xzf", archive.path, "-C", folder.path]).result()
      try #require(unpacked.status == 0, "\(unpacked.error)")
      try await body(Copy(folder: folder))
    }
  }

  @Test("an old store's releases open as they were held, and follow their source again")
  func releases() async throws {
    try await Self.opened { copy in
      let verified = try await copy.run("verify", "--json").json
      #expect((verified["ok"] as? Int, verified["checked"] as? Int) == (3, 3))
      let releases = try await copy.run("release", "list", "--json").json["releases"] as? [[String: Any]] ?? []
      #expect(releases.map { $0["release"] as? String } == ["2026.11.28-2", "2026.11.28-1"])
      #expect(releases.map { $0["standing"] as? String } == ["good", "trial"])
      #expect(releases.map { $0["isHeld"] as? Bool } == [false, true])
      #expect(try await copy.home().contains("value=\"one\""))
      _ = try await copy.run("release", "follow")
      #expect(try await copy.home().contains("value=\"two\""))
      #expect(try await copy.run("gc", "--json").json["releases"] as? Int == 1)
      #expect(try await copy.run("verify", "--json").json["ok"] as? Int == 3)
    }
  }

  @Test("an old store's responses answer, by their variants and for their caches")
  func responses() async throws {
    try await Self.opened { copy in
      #expect(try await copy.cached("/list", "-H", "Accept-Language: de") == "list de")
      #expect(try await copy.cached("/list", "-H", "Accept-Language: fr").isEmpty)
      #expect(try await copy.cached("/old") == "old")
      #expect(try await copy.cached("/long") == String(repeating: "long ", count: 8000))
      #expect(try await copy.cached("/shared", "--shared") == "shared")
      #expect(try await copy.cached("/shared").isEmpty)
      let stats = try await copy.run("cache", "stats", "--json").json
      #expect((stats["entries"] as? Int, stats["keptEntries"] as? Int) == (5, 1))
      _ = try await copy.run("cache", "clear", "--all", "--json")
      #expect(try await copy.run("cache", "stats", "--json").json["entries"] as? Int == 0)
    }
  }

  @Test("values that a page has stored with an old program are there for its script")
  func storage() async throws {
    try await Self.opened { copy in
      let script = """
        // { "framework": "Vanilla" }
        const body = weex.document.createBody('div')
        weex.document.documentElement.appendChild(body)
        weex.requireModule('storage').getItem('visits', (answer) => {
          body.appendChild(weex.document.createElement('text', { attr: { value: 'visits ' + answer.data } }))
        })
        """
      try Data(script.utf8).write(to: URL(fileURLWithPath: copy.folder.file("visits.js")))
      #expect(try await copy.run("render", "visits.js").output.contains("value=\"visits 1\""))
    }
  }

  @Test("a release that an old program wrote to one file is imported")
  func archive() async throws {
    try await Self.opened { copy in
      let store = copy.folder.file("other")
      let arguments = [
        "release", "import", copy.folder.file("pages.release"), "--manifest", Self.manifest, "--store", store,
      ]
      let imported = try await Command.start(arguments).result()
      #expect(imported.status == 0, "\(imported.error)")
      let shown = try await Command.run(
        "render", "home", "--offline", "--manifest", Self.manifest, "--store", store)
      #expect(shown.output.contains("value=\"two\""))
    }
  }
}
