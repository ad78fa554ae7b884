import Foundation
import PageKit
import Releases
import Testing

/// `manifest status`, and what `manifest verify` says about it.
struct StatusSigningTests {
  /// Runs a command that must fail.
  private static func failure(_ site: Site, _ arguments: String...) async throws -> String {
    let result = try await Command.start(arguments, in: site.folder.path).result()
    #expect(result.status != 0, "\(arguments)")
    return result.output + result.error
  }

  /// A signed release of two pages, and a root with an online key.
  private static func publishing(_ body: (Site) async throws -> Void) async throws {
    try await Site.running { site in
      for name in ["a", "pay"] { try site.write("var \(name)", to: "pages/\(name).js") }
      try await site.run("manifest", "build", "pages", "-o", "manifest.json")
      for name in ["root", "release", "online"] { try await site.run("key", "new", "\(name).pem") }
      try await site.run(
        "root", "new", "--root-key", "root.pem", "--release-key", "release.pem", "--online-key", "online.pem")
      try await site.run("manifest", "sign", "--key", "release.pem", "--expires-in", "300d")
      try await body(site)
    }
  }

  private static func status(_ site: Site) throws -> ReleaseStatus {
    try ReleaseStatus(reading: Array(Data(contentsOf: URL(fileURLWithPath: site.folder.file("status.json")))))
  }

  private static func verified(_ site: Site) async throws -> [String: Any] {
    try #require(
      try await site.run("manifest", "verify", "--root", "1.root.json", "--json").json["status"] as? [String: Any])
  }

  @Test("a root with an online key asks for a status, which that key signs")
  func signing() async throws {
    try await Self.publishing { site in
      let failure = try await Self.failure(site, "manifest", "verify", "--root", "1.root.json")
      #expect(failure.contains("there is no status.json beside the manifest"), "\(failure)")
      #expect(failure.contains(#"asks for: make one with "bundlectl manifest status""#), "\(failure)")
      let signed = try await site.run("manifest", "status", "--key", "online.pem", "--expires-in", "1d")
      #expect(signed.output.contains("status.json.sig: status 1 of release"))
      let status = try await Self.verified(site)
      #expect(status["sequence"] as? Int == 1)
      let read = try Self.status(site)
      #expect(read.expires.seconds - read.signed.seconds == 86_400)
      let root = try await site.run("root", "verify", "1.root.json")
      #expect(root.output.contains("1 of 1 for online"))
    }
  }

  @Test("bundles are disabled and enabled by one status after the other")
  func disabling() async throws {
    try await Self.publishing { site in
      try await site.run(
        "manifest", "status", "--key", "online.pem", "--disable", "pay=Off: 2 = 2.", "--disable", "old=Gone.")
      let status = try await Self.verified(site)
      let disabled = try #require(status["disabled"] as? [[String: String]])
      #expect(disabled == [["bundle": "old", "message": "Gone."], ["bundle": "pay", "message": "Off: 2 = 2."]])
      try await site.run("manifest", "status", "--key", "online.pem", "--enable", "old")
      #expect(try Self.status(site).disabled.map(\.bundle) == ["pay"])
      #expect(try Self.status(site).sequence == 2)
      #expect(
        try await Self.failure(site, "manifest", "status", "--key", "online.pem", "--enable", "old")
          .contains("status.json does not disable \"old\""))
      for wrong in ["pay", "=text", "pay="] {
        _ = try await Self.failure(site, "manifest", "status", "--key", "online.pem", "--disable", wrong)
      }
      #expect(try Self.status(site).sequence == 2)
    }
  }

  @Test("a halt and a way back stay for as long as the release does")
  func halt() async throws {
    try await Self.publishing { site in
      for name in ["manifest.json", "manifest.json.sig"] {
        try FileManager.default.copyItem(atPath: site.folder.file(name), toPath: site.folder.file("old-\(name)"))
      }
      try site.write("var a = 2", to: "pages/a.js")
      try await site.run("manifest", "build", "pages", "-o", "manifest.json")
      #expect(
        try await Self.failure(site, "manifest", "status", "--key", "online.pem")
          .contains("manifest.json has no signatures of its bytes beside it"))
      try await site.run("manifest", "sign", "--key", "release.pem", "--expires-in", "300d")
      try await site.run(
        "manifest", "status", "--key", "online.pem", "--halt", "--rollback-to", "old-manifest.json",
        "--disable", "pay=Off.")
      #expect(try Self.status(site).isHalted && Self.status(site).rollbackTo?.sequence == 1)
      try await site.run("manifest", "status", "--key", "online.pem", "--no-rollback")
      #expect(try Self.status(site).isHalted && Self.status(site).rollbackTo == nil)
      try await site.run("manifest", "status", "--key", "online.pem", "--rollback-to", "old-manifest.json")
      try await site.run("manifest", "verify", "--root", "1.root.json")
      try site.write("var a = 3", to: "pages/a.js")
      try await site.run("manifest", "build", "pages", "-o", "manifest.json")
      try await site.run("manifest", "sign", "--key", "release.pem", "--expires-in", "300d")
      #expect(
        try await Self.failure(site, "manifest", "verify", "--root", "1.root.json").contains("the status is of release")
      )
      #expect(
        try await Self.failure(site, "manifest", "status", "--key", "online.pem", "--rollback-to", "manifest.json")
          .contains("it goes back to sequence 3, which must be lower"))
      try await site.run("manifest", "status", "--key", "online.pem")
      let status = try Self.status(site)
      #expect(!status.isHalted && status.rollbackTo == nil && status.disabled.map(\.bundle) == ["pay"])
      #expect(status.sequence == 4 && status.release.sequence == 3)
    }
  }

  @Test("several people sign a status one after the other")
  func severalSigners() async throws {
    try await Self.publishing { site in
      try await site.run("key", "new", "two.pem")
      let rotated = try await site.run(
        "root", "rotate", "1.root.json", "--add-online-key", "two.pem", "--online-threshold", "2", "--key",
        "root.pem")
      #expect(rotated.output.contains("2 of 2 for online"))
      try await site.run("manifest", "status", "--key", "online.pem")
      #expect(
        try await Self.failure(site, "manifest", "verify", "--root", "1.root.json")
          .contains("the status has valid signatures of 1 trusted keys, 2 are needed"))
      try await site.run("manifest", "status", "--key", "two.pem")
      #expect(try await Self.verified(site)["sequence"] as? Int == 1)
    }
  }

  @Test("preload needs the status, and the import of an exported release does not")
  func archive() async throws {
    try await Self.publishing { site in
      for path in ["manifest.json", "manifest.json.sig", "pages/a.js", "pages/pay.js"] {
        site.origin.serve("/s/\(path)", Array(try Data(contentsOf: URL(fileURLWithPath: site.folder.file(path)))))
      }
      let url = site.origin.url(for: "/s/manifest.json")
      #expect(
        try await Self.failure(site, "preload", "--manifest", url, "--store", "one", "--root", "1.root.json")
          .contains("there is no status.json beside the manifest"))
      try await site.run("manifest", "status", "--key", "online.pem", "--disable", "pay=Off.")
      for path in ["status.json", "status.json.sig"] {
        site.origin.serve("/s/\(path)", Array(try Data(contentsOf: URL(fileURLWithPath: site.folder.file(path)))))
      }
      let report = try await site.run("preload", "--manifest", url, "--store", "one", "--root", "1.root.json")
      #expect(report.output.contains("disabled by the publisher: pay"))
      #expect(site.origin.requestCount(path: "/s/pages/pay.js") == 0)
      try await site.run("preload", "--manifest", url, "--store", "two")
      try await site.run("release", "export", "r.sqlar", "--store", "two")
      try await site.run("release", "import", "r.sqlar", "--store", "three", "--root", "1.root.json")
    }
  }

  @Test("without its last key the role goes, and with it the status")
  func withoutRole() async throws {
    try await Self.publishing { site in
      let rotated = try await site.run(
        "root", "rotate", "1.root.json", "--remove-online-key", "online.pem", "--key", "root.pem")
      #expect(!rotated.output.contains("online"))
      try await site.run("manifest", "verify", "--root", "1.root.json")
    }
  }
}
