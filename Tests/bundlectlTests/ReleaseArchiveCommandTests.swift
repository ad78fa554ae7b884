import Foundation
import Testing

/// `release export` and `release import`.
struct ReleaseArchiveCommandTests {
  /// A site whose release is exported to `r1.sqlar`, and whose server is away then.
  private static func exported(_ body: (Site) async throws -> Void) async throws {
    try await Site.running { site in
      try site.publish(["a.js": "var a = 1", "logo.svg": "<svg/>"])
      _ = try await site.preload()
      let result = try await Command.run("release", "export", "r1.sqlar", "--store", site.store, in: site.folder.path)
      #expect(result.status == 0, "\(result.error)")
      #expect(result.output.contains("r1.sqlar: release r1, 1 bundle, 1 file, "))
      #expect(result.output.contains("without signatures"))
      try await site.origin.refuseConnections()
      try await body(site)
    }
  }

  @Test("a release is carried to a store without network by a file")
  func roundTrip() async throws {
    try await Self.exported { site in
      let imported = try await Command.run("release", "import", "r1.sqlar", "--store", "other", in: site.folder.path)
      #expect(imported.status == 0, "\(imported.error)")
      #expect(imported.output.contains("release r1 of \(site.manifest): 2 imported, 0 up to date"))
      #expect(imported.output.contains("release r1 is current now"))
      #expect(try await Command.run("cat", "a", "--store", "other", in: site.folder.path).output == "var a = 1")
      let again = try await Command.run(
        "release", "import", "r1.sqlar", "--store", "other", "--json", in: site.folder.path)
      #expect(try again.json["imported"] as? Int == 0)
      #expect(try again.json["upToDate"] as? Int == 2)
    }
  }

  @Test("a host with keys refuses an archive without signatures")
  func unsigned() async throws {
    try await Self.exported { site in
      for arguments in [
        ["key", "new", "root.pem"], ["key", "new", "release.pem"],
        ["root", "new", "--root-key", "root.pem", "--release-key", "release.pem"],
      ] { #expect(try await Command.start(arguments, in: site.folder.path).result().status == 0) }
      let result = try await Command.run(
        "release", "import", "r1.sqlar", "--store", "other", "--root", "1.root.json", in: site.folder.path)
      #expect(result.status == 1)
      #expect(result.error.contains("is not signed"))
    }
  }

  @Test("a file that is no archive, and a release that is not stored, are named")
  func faults() async throws {
    try await Self.exported { site in
      try site.write("text", to: "text.sqlar")
      let result = try await Command.run("release", "import", "text.sqlar", "--store", "other", in: site.folder.path)
      #expect(result.status == 1)
      #expect(result.error.contains("text.sqlar is no archive of a release"))
      let none = try await Command.run(
        "release", "export", "r9.sqlar", "r9", "--store", site.store, in: site.folder.path)
      #expect(none.status == 1)
      #expect(none.error.contains("the store has no release \"r9\""))
    }
  }
}
