import PageKit
import Testing

@testable import PageWorkers

@Suite struct BarredBundlesTests {
  private let start = ContinuousClock.now

  @Test("three failures within the window bar a bundle")
  func barring() throws {
    let digest = try ContentDigests(of: [1]).sha256
    var barred = BarredBundles()
    for second in [0, 10] {
      barred.strike(digest, url: "a.js", .silence, at: start + .seconds(second))
      #expect(barred.entry(digest, at: start + .seconds(second)) == nil)
    }
    barred.strike(digest, url: "a.js", .memory(found: 2 << 20, limit: 1 << 20), at: start + .seconds(20))
    let entry = try #require(barred.entry(digest, at: start + .seconds(30)))
    #expect("\(entry)".contains("a.js") && "\(entry)".contains("3 times") && "\(entry)".contains("2 MiB"))
    #expect(barred.all(at: start + .seconds(619)).count == 1)
    #expect(barred.entry(digest, at: start + .seconds(621)) == nil)
  }

  @Test("older failures do not count")
  func window() throws {
    let digest = try ContentDigests(of: [1]).sha256
    var barred = BarredBundles()
    for second in [0, 400, 800, 1_200] {
      barred.strike(digest, url: "a.js", .silence, at: start + .seconds(second))
      #expect(barred.entry(digest, at: start + .seconds(second)) == nil)
    }
  }

  @Test("a pardoned bundle runs")
  func pardon() throws {
    let digest = try ContentDigests(of: [1]).sha256
    var barred = BarredBundles()
    for _ in 1...3 { barred.strike(digest, url: "a.js", .silence, at: start) }
    barred.pardon(digest)
    #expect(barred.entry(digest, at: start) == nil)
  }
}
