import Foundation
import PageKit
import PageTesting
import TestSupport
import Testing

struct InterruptionTests {
  @Test("an interrupted run ends cleanly, and the next one continues")
  func interruption() async throws {
    try await Site.running { site in
      try site.publish(["a.js": "var a = 1", "b.js": "var b = 2"])
      site.origin.hold("/b/b.js")
      let run = try Command.start(["preload", "--manifest", site.manifest, "--store", site.store, "--json", "-j", "1"])
      try await site.origin.waitForRequests(1, to: "/b/b.js")
      run.send(SIGINT)
      let result = await run.result()
      #expect(result.status == 130)
      #expect(try result.json["downloaded"] as? Int == 1)
      site.origin.release("/b/b.js")
      let next = try await site.preload().json
      #expect((next["upToDate"] as? Int, next["downloaded"] as? Int) == (1, 1))
    }
  }

  /// Kills many runs in a row: complete downloads stay, and all stored bytes are correct.
  @Test("a run killed at any time loses and damages nothing")
  func kill() async throws {
    try await Site.running { site in
      var generator = SeededGenerator(seed: 2026)
      var round = KillRound(site: site)
      let rounds = Soak.rounds(40, soaking: 200)
      for number in 0..<rounds {
        try await round.run(number, using: &generator)
      }
      #expect(round.kills > rounds / 4, "too few runs were killed half way: \(round.kills)")
      try await round.finish()
    }
  }
}

/// A store that survives repeated kills, and the checks after each one.
private struct KillRound {
  let site: Site
  private(set) var kills = 0
  private var release = 0
  private var texts: [String: String] = [:]
  /// The approximate time of a whole run, over which the kills are spread.
  private var span: Duration = .milliseconds(400)

  init(site: Site) { self.site = site }

  mutating func run(_ number: Int, using generator: inout SeededGenerator) async throws {
    if texts.isEmpty { try publishNext(&generator) }
    let complete = try await storedDigests()
    let seen = site.origin.requests.count
    let run = try Command.start(["preload", "--manifest", site.manifest, "--store", site.store, "--json"])
    let delay = span * Double.random(in: 0...1, using: &generator)
    // The kill comes at a random time on purpose.
    try await Task.sleep(for: delay)
    run.send(SIGKILL)
    let result = await run.result()
    try check(requestsAfter: seen, complete: complete, number)
    try await checkStore(number)
    if result.wasKilled {
      kills += 1
    } else {
      #expect(result.status == 0, "round \(number): \(result.output)\(result.error)")
      span = span * 0.9
      try publishNext(&generator)
    }
  }

  /// A third of the pages changes with each release.
  private mutating func publishNext(_ generator: inout SeededGenerator) throws {
    release += 1
    for page in 0..<40 where release == 1 || page % 3 == release % 3 {
      let size = Int.random(in: 1_000...60_000, using: &generator)
      texts["p\(page).js"] = "// \(release)\n" + String(repeating: "var x\(generator.next());\n", count: size / 26 + 1)
    }
    try site.publish(texts, release: "r\(release)")
  }

  private func store() throws -> BundleStore { try BundleStore(at: StoreDirectory(site.store)) }

  private func digests(_ text: String) throws -> ContentDigests { try ContentDigests(of: Array(text.utf8)) }

  /// All files that the store references.
  private func storedDigests() async throws -> Set<MD5Digest> {
    guard let source = try await store().source(try #require(PageURL(site.manifest))) else { return [] }
    var stored: Set<MD5Digest> = []
    for release in [source.incoming, source.current].compactMap(\.self) {
      stored.formUnion(try await store().contents(of: release).compactMap { $0.blob?.md5 })
    }
    return stored
  }

  /// Checks that no page was requested whose bytes had been stored before the run.
  private func check(requestsAfter seen: Int, complete: Set<MD5Digest>, _ number: Int) throws {
    for request in site.origin.requests.dropFirst(seen) where request.path.hasPrefix("/b/") {
      let text = try #require(texts[String(request.path.dropFirst(3))])
      #expect(!complete.contains(try digests(text).md5), "round \(number): \(request.path) was fetched again")
    }
  }

  /// Checks that all referenced files are complete, and so is a current release.
  private func checkStore(_ number: Int) async throws {
    let store = try store()
    guard let source = try await store.source(try #require(PageURL(site.manifest))) else { return }
    for release in [source.current, source.incoming].compactMap(\.self) {
      for entry in try await store.recordedContents(of: release) {
        if let blob = entry.blob {
          try await store.check(blob)
        } else {
          #expect(release.id != source.current?.id, "round \(number): \(entry.bundle.name) is missing")
        }
      }
    }
  }

  /// Checks that an undisturbed run completes the store.
  func finish() async throws {
    let result = try await site.preload()
    #expect(result.status == 0, "\(result.output)")
    for (path, text) in texts {
      let name = String(path.dropLast(3))
      #expect(try await Command.run("cat", name, "--store", site.store).output == text)
    }
    // A kill between a file's rename and the end of its header leaves the header, which the collector removes.
    #expect(try await Command.run("gc", "--store", site.store).status == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: site.store + "/partial").isEmpty)
  }
}
