import PageKit
import Testing

@testable import PageWorkers

@Suite struct BarredBundlesTests {
  private let start = ContinuousClock.now
  private let plain = PageCaller(client: "a", hasInput: false)

  @Test("three failures within the window bar a bundle")
  func barring() throws {
    let digest = try ContentDigests(of: [1]).sha256
    var barred = BarredBundles()
    for second in [0, 10] {
      barred.strike(digest, url: "a.js", .silence, for: plain, at: start + .seconds(second))
      #expect(barred.entry(digest, for: "b", at: start + .seconds(second)) == nil)
    }
    barred.strike(digest, url: "a.js", .memory(found: 2 << 20, limit: 1 << 20), for: plain, at: start + .seconds(20))
    let entry = try #require(barred.entry(digest, for: "b", at: start + .seconds(30)))
    #expect("\(entry)".contains("a.js") && "\(entry)".contains("3 times") && "\(entry)".contains("2 MiB"))
    #expect(barred.all(at: start + .seconds(619)).count == 1)
    #expect(barred.entry(digest, for: "b", at: start + .seconds(621)) == nil)
  }

  @Test("older failures do not count")
  func window() throws {
    let digest = try ContentDigests(of: [1]).sha256
    var barred = BarredBundles()
    for second in [0, 400, 800, 1_200] {
      barred.strike(digest, url: "a.js", .silence, for: plain, at: start + .seconds(second))
      #expect(barred.entry(digest, for: "b", at: start + .seconds(second)) == nil)
    }
  }

  @Test("a pardoned bundle runs")
  func pardon() throws {
    let digest = try ContentDigests(of: [1]).sha256
    var barred = BarredBundles()
    for _ in 1...3 { barred.strike(digest, url: "a.js", .silence, for: plain, at: start) }
    barred.pardon(digest)
    #expect(barred.entry(digest, for: "b", at: start) == nil)
  }

  @Test("a bundle that fails with a caller's input is barred for that caller alone")
  func input() throws {
    let digest = try ContentDigests(of: [1]).sha256
    var barred = BarredBundles()
    for client in ["a", "a", "a", "b", "b"] {
      barred.strike(digest, url: "a.js", .silence, for: PageCaller(client: client, hasInput: true), at: start)
    }
    let entry = try #require(barred.entry(digest, for: "a", at: start))
    #expect((entry.client, entry.strikes) == ("a", 3))
    #expect("\(entry)".hasPrefix("a.js is barred for a for 600 s: it was stopped 3 times"))
    for client in ["b", "c"] { #expect(barred.entry(digest, for: client, at: start) == nil) }
    #expect(barred.all(at: start).map(\.client) == ["a"])
    // A failure without input counts for everybody.
    barred.strike(digest, url: "a.js", .silence, for: plain, at: start)
    #expect(barred.entry(digest, for: "b", at: start)?.strikes == 3)
    #expect(barred.entry(digest, for: "c", at: start) == nil)
    for _ in 1...2 { barred.strike(digest, url: "a.js", .silence, for: plain, at: start) }
    #expect(barred.entry(digest, for: "c", at: start)?.client == nil)
    #expect(barred.all(at: start).map(\.client) == [nil])
  }

  @Test("a caller who fails again and again does not make the host forget, or remember without limit")
  func bounds() throws {
    let digest = try ContentDigests(of: [1]).sha256
    var barred = BarredBundles()
    for _ in 1...3 { barred.strike(digest, url: "a.js", .silence, for: plain, at: start) }
    for number in 0..<500 {
      let other = try ContentDigests(of: Array("\(number)".utf8)).sha256
      barred.strike(other, url: "b.js", .silence, for: plain, at: start + .seconds(1))
    }
    #expect(barred.entry(digest, for: "b", at: start + .seconds(2)) != nil)
    for _ in 0..<5_000 {
      barred.strike(digest, url: "a.js", .silence, for: PageCaller(client: "x", hasInput: true), at: start)
    }
    #expect(barred.entry(digest, for: "x", at: start)?.strikes == 100)
  }
}
