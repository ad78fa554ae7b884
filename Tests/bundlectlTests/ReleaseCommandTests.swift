import Foundation
import HTTPTypes
import PageKit
import Testing

/// The commands that choose sources and releases, and their effects on `status` and `gc`.
struct ReleaseCommandTests {
  /// Two releases, the second current.
  private static func running(_ body: (Site) async throws -> Void) async throws {
    try await Site.running { site in
      for number in 1...2 {
        try site.publish(["a.js": "var a = \(number)"], release: "r\(number)")
        _ = try await site.preload()
      }
      try await body(site)
    }
  }

  private static func bundlectl(_ site: Site, _ arguments: String...) async throws -> Command.Result {
    try await Command.start(arguments + ["--store", site.store]).result()
  }

  private static func page(_ site: Site) async throws -> String {
    try await Command.run("cat", "a", "--store", site.store).output
  }

  @Test("a rollback is held through preloads, status says so, and follow ends it")
  func aRollbackIsHeld() async throws {
    try await Self.running { site in
      let back = try await Self.bundlectl(site, "release", "rollback")
      #expect((back.status, back.error) == (0, ""))
      #expect(back.output.contains("release r1 is current, and stays so until \"bundlectl release follow\""))
      #expect(try await Self.page(site) == "var a = 1")
      let preload = try await Command.run("preload", "--manifest", site.manifest, "--store", site.store)
      #expect(preload.status == 0)
      #expect(preload.output.contains("release r1 is held and stays current"))
      #expect(try await Self.page(site) == "var a = 1")
      let status = try await Self.bundlectl(site, "status").output
      #expect(status.contains("it stays current until \"bundlectl release follow\""))
      #expect(status.contains("release r2 is complete, and waits"))
      let json = try await Self.bundlectl(site, "status", "--json").json
      let source = try #require((json["sources"] as? [[String: Any]])?.first)
      #expect(source["heldSince"] is String)
      #expect((source["releases"] as? [[String: Any]])?.map { $0["state"] as? String } == ["incoming", "current"])
      #expect(try await Self.bundlectl(site, "release", "follow").output.contains("release r2 is current"))
      #expect(try await Self.page(site) == "var a = 2")
    }
  }

  @Test("releases are listed with their roles, and used by name")
  func listAndUse() async throws {
    try await Self.running { site in
      let json = try await Self.bundlectl(site, "release", "list", "--json").json
      let releases = try #require(json["releases"] as? [[String: Any]])
      #expect(releases.map { $0["release"] as? String } == ["r2", "r1"])
      #expect(releases.map { $0["state"] as? String } == ["current", "previous"])
      #expect(try await Self.bundlectl(site, "release", "use", "r1").status == 0)
      let list = try await Self.bundlectl(site, "release", "list").output
      #expect(list.contains("r1  held"))
      let none = try await Self.bundlectl(site, "release", "use", "r9")
      #expect(none.status == 1)
      #expect(none.error.contains("no release \"r9\"") && none.error.contains("it has r2, r1"))
      // There is no older release.
      #expect(try await Self.bundlectl(site, "release", "rollback", "r2").status == 1)
    }
  }

  @Test("releases with the same name are distinguished by digests")
  func releasesOfOneName() async throws {
    try await Site.running { (site: Site) async throws in
      for number in 1...2 {
        try site.publish(["a.js": "var a = \(number)"], release: "r", etag: "\(number)")
        #expect(try await site.preload().status == 0)
      }
      let json = try await Self.bundlectl(site, "release", "list", "--json").json
      let releases = try #require(json["releases"] as? [[String: Any]])
      let ids = releases.compactMap { $0["id"] as? String }
      #expect(ids.count == 2 && Set(ids).count == 2 && ids.allSatisfy { $0.hasPrefix("r@") }, "\(ids)")
      let unclear = try await Self.bundlectl(site, "release", "use", "r")
      #expect(unclear.status == 1)
      #expect(unclear.error.contains("name one of \(ids.joined(separator: ", "))"), "\(unclear.error)")
      #expect(try await Self.bundlectl(site, "release", "use", try #require(ids.last)).status == 0)
      #expect(try await Self.page(site) == "var a = 1")
    }
  }

  @Test("an incomplete release cannot be used")
  func incompleteRelease() async throws {
    try await Self.running { site in
      try site.publish(["a.js": "var a = 3"], release: "r3")
      site.origin.always("/b/a.js", .status(404))
      _ = try await site.preload()
      let result = try await Self.bundlectl(site, "release", "use", "r3")
      #expect(result.status == 1)
      #expect(result.error.contains("release r3 is not complete, a is missing"))
      #expect(try await Self.page(site) == "var a = 2")
    }
  }

  @Test("a forgotten source is removed with its bytes")
  func forgottenSource() async throws {
    try await Self.running { site in
      #expect(try await Self.bundlectl(site, "source", "list").output.contains(site.manifest))
      let json = try await Self.bundlectl(site, "source", "forget", site.manifest, "--json").json
      #expect(json["bytes"] as? Int == 18)
      #expect(try await Self.bundlectl(site, "source", "list").output == "nothing is stored yet\n")
      #expect(try await Self.bundlectl(site, "status", "--json").json["blobs"] as? Int == 0)
      #expect(try await Self.bundlectl(site, "source", "forget", site.manifest).status == 1)
    }
  }

  @Test("status lists bundles in no manifest, responses and partial downloads; gc gives its reasons")
  func statusListsEverything() async throws {
    try await Self.running { site in
      let store = try BundleStore(at: StoreDirectory(site.store))
      let url = try #require(PageURL(site.origin.url(for: "/other/x.js")))
      let digests = try ContentDigests(of: Array("var x".utf8))
      let download = try await store.download(for: ExpectedContent(md5: digests.md5), url: url)
      try download.begin(DownloadHead(url: url))
      try download.append(wire: Array("var x".utf8))
      _ = try await store.add(download, digests: digests, for: url)
      site.origin.serve("/data", Array("{}".utf8))
      _ = try await Command.run("fetch", site.origin.url(for: "/data"), "--store", site.store)
      let text = try await Self.bundlectl(site, "status").output
      #expect(text.contains("1 bundle in no manifest, 5 B"))
      #expect(text.contains(url.text))
      #expect(text.contains("1 response, "))
      let json = try await Self.bundlectl(site, "status", "--json").json
      #expect((json["unlisted"] as? [[String: Any]])?.first?["url"] as? String == url.text)
      #expect((json["responses"] as? [String: Any])?["entries"] as? Int == 1)
      let dry = try await Self.bundlectl(site, "gc", "--dry-run", "--unlisted", "0").output
      #expect(dry.contains("keeps release r2 of \(site.manifest), 9 B: current"))
      #expect(dry.contains("keeps \(url.text), 5 B: in no manifest"))
      #expect(dry.contains("would remove release r1 of \(site.manifest), 9 B: another took its place"))
    }
  }

  @Test("a store whose first process was killed at once is empty", arguments: ["status", "verify", "source"])
  func storeWithoutTables(_ command: String) async throws {
    try await Site.running { site in
      try site.write("", to: "store/store.sqlite")
      let result = try await Command.start(
        (command == "source" ? ["source", "list"] : [command]) + ["--store", site.store]
      ).result()
      #expect(result.status == 0)
      #expect(result.error == "")
    }
  }

  @Test("a read-only store can be read, and commands that write fail with the reason")
  func aReadOnlyStore() async throws {
    try await Self.running { site in
      try FileManager.default.removeItem(atPath: site.store + "/lock")
      try FileManager.default.createDirectory(atPath: site.store + "/lock", withIntermediateDirectories: false)
      #expect(try await Self.page(site) == "var a = 2")
      #expect(try await Self.bundlectl(site, "status").status == 0)
      let render = try await Command.run(
        "render", site.origin.url(for: "/b/a.js"), "--manifest", site.manifest, "--store", site.store)
      #expect(render.error.components(separatedBy: "nothing is stored in it").count == 2)
      let preload = try await site.preload()
      #expect(preload.status == 1)
      #expect(preload.output.contains("\(site.store)/lock"))
    }
  }

  @Test("a release that is marked as bad gives way to the good one, preloads leave it, and a new mark lifts that")
  func marks() async throws {
    try await Self.running { (site: Site) async throws in
      let early = try await Self.bundlectl(site, "release", "mark", "r2", "bad")
      #expect(early.status == 1)
      #expect(early.error.contains("the store has no good release to take its place"), "\(early.error)")
      #expect(try await Self.bundlectl(site, "release", "mark", "r1", "good").status == 0)
      let marked = try await Self.bundlectl(site, "release", "mark", "r2", "bad")
      #expect(marked.output.contains("release r2 is marked as bad; release r1 is current"), "\(marked)")
      let list = try await Self.bundlectl(site, "release", "list")
      #expect(list.output.contains("release r2 was marked as bad on this device"), "\(list.output)")
      let status = try await Self.bundlectl(site, "status")
      #expect(status.output.contains("release r2 was marked as bad on this device"), "\(status.output)")
      let preload = try await Command.run("preload", "--manifest", site.manifest, "--store", site.store)
      #expect(preload.status == 0)
      #expect(preload.output.contains("nothing of it is fetched until the server has another release"), "\(preload)")
      let doctor = try await Self.bundlectl(site, "doctor")
      #expect(doctor.status == 1)
      #expect(doctor.output.contains("✗ release    release r2 was marked as bad on this device: publish another one"))
      let use = try await Self.bundlectl(site, "release", "use", "r2")
      #expect(use.status == 1)
      #expect(use.error.contains("\"bundlectl release mark r2 trial\" gives it another trial"), "\(use.error)")
      #expect(try await Self.bundlectl(site, "release", "mark", "r2", "trial").status == 0)
      let again = try await Command.run("preload", "--manifest", site.manifest, "--store", site.store)
      #expect(again.output.contains("release r2 is current now"), "\(again)")
    }
  }
}
