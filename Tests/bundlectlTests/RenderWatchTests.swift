import Foundation
import PageKit
import PageTesting
import Testing

struct RenderWatchTests {
  private struct Timeout: Error {
    let found: String
  }

  /// Runs `render --watch`, and waits for its output.
  private static func watching(
    _ site: Site, _ target: String? = nil, _ more: [String] = [],
    _ body: (_ wait: (String) async throws -> Void) async throws -> Void
  ) async throws {
    let output = site.folder.file("out.txt")
    let running = try Command.start(
      ["render", target ?? site.folder.file("a.js"), "--watch", "-o", output, "--store", site.store] + more)
    func wait(for text: String) async throws {
      let deadline = ContinuousClock.now + .seconds(60)
      var found = ""
      while !found.contains(text) {
        guard .now < deadline else { throw Timeout(found: found) }
        try await Task.sleep(for: .milliseconds(20))
        found = ((try? String(contentsOfFile: output, encoding: .utf8)) ?? "") + running.text(of: .error)
      }
    }
    do {
      try await body(wait)
    } catch {
      running.send(SIGINT)
      throw error
    }
    running.send(SIGINT)
    _ = await running.result()
  }

  @Test("a changed file is rendered again, whether written or replaced")
  func changedFile() async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(Site.script("first"), to: "a.js")
      try await Self.watching(site) { wait in
        try await wait("first")
        // The file is written in place.
        let file = try #require(FileHandle(forWritingAtPath: site.folder.file("a.js")))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: Data(Site.script("second").utf8))
        try file.close()
        try await wait("second")
        // The file is replaced by another one of the same age, as editors do.
        try site.write(Site.script("third!"), to: "b.js")
        var former = stat()
        #expect(stat(site.folder.file("a.js"), &former) == 0)
        #expect(utimensat(AT_FDCWD, site.folder.file("b.js"), [former.st_atim, former.st_mtim], 0) == 0)
        #expect(rename(site.folder.file("b.js"), site.folder.file("a.js")) == 0)
        try await wait("third!")
        // The file is removed, and restored.
        try FileManager.default.removeItem(atPath: site.folder.file("a.js"))
        try site.write(Site.script("fourth"), to: "a.js")
        try await wait("fourth")
      }
    }
  }

  @Test(
    "a signal ends an ephemeral run, watching or not, and leaves nothing behind", arguments: [SIGINT, SIGTERM, SIGHUP])
  func interruptedEphemeralRun(_ signal: Int32) async throws {
    try await Site.running { (site: Site) async throws in
      site.origin.hold("/slow.json")
      let waiting =
        Site.script("shown")
        + "\nweex.requireModule('stream').fetch({ url: '\(site.origin.url(for: "/slow.json"))' }, function () {})"
      try site.write(waiting, to: "waiting.js")
      try site.write(Site.script("shown"), to: "a.js")
      try site.write("", to: "tmp/x")
      let environment = ["TMPDIR": site.folder.file("tmp")]
      let watching = try Command.start(
        ["render", site.folder.file("a.js"), "--watch", "--ephemeral", "-o", site.folder.file("out.txt")],
        environment: environment)
      let deadline = ContinuousClock.now + .seconds(60)
      while !watching.text(of: .error).contains("written to") {
        guard .now < deadline else { throw Timeout(found: watching.text(of: .error)) }
        try await Task.sleep(for: .milliseconds(20))
      }
      let rendering = try Command.start(
        ["render", site.folder.file("waiting.js"), "--ephemeral", "--wait", "60"], environment: environment)
      try await site.origin.waitForRequests(1, to: "/slow.json")
      for running in [watching, rendering] {
        running.send(signal)
        let result = await running.result(within: .seconds(30))
        #expect((result.status, result.wasKilled) == (130, false))
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: site.folder.file("tmp")) == ["x"])
    }
  }

  @Test("the failure and the recovery of a watched server are each reported once")
  func failuresOfAWatchedServer() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["a.js": Site.script("first")])
      try await Self.watching(site, "a", ["--manifest", site.manifest]) { wait in
        try await wait("first")
        try await site.origin.refuseConnections()
        try await wait("no news of the server")
        try await site.origin.acceptConnections()
        try await wait("the server answers again")
      }
    }
  }

  @Test("an error does not end watching, and the next change is rendered")
  func errorWhileWatching() async throws {
    try await Site.running { (site: Site) async throws in
      try site.write("// { \"framework\": \"Vanilla\" }\nmissing()", to: "a.js")
      try await Self.watching(site) { wait in
        try await wait("Can't find variable: missing")
        try site.write(Site.script("mended"), to: "a.js")
        try await wait("mended")
      }
    }
  }

  @Test("the source map and the data are watched too")
  func mapAndData() async throws {
    try await Site.running { (site: Site) async throws in
      try site.write("// { \"framework\": \"Vanilla\" }\n;missing()\n//# sourceMappingURL=a.js.map", to: "a.js")
      try site.write(#"{"version":3,"sources":["one.ts"],"mappings":";CAAA"}"#, to: "a.js.map")
      try site.write("{}", to: "data.json")
      try await Self.watching(site, nil, ["--data", "@\(site.folder.file("data.json"))"]) { wait in
        try await wait("one.ts:1:1")
        try site.write(#"{"version":3,"sources":["two.ts"],"mappings":";CAAA"}"#, to: "a.js.map")
        try await wait("two.ts:1:1")
        try site.write("{no", to: "data.json")
        try await wait("data.json does not contain a JSON object")
      }
    }
  }

  @Test("a bundle of a server is rendered again with the next release")
  func nextRelease() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["a.js": Site.script("first")])
      for target in [site.origin.url(for: "/b/a.js"), "a"] {
        try site.publish(["a.js": Site.script("first")])
        try await Self.watching(site, target, ["--manifest", site.manifest]) { wait in
          try await wait("first")
          try site.publish(["a.js": Site.script("second")], release: "r2 \(target)")
          try await wait("second")
        }
      }
    }
  }

  @Test("a long wait for the server is reported")
  func waitingForTheServer() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["a.js": Site.script("first")])
      site.origin.hold("/b/a.js")
      try await Self.watching(site, site.origin.url(for: "/b/a.js"), ["--manifest", site.manifest]) { wait in
        try await wait("waiting for the server")
        site.origin.release("/b/a.js")
        try await wait("first")
      }
    }
  }

  @Test("a bundle without a manifest is rendered again when its MD5 changes")
  func changedMD5() async throws {
    try await Site.running { (site: Site) async throws in
      func serve(_ text: String) throws {
        site.origin.serve("/b/a.js", Array(text.utf8))
        site.origin.serve("/b/a.js.md5", Array("\(try ContentDigests(of: Array(text.utf8)).md5)\n".utf8))
      }
      try serve(Site.script("first"))
      try await Self.watching(site, site.origin.url(for: "/b/a.js")) { wait in
        try await wait("first")
        try serve(Site.script("second"))
        try await wait("second")
      }
    }
  }
}
