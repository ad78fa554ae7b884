import Foundation
import PageKit
import PageTesting
import Testing

@testable import RenderHost

@Suite(.timeLimit(.minutes(2)))
struct FolderWatchingTests {
  @Test("a changed file makes a new release")
  func changedFile() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let before = try await host.manifest()
      let old = try await host.get("/bundles/home.js")
      try host.write("// new", "home.js")
      try await host.waitForRelease("home.js", "// new")
      let after = try await host.manifest()
      #expect(after.sequence == before.sequence + 1)
      #expect(after.release != before.release)
      let new = try await host.get("/bundles/home.js", ["If-None-Match": try #require(old["ETag"])])
      #expect(new.status == 200 && new.text == "// new")
      // The former contents stay available by their digests.
      #expect(try await host.get("/blobs/\(try ContentDigests(of: old.body).sha256)").body == old.body)
    }
  }

  @Test("a folder that is created later is served then")
  func laterFolder() async throws {
    let directory = try TemporaryDirectory()
    try await ServingFixture.folder(directory) { (host: ServingFixture) async throws in
      #expect(!host.feed.readiness.isReady)
      #expect(host.feed.problem?.contains("cannot be read") == true)
      try host.write("// late", "home.js")
      try await host.waitForRelease("home.js", "// late")
      #expect(host.feed.readiness.isReady)
    }
  }

  @Test("added, moved and removed folders and files are new releases")
  func folderChanges() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      try host.write("// deep", "a/b/c/deep.js")
      try await host.waitForRelease("a/b/c/deep.js", "// deep")
      try FileManager.default.moveItem(atPath: "\(host.folder)/a/b", toPath: "\(host.folder)/x")
      try await host.waitForRelease("x/c/deep.js", "// deep")
      #expect(try await host.get("/bundles/a/b/c/deep.js").status == 404)
      // The moved folder is still watched.
      try host.write("// deeper", "x/c/deep.js")
      try await host.waitForRelease("x/c/deep.js", "// deeper")
      try FileManager.default.removeItem(atPath: "\(host.folder)/x")
      try await host.waitForRelease("x/c/deep.js", nil)
    }
  }

  @Test("a folder that replaces the served one is noticed and watched")
  func replacedFolder() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      try ServingFixture.write("// other", to: host.directory.file("next/home.js"))
      try FileManager.default.moveItem(atPath: host.folder, toPath: host.directory.file("old"))
      try FileManager.default.moveItem(atPath: host.directory.file("next"), toPath: host.folder)
      try await host.waitForRelease("home.js", "// other")
      try host.write("// third", "home.js")
      try await host.waitForRelease("home.js", "// third")
    }
  }

  @Test("a changed symbolic link is noticed")
  func changedLink() async throws {
    let directory = try TemporaryDirectory()
    for name in ["one", "two"] { try ServingFixture.write("// \(name)", to: directory.file("\(name)/home.js")) }
    try FileManager.default.createSymbolicLink(atPath: directory.file("bundles"), withDestinationPath: "one")
    try await ServingFixture.folder(directory) { (host: ServingFixture) async throws in
      #expect(try await host.get("/bundles/home.js").text == "// one")
      try FileManager.default.createSymbolicLink(atPath: directory.file("link"), withDestinationPath: "two")
      #expect(rename(directory.file("link"), host.folder) == 0)
      try await host.waitForRelease("home.js", "// two")
      try ServingFixture.write("// two again", to: directory.file("two/home.js"))
      try await host.waitForRelease("home.js", "// two again")
    }
  }

  @Test("a touched file makes no new release")
  func touchedFile() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let before = try await host.dated("/bundles/home.js")
      try FileManager.default.setAttributes(
        [.modificationDate: Date.distantPast], ofItemAtPath: "\(host.folder)/home.js")
      // The next change shows that the touch was scanned too.
      try host.write("// mark", "mark.js")
      try await host.waitForRelease("mark.js", "// mark")
      let after = try await host.get("/bundles/home.js")
      #expect(after["ETag"] == before["ETag"])
      #expect(after["Last-Modified"] == before["Last-Modified"])
      #expect(host.feed.history.count == 2)
    }
  }

  @Test("a rollback is sent to clients that know only its date")
  func rollback() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let first = try await host.dated("/bundles/home.js")
      try host.write("// new", "home.js")
      try await host.waitForRelease("home.js", "// new")
      try host.write(ServingFixture.home, "home.js")
      try await host.waitForRelease("home.js", ServingFixture.home)
      let date = try #require(first["Last-Modified"])
      let back = try await host.get("/bundles/home.js", ["If-Modified-Since": "Fri, 21 Nov 2053 00:00:00 GMT"])
      #expect(back.status == 200 && back.body == first.body)
      // Three contents within a second have three dates, so that they can be distinguished.
      let entry = try #require(host.feed.current?.entry(at: "home.js"))
      #expect(entry.modified.description != date)
      #expect(back["ETag"] == first["ETag"])
    }
  }

  @Test("a folder is scanned once no file in it is open for writing, however long that takes")
  func openFile() async throws {
    let directory = try TemporaryDirectory()
    let events = try DirectoryEvents(directory.path)
    defer { events.stop() }
    // The first call watches a folder that is new, and the second one sees no change in it.
    for _ in 0..<2 { _ = try events.prepareToLook(at: .now) }
    #expect(events.decision(at: .now + .seconds(1)) == .rest)
    let start = ContinuousClock.now
    let file = open(directory.file("slow.js"), O_CREAT | O_WRONLY, 0o644)
    #expect(write(file, "// half", 7) == 7)
    try await eventually("the writing is seen") { events.decision(at: start) != .rest }
    for seconds in [1, 3, 8] {
      if case .wait = events.decision(at: start + .seconds(seconds)) { continue }
      Issue.record("scanned after \(seconds) s")
    }
    close(file)
    try await eventually("the end is seen") { events.decision(at: .now + .seconds(1)) == .look }
  }

  @Test("a file that is being written is released as a whole")
  func partialFile() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let path = "\(host.folder)/slow.js"
      #expect(FileManager.default.createFile(atPath: path, contents: nil))
      let file = try #require(FileHandle(forWritingAtPath: path))
      try file.write(contentsOf: Data("// half".utf8))
      try file.write(contentsOf: Data(" and half".utf8))
      try file.close()
      try await host.waitForRelease("slow.js", "// half and half")
      #expect(host.feed.history.count == 2)
    }
  }

  @Test("an invalid script keeps the current release")
  func invalidScript() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      try host.write("<html></html>", "home.js")
      try await host.wait { $0.problem?.contains("home.js is no script: it is HTML") == true }
      #expect(try await host.get("/bundles/home.js").text == ServingFixture.home)
      #expect(host.feed.readiness.isReady)
      try host.write("// good", "home.js")
      try await host.waitForRelease("home.js", "// good")
      try await host.wait { $0.problem == nil }
    }
  }

  @Test("a signed webhook call scans the folder at once")
  func webhook() async throws {
    let directory = try TemporaryDirectory()
    try ServingFixture.write("// one", to: directory.file("bundles/home.js"))
    // A write through another link of the file: the kernel reports no event in the watched folder.
    try FileManager.default.linkItem(atPath: directory.file("bundles/home.js"), toPath: directory.file("outside.js"))
    try await ServingFixture.folder(directory) { (host: ServingFixture) async throws in
      let looks = "renderhost_verifications_total"
      // Waits for the scan after the start.
      try await host.wait { _ in (try? host.count(looks, ["outcome": "unchanged"])) == 1 }
      let file = try #require(FileHandle(forWritingAtPath: directory.file("outside.js")))
      try file.write(contentsOf: Data("// two".utf8))
      try file.close()
      let answer = try await host.get(
        "/hooks/release", ["X-Signature-256": ServingFixture.signature("{}")], .post, body: "{}")
      #expect(answer.status == 202)
      // Before the next scan that comes without a call.
      try await host.waitForRelease("home.js", "// two", within: .seconds(20))
      // Each call causes a scan, also without a change.
      let before = try host.count(looks, ["outcome": "unchanged"])
      _ = try await host.get(
        "/hooks/release", ["X-Signature-256": ServingFixture.signature("{}")], .post, body: "{}")
      try await host.wait { _ in (try? host.count(looks, ["outcome": "unchanged"])) ?? 0 > before }
    }
  }

  @Test("settings in the folder are applied and not served")
  func folderSettings() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let md5 = try ContentDigests(of: Array(ServingFixture.home.utf8)).md5
      try host.write(
        """
        {"schema": 1, "release": "x", "bundles": [{"name": "start", "path": "home.js", "md5": "\(md5)", "preload": "demand"}]}
        """, "manifest.json")
      try await host.wait { $0.current?.entry(at: "home.js")?.bundle.name == "start" }
      let manifest = try await host.manifest()
      #expect(manifest.bundles.first?.preload == .demand)
      #expect(manifest.files.map(\.path) == ["images/logo.svg"])
      // The bundle is on demand for clients, but is stored here.
      #expect(host.feed.current?.entry(at: "home.js")?.blob != nil)
      try host.write("{", "manifest.json")
      try await host.wait { $0.problem?.contains("manifest.json is not a valid manifest") == true }
    }
  }

  @Test("a restart continues with the same release")
  func restart() async throws {
    let directory = try TemporaryDirectory()
    try ServingFixture.write("// one", to: directory.file("bundles/home.js"))
    let first = Monitor<Manifest?>(nil)
    try await ServingFixture.folder(directory) { (host: ServingFixture) async throws in
      let manifest = try await host.manifest()
      first.change { $0 = manifest }
    }
    try await ServingFixture.folder(directory) { (host: ServingFixture) async throws in
      #expect(try await host.manifest() == first.read { $0 })
      #expect(host.feed.history.count == 1)
    }
  }

  @Test("readers never see a mix of two releases")
  func consistentRelease() async throws {
    let directory = try TemporaryDirectory()
    let names = (0..<6).map { "page\($0).js" }
    @Sendable func text(_ name: String, _ number: Int) -> String {
      "// \(name) \(number)\n" + String(repeating: "x\(number);", count: 2000)
    }
    for name in names { try ServingFixture.write(text(name, 0), to: directory.file("bundles/\(name)")) }
    let rounds = 12
    try await ServingFixture.folder(directory) { (host: ServingFixture) async throws in
      let isOver = Monitor(false)
      let seen = Monitor<Set<Int64>>([])
      let known = try Dictionary(
        uniqueKeysWithValues: names.flatMap { name in
          try (0...rounds).map { (try ContentDigests(of: Array(text(name, $0).utf8)).sha256.hex, name) }
        })
      try await withThrowingTaskGroup(of: Void.self) { group in
        for reader in 0..<4 {
          group.addTask {
            repeat {
              let manifest = try await host.manifest()
              seen.change { _ = $0.insert(manifest.sequence) }
              #expect(manifest.bundles.count == names.count)
              for entry in manifest.bundles {
                let sha256 = try #require(entry.sha256)
                let blob = try await host.get("/blobs/\(sha256)")
                #expect(blob.status == 200)
                #expect(try ContentDigests(of: blob.body).md5 == entry.md5)
                let coding = ["identity", "br", "zstd", "gzip"][reader]
                let named = try await host.get("/bundles/\(entry.path)", ["Accept-Encoding": coding])
                let digests = try ContentDigests(of: named.body)
                // The head and the bytes belong to one release.
                #expect(named["ETag"] == "\"\(digests.sha256)\"")
                #expect(named["Content-MD5"] == Data(digests.md5.bytes).base64EncodedString())
                let decoder = try ContentDecoder(for: coding, url: "", limit: 1 << 20)
                let content = try decoder.decode(named.body)
                #expect(known[try ContentDigests(of: content).sha256.hex] == entry.path)
              }
            } while !isOver.read { $0 }
          }
        }
        group.addTask {
          for number in 1...rounds {
            // A deployment as a folder that replaces the other one.
            let next = directory.file("next")
            for name in names { try ServingFixture.write(text(name, number), to: "\(next)/\(name)") }
            try FileManager.default.moveItem(atPath: host.folder, toPath: directory.file("old\(number)"))
            try FileManager.default.moveItem(atPath: next, toPath: host.folder)
            try await host.waitForRelease(names[5], text(names[5], number))
          }
          isOver.change { $0 = true }
        }
        try await group.waitForAll()
      }
      #expect(seen.read(\.count) > 3)
      // Every release is one deployment: all of its bundles have one number.
      #expect(host.feed.history.count == rounds + 1)
    }
  }
}
