import Foundation
import HTTPTypes
import PageKit
import PageTesting
import Testing

struct CacheCommandTests {
  private static func running(_ body: (Site) async throws -> Void) async throws {
    try await Site.running { site in
      site.origin.serve("/fresh", Array("one".utf8), etag: "\"1\"", headers: [.cacheControl: "max-age=600"])
      site.origin.serve("/stale", Array("two".utf8), etag: "\"2\"", headers: [.cacheControl: "max-age=0"])
      for path in ["/fresh", "/stale"] {
        _ = try await Command.run("fetch", site.origin.url(for: path), "--store", site.store)
      }
      try await body(site)
    }
  }

  private static func cache(_ site: Site, _ arguments: String...) async throws -> Command.Result {
    try await Command.start(["cache"] + arguments + ["--store", site.store]).result()
  }

  private static func names(_ site: Site) async throws -> [String] {
    let entries = try await cache(site, "list", "--json").json["entries"] as? [[String: Any]] ?? []
    return entries.compactMap { ($0["key"] as? String)?.split(separator: "/").last.map(String.init) }.sorted()
  }

  @Test("list and stats show the stored responses")
  func listAndStats() async throws {
    try await Self.running { site in
      #expect(try await Self.names(site) == ["fresh", "stale"])
      let stats = try await Self.cache(site, "stats", "--json").json
      #expect(stats["entries"] as? Int == 2)
      #expect((stats["bytes"] as? Int ?? 0) > 6)
      #expect(try await Self.cache(site, "list").output.contains("fresh "))
    }
  }

  @Test("prune removes stale responses that are not kept")
  func prune() async throws {
    try await Self.running { site in
      _ = try await Self.cache(site, "prune")
      #expect(try await Self.names(site) == ["fresh"])
      _ = try await Command.run("fetch", site.origin.url(for: "/stale"), "--store", site.store)
      #expect(try await Self.cache(site, "keep", site.origin.url(for: "/stale")).output == "kept\n")
      _ = try await Self.cache(site, "prune")
      #expect(try await Self.names(site) == ["fresh", "stale"])
      let stats = try await Self.cache(site, "stats", "--json").json
      #expect(stats["keptEntries"] as? Int == 1)
      _ = try await Self.cache(site, "unkeep", site.origin.url(for: "/stale"))
      _ = try await Self.cache(site, "prune")
      #expect(try await Self.names(site) == ["fresh"])
    }
  }

  @Test("clear, prune, keep and unkeep report as JSON")
  func changesAsJSON() async throws {
    try await Self.running { site in
      let fresh = site.origin.url(for: "/fresh")
      let kept = try await Self.cache(site, "keep", fresh, "--json").json
      #expect((kept["kept"] as? Bool, kept["url"] as? String) == (true, fresh))
      #expect(try await Self.cache(site, "unkeep", fresh, "--json").json["kept"] as? Bool == false)
      #expect(try await Self.cache(site, "prune", "--json").json["removed"] as? Int == 1)
      #expect(try await Self.cache(site, "clear", fresh, "--json").json["removed"] as? Int == 1)
      #expect(try await Self.cache(site, "clear", "--all", "--json").json["removed"] as? Int == 0)
      let nothing = try await Self.cache(site, "keep", fresh, "--json")
      #expect(nothing.status == 1)
      #expect((try nothing.json["error"] as? String)?.contains("nothing is stored") == true)
    }
  }

  @Test("clear removes one URL or everything")
  func clear() async throws {
    try await Self.running { site in
      #expect(try await Self.cache(site, "clear", site.origin.url(for: "/fresh")).output == "removed\n")
      #expect(try await Self.names(site) == ["stale"])
      // Nobody can be asked here.
      let unclear = try await Self.cache(site, "clear")
      #expect(unclear.status == 64 && unclear.error.contains("remove everything with --all"), "\(unclear.error)")
      #expect(try await Self.cache(site, "clear", "http://h/a", "--all").status == 64)
      #expect(try await Self.names(site) == ["stale"])
      #expect(try await Self.cache(site, "clear", "--all").output == "removed 1 response\n")
      #expect(try await Self.names(site).isEmpty)
    }
  }

  @Test("keeping a URL that is not stored is reported")
  func keepMissing() async throws {
    try await Self.running { site in
      let result = try await Self.cache(site, "keep", site.origin.url(for: "/other"))
      #expect(result.status == 1)
      #expect(result.error.contains("nothing is stored"))
    }
  }

  @Test("explain shows decision, rule and clause, and sends no request")
  func explain() async throws {
    try await Self.running { site in
      let before = site.origin.requests.count
      func explain(_ path: String, _ more: String...) async throws -> [String: Any] {
        try await Command.start(
          ["explain", site.origin.url(for: path), "--json", "--store", site.store] + more
        ).result().json
      }
      let fresh = try await explain("/fresh")
      #expect(fresh["decision"] as? String == "serve")
      #expect(fresh["clause"] as? String == "RFC 9111 §4.2")
      #expect((fresh["freshFor"] as? Int).map { (500...600).contains($0) } == true)
      #expect(fresh["staleFor"] is NSNull)
      #expect(fresh["etag"] as? String == "\"1\"")
      #expect(fresh["kept"] as? Bool == false)
      #expect(fresh["behavior"] as? String == "protocolCache")
      let stale = try await explain("/stale")
      #expect(stale["decision"] as? String == "revalidate")
      #expect(stale["rule"] as? String == "it is stale")
      let absent = try await explain("/absent", "--policy", "cacheOnly")
      #expect(absent["decision"] as? String == "refuse")
      #expect(absent["storedAt"] is NSNull)
      #expect(site.origin.requests.count == before)
    }
  }

  @Test("clearing the cache leaves regions untouched")
  func regions() async throws {
    try await Self.running { site in
      _ = try await Command.run(
        "fetch", site.origin.url(for: "/fresh"), "--store", site.store, "--region", "account 7/../x")
      #expect(try await Self.cache(site, "clear", "--all").status == 0)
      let region = try await Self.cache(site, "stats", "--json", "--region", "account 7/../x").json
      #expect(region["entries"] as? Int == 1)
    }
  }

  @Test("an answer that a read-only store keeps is given and listed")
  func readOnlyResponses() async throws {
    try await Site.running { (site: Site) async throws in
      site.origin.serve("/kept.json", Array("{}".utf8))
      let url = site.origin.url(for: "/kept.json")
      _ = try await Command.run("fetch", url, "--store", site.store)
      #expect(try await Command.run("cache", "keep", url, "--store", site.store).status == 0)
      try await site.origin.refuseConnections()
      // The superuser may write everywhere: the folder is given to another user without write permission, who runs the
      // command.
      let isSuperuser = geteuid() == 0
      let prefix = isSuperuser ? "exec setpriv --reuid nobody --clear-groups env TMPDIR=/tmp" : "exec"
      func shell(_ command: String) async throws -> Command.Result {
        try await Command.start(shell: "cd '\(site.folder.path)' && \(command)").result()
      }
      func bundlectl(_ arguments: String) async throws -> Command.Result {
        try await shell("\(prefix) '\(Command.executable.path)' \(arguments) --store store")
      }
      if isSuperuser { #expect(try await shell("chown -R nobody .").status == 0) }
      #expect(try await shell("chmod -R a-w store").status == 0)
      let fetched = try await bundlectl("fetch \(url) --policy cacheOnly")
      #expect(fetched.output == "{}", "\(fetched.error)")
      #expect(try await bundlectl("cache list").output.contains("kept.json"))
      #expect(try await bundlectl("cache stats").output.contains("1 kept"))
      #expect(try await bundlectl("cache unkeep \(url)").status == 1)
      #expect(try await shell("chmod -R u+w store").status == 0)
    }
  }
}
