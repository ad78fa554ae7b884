import Foundation
import HTTPTransport
import PageTesting
import Testing

/// Processes that preload releases and open pages of one store are killed at random moments, one after the other.
struct ReleaseViewKillTests {
  @Test("no page sees two releases, whenever processes are killed", arguments: 1...UInt64(6))
  func noPageSeesTwoReleases(_ seed: UInt64) async throws {
    try await LoadingFixture.running { fixture in
      var world = World(fixture, seed: seed)
      try world.publish()
      for _ in 0..<20 { try await world.liveAndDie() }
      // On a busy machine processes get less far before they are killed, so that more of them are needed.
      for _ in 0..<300 where !world.tally.hasSeenEverything { try await world.liveAndDie() }
      #expect(world.tally.hasSeenEverything, "\(world.tally)")
    }
  }

  struct Tally {
    var pages = 0
    var files = 0
    /// The number of processes that were killed while they had pages open.
    var killedWithPages = 0
    /// The number of processes that left a partial download.
    var killedWhileDownloading = 0
    /// The number of former releases that the collector kept for an open page.
    var keptForPages = 0
    /// The number of such releases that were collected after the process was killed.
    var freedByKills = 0

    /// `true` if all these cases have occurred.
    var hasSeenEverything: Bool {
      pages > 20 && files > 10 && killedWithPages > 2 && killedWhileDownloading > 0 && keptForPages > 0
        && freedByKills > 0
    }
  }

  private struct Page {
    let release: Int64
    let name: String
  }

  private struct World {
    let fixture: LoadingFixture
    var random: SeededGenerator
    var tally = Tally()
    /// The SHA-256 of each script and file, by release.
    private var published: [String: [String: String]] = [:]
    private var latest: [String: String] = [:]
    private var isServerUp = true
    /// The pages that were to open, by number.
    private var opening: [Int: String] = [:]
    /// The pages that have opened.
    private var seen: [Int: Page] = [:]
    /// The pages that were not told to close.
    private var pages: [Int: Page] = [:]
    /// The openings that must not fail, since the store has the page's bytes.
    private var certain: Set<Int> = []
    private var lastNumber = 0

    private static let names = ["a", "b", "one.json", "two.json"]
    private static let policies = ["networkFirst", "cacheFirst", "staleWhileRevalidate", "cacheOnly"]

    init(_ fixture: LoadingFixture, seed: UInt64) {
      self.fixture = fixture
      random = SeededGenerator(seed: seed)
    }

    mutating func publish() throws {
      let release = "r\(published.count + 1)"
      for name in Self.names where latest[name] == nil || Bool.random(using: &random) {
        let size = Int.random(in: 0..<100_000, using: &random)
        latest[name] = "// \(name) since \(release) \(String(repeating: release, count: size / release.utf8.count))"
      }
      // Recorded before the first byte can be fetched.
      published[release] = try latest.mapValues { try ContentDigests(of: Array($0.utf8)).sha256.hex }
      try fixture.publish(
        latest.filter { !$0.key.hasSuffix(".json") }, files: latest.filter { $0.key.hasSuffix(".json") },
        release: release, preload: ["b": .demand, "two.json": .demand])
    }

    /// Runs a process from its start to its kill, and checks the store afterwards.
    mutating func liveAndDie() async throws {
      let process = try await OpenerProcess.start(
        store: fixture.store.directory.path, manifest: fixture.source.text)
      do {
        // A page of the current release also opens offline.
        if try await fixture.store.source(fixture.source)?.current != nil {
          certain.insert(try open("a", "cacheOnly", process))
        }
        for _ in 0..<Int.random(in: 10...60, using: &random) {
          try await step(process)
          // The kill comes at a random moment on purpose.
          try await Task.sleep(for: .microseconds(.random(in: 0...4_000, using: &random)))
          try note(process.lines())
        }
      } catch {
        _ = await process.kill()
        throw error
      }
      let wasAlive = await process.kill()
      #expect(wasAlive, "it ended by itself")
      try note(process.lines())
      tally.killedWithPages += pages.isEmpty ? 0 : 1
      tally.killedWhileDownloading += fixture.leftovers.isEmpty ? 0 : 1
      try await expectNothingIsHeld()
      pages = [:]
      certain = []
    }

    private mutating func step(_ process: OpenerProcess) async throws {
      switch Int.random(in: 0..<16, using: &random) {
      case 0, 1: try publish()
      case 2, 3: try process.tell("preload")
      case 4: try process.tell("relaunch")
      case 5: try process.tell("collect")
      case 6:
        isServerUp.toggle()
        try await isServerUp ? fixture.origin.acceptConnections() : fixture.origin.refuseConnections()
      case 7:
        let isSlow = Bool.random(using: &random)
        fixture.origin.baseline = .init(bytesPerSecond: isSlow ? 2_000_000 : nil)
      case 8:
        guard let number = pages.keys.sorted().randomElement(using: &random) else { break }
        pages[number] = nil
        try process.tell("close \(number)")
      case 9, 10: try await collect()
      case 11, 12, 13:
        _ = try open(
          Bool.random(using: &random) ? "a" : "b", Self.policies.randomElement(using: &random) ?? "cacheFirst", process)
      default:
        guard let number = pages.keys.sorted().randomElement(using: &random) else { break }
        for name in ["one.json", "two.json"] { try process.tell("file \(number) \(name)") }
      }
    }

    private mutating func open(_ name: String, _ policy: String, _ process: OpenerProcess) throws -> Int {
      lastNumber += 1
      opening[lastNumber] = name
      try process.tell("open \(lastNumber) \(name).js \(policy)")
      return lastNumber
    }

    // MARK: The process's output

    private mutating func note(_ lines: [String]) throws {
      for line in lines {
        let words = line.split(separator: " ").map(String.init)
        switch words.first {
        case "page":
          let number = try #require(Int(words[1]))
          let name = try #require(opening[number])
          guard let id = Int64(words[2]) else {
            // The manifest could not be fetched, and nothing was stored: the page is of no known release.
            #expect(published.values.contains { $0[name] == words.last }, "\(line)")
            break
          }
          #expect(words.last == published[words[3]]?[name], "\(name) in \(line)")
          let page = Page(release: id, name: words[3])
          (pages[number], seen[number]) = (page, page)
          tally.pages += 1
        case "file":
          // This also holds for a page that was closed since.
          let number = try #require(Int(words[1]))
          let page = try #require(seen[number])
          #expect(words[3] == published[page.name]?[words[2]], "\(words[2]) in \(page.name)")
          tally.files += 1
        case "failed" where words[1] == "open":
          let number = try #require(Int(words[2]))
          #expect(!certain.contains(number), "\(line)")
        default: break
        }
      }
    }

    // MARK: The collector

    /// Collects in this process while the other one lives, whose pages keep their releases.
    private mutating func collect() async throws {
      let viewed = Set(pages.values.map(\.release))
      let before = try await stored()
      _ = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
      let after = try await stored()
      for id in viewed {
        let kept = try #require(after[id], "release \(id), which a page sees, was collected")
        #expect(kept.blobs.isSuperset(of: before[id]?.blobs ?? []), "bytes of release \(id) were collected")
        tally.keptForPages += kept.isNeeded ? 0 : 1
      }
    }

    /// Collects after the process was killed, so that releases of its pages are removed.
    private mutating func expectNothingIsHeld() async throws {
      let before = try await stored()
      _ = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
      let after = try await stored()
      let isFree = after.values.allSatisfy(\.isNeeded)
      #expect(isFree, "\(after)")
      let viewed = Set(pages.values.map(\.release))
      tally.freedByKills += viewed.count(where: { before[$0] != nil && after[$0] == nil })
      let leases = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.file("store/views"))
      #expect(Set(leases).isSubset(of: after.keys.map(String.init)), "\(leases)")
    }

    private struct Stored {
      /// `true` if it is current or incoming.
      let isNeeded: Bool
      let blobs: Set<SHA256Digest>
    }

    private func stored() async throws -> [Int64: Stored] {
      var stored: [Int64: Stored] = [:]
      for summary in try await fixture.store.releases(of: fixture.source) {
        let blobs = try await fixture.store.contents(of: summary.release).compactMap(\.blob?.sha256)
        stored[summary.release.id] = Stored(
          isNeeded: [.current, .incoming].contains(summary.role), blobs: Set(blobs))
      }
      return stored
    }
  }
}
