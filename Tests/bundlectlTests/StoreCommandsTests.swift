import Foundation
import HTTPTypes
import PageKit
import PageTesting
import Testing

struct StoreCommandsTests {
  private static let texts = ["a.js": "var a = 1", "b.js": "var b = 2", "i/x.png": "picture"]

  private static func running(_ body: (Site) async throws -> Void) async throws {
    try await Site.running { site in
      try site.publish(texts)
      _ = try await site.preload()
      try await body(site)
    }
  }

  private static func verify(_ site: Site, _ more: String...) async throws -> (status: Int32, json: [String: Any]) {
    let result = try await Command.start(["verify", "--store", site.store, "--json"] + more).result()
    return (result.status, try result.json)
  }

  @Test("verify fails where there is no store, and succeeds on an empty one")
  func verifyEmpty() async throws {
    try await Site.running { site in
      for folder in [site.store, "/etc"] {
        let absent = try await Command.run("verify", "--store", folder)
        #expect(absent.status == 1 && absent.error.contains("there is no store at \(folder)"), "\(absent.error)")
      }
      try site.write("", to: "store/store.sqlite")
      #expect(
        try await Command.run("verify", "--store", site.store).output == "nothing is stored, and nothing was checked\n")
      let (status, json) = try await Self.verify(site)
      #expect(status == 0)
      #expect((json["checked"] as? Int, json["ok"] as? Int) == (0, 0))
      for key in ["corrupt", "missing", "serverDiffers", "repaired"] {
        #expect((json[key] as? [String]) == [], "\(key)")
      }
    }
  }

  @Test("verify names corrupt and missing files")
  func verifyNames() async throws {
    try await Self.running { site in
      #expect(try await Self.verify(site).status == 0)
      try site.damage("var a = 1")
      try FileManager.default.removeItem(atPath: site.blobPath("picture"))
      let (status, json) = try await Self.verify(site)
      #expect(status == 1)
      #expect(json["corrupt"] as? [String] == ["a"])
      #expect(json["missing"] as? [String] == ["i/x.png"])
      #expect((json["checked"] as? Int, json["ok"] as? Int) == (3, 1))
    }
  }

  @Test("verify repairs files that the server still has")
  func verifyRepairs() async throws {
    try await Self.running { site in
      try site.damage("var a = 1")
      try FileManager.default.removeItem(atPath: site.blobPath("picture"))
      let (status, json) = try await Self.verify(site, "--repair")
      #expect(status == 0)
      #expect(json["repaired"] as? [String] == ["a", "i/x.png"])
      #expect(try await Self.verify(site).status == 0)
      #expect(try FileManager.default.contentsOfDirectory(atPath: site.store + "/quarantine").count == 1)
    }
  }

  @Test("a repaired file counts as intact")
  func repairedOnesAreCounted() async throws {
    try await Self.running { site in
      try site.damage("var a = 1")
      let result = try await Command.run("verify", "--repair", "--store", site.store)
      #expect(
        result.output.contains("3 of 3 are intact, 1 of them repaired; no problems"), "\(result.output)")
    }
  }

  @Test("verify names files that could not be repaired")
  func verifyUnrepaired() async throws {
    try await Self.running { site in
      try site.damage("var a = 1")
      site.origin.always("/b/a.js", .status(404))
      let (status, json) = try await Self.verify(site, "--repair")
      #expect(status == 1)
      #expect(json["repaired"] as? [String] == [])
      #expect((json["errors"] as? [String])?.first?.contains("404") == true)
    }
  }

  @Test("verify compares with the server")
  func verifyServer() async throws {
    try await Self.running { site in
      try site.publish(["a.js": "var a = 11", "b.js": "var b = 2", "i/x.png": "picture"], release: "r2")
      let (status, json) = try await Self.verify(site, "--server")
      #expect(status == 1)
      #expect(json["serverDiffers"] as? [String] == ["a"])
      #expect(json["corrupt"] as? [String] == [])
    }
  }

  @Test("preload downloads damaged bytes again")
  func preloadRepairs() async throws {
    try await Self.running { site in
      try site.damage("var a = 1")
      #expect(try await site.preload().json["downloaded"] as? Int == 1)
      #expect(try await Self.verify(site).status == 0)
    }
  }

  @Test("cat writes the bytes of a name, a path or a URL")
  func cat() async throws {
    try await Self.running { site in
      for (name, text) in ["a": "var a = 1", "i/x.png": "picture", site.origin.url(for: "/b/b.js"): "var b = 2"] {
        #expect(try await Command.run("cat", name, "--store", site.store).output == text)
      }
      let none = try await Command.run("cat", "none", "--store", site.store)
      #expect((none.status, none.output) == (1, ""))
      #expect(none.error.contains("none"))
    }
  }

  @Test("cat does not write damaged bytes")
  func catDamaged() async throws {
    try await Self.running { site in
      try site.damage("var a = 1")
      let result = try await Command.run("cat", "a", "--store", site.store)
      #expect((result.status, result.output) == (1, ""))
      #expect(result.error.contains("verify --repair"))
    }
  }

  @Test("with several sources a name needs its manifest")
  func severalSources() async throws {
    try await Self.running { site in
      let md5 = try ContentDigests(of: Array("var b = 2".utf8)).md5
      let entry = #"{"name": "b", "path": "b/b.js", "md5": "\#(md5)"}"#
      site.origin.serve("/other.json", Array(#"{"schema": 1, "release": "o", "bundles": [\#(entry)]}"#.utf8))
      _ = try await Command.run(
        "preload", "--manifest", site.origin.url(for: "/other.json"), "--store", site.store, "--json")
      let without = try await Command.run("cat", "a", "--store", site.store)
      #expect(without.status == 64)
      #expect(without.error.contains("--manifest"))
      let with = try await Command.run("cat", "a", "--store", site.store, "--manifest", site.manifest)
      #expect(with.output == "var a = 1")
    }
  }

  @Test("status shows releases and bundles")
  func status() async throws {
    try await Self.running { site in
      let json = try await Command.run("status", "--store", site.store, "--json").json
      #expect(json["blobs"] as? Int == 3)
      let source = try #require((json["sources"] as? [[String: Any]])?.first)
      #expect(source["current"] as? String == "r1")
      #expect((source["entries"] as? [[String: Any]])?.map { $0["stored"] as? Bool } == [true, true, true])
      let text = try await Command.run("status", "--store", site.store).output
      #expect(text.contains("release r1 (sequence 3), current since"))
    }
  }

  @Test("gc removes unneeded files, and a dry run only lists them")
  func gc() async throws {
    try await Self.running { site in
      try site.publish(["a.js": "var a = 11"], release: "r2")
      _ = try await site.preload()
      let dry = try await Command.run("gc", "--dry-run", "--store", site.store, "--json").json
      #expect(dry["blobs"] as? Int == 3)
      let real = try await Command.run("gc", "--store", site.store, "--json").json
      #expect((real["blobs"] as? Int, real["releases"] as? Int) == (3, 1))
      #expect(try await Command.run("gc", "--store", site.store, "--json").json["blobs"] as? Int == 0)
      #expect(try await Command.run("cat", "a", "--store", site.store).output == "var a = 11")
    }
  }

  @Test("doctor checks the server and names the libraries")
  func doctor() async throws {
    try await Self.running { site in
      let well = try await Command.run("doctor", "--store", site.store, "--json")
      #expect(well.status == 0)
      let checks = try #require(try well.json["checks"] as? [[String: Any]])
      #expect(
        checks.map { $0["name"] as? String }
          == ["store", "space", "server", "manifest", "signed", "clock", "pages", "pictures", "libraries"])
      #expect((checks.last?["detail"] as? String)?.contains("libcurl") == true)
      try await site.origin.refuseConnections()
      #expect(try await Command.run("doctor", "--store", site.store, "--json").status == 1)
    }
  }

  @Test("doctor ticks only checks that it has run")
  func doctorSkips() async throws {
    let folder = try TemporaryDirectory()
    let result = try await Command.run("doctor", "--store", folder.file("store"))
    #expect(result.status == 0)
    #expect(result.output.contains("– server"))
    #expect(result.output.contains("– clock"))
    #expect(result.output.contains("✓ store"))
    let json = try await Command.run("doctor", "--store", folder.file("store"), "--json").json
    let checks = try #require(json["checks"] as? [[String: Any]])
    let server = try #require(checks.first { $0["name"] as? String == "server" })
    #expect(server["ok"] is NSNull)
  }

  @Test("doctor reads the manifest as a preload does, and reports its errors")
  func doctorReadsTheManifest() async throws {
    try await Self.running { site in
      func manifest() async throws -> [String: Any] {
        let result = try await Command.run("doctor", "--store", site.store, "--json")
        let checks = try #require(try result.json["checks"] as? [[String: Any]])
        #expect(result.status == (checks.allSatisfy { $0["ok"] as? Bool != false } ? 0 : 1))
        return try #require(checks.first { $0["name"] as? String == "manifest" })
      }
      let well = try await manifest()
      #expect(well["ok"] as? Bool == true)
      #expect((well["detail"] as? String)?.contains("release r1: 2 bundles, 1 file") == true, "\(well)")
      site.origin.always("/manifest.json", .html("<html>sign in</html>"))
      let portal = try await manifest()
      #expect(portal["ok"] as? Bool == false)
      #expect((portal["detail"] as? String)?.contains("it looks like HTML") == true, "\(portal)")
      site.origin.always("/manifest.json", .replace(Array(#"{"schema": 1, "release": "r1", "bundles": [{}]}"#.utf8)))
      #expect((try await manifest()["detail"] as? String)?.contains("bundles[0]") == true)
    }
  }

  @Test("doctor compares the clocks")
  func doctorClock() async throws {
    try await Self.running { site in
      site.origin.serve("/manifest.json", Array("{}".utf8), headers: [.date: "Sun, 06 Nov 1994 08:49:37 GMT"])
      let result = try await Command.run("doctor", "--store", site.store)
      #expect(result.status == 1)
      #expect(result.output.contains("set the clock"))
    }
  }
}
