import Testing

@testable import PageWorkers

@Suite struct LandlockTests {
  @Test(
    "Landlock is asked for the rights that its version supports",
    arguments: [
      (-1, nil), (0, nil), (1, [0x1fff]), (2, [0x3fff]), (3, [0x7fff]), (4, [0x7fff, 3]), (5, [0xffff, 3]),
      (6, [0xffff, 3, 3]), (7, [0xffff, 3, 3]), (100, [0xffff, 3, 3]),
    ] as [(Int, [UInt64]?)])
  func rights(_ version: Int, _ words: [UInt64]?) {
    let landlock = Landlock(version: version)
    #expect(landlock?.words == words)
    #expect(landlock?.refusesSignals == words.map { $0.count == 3 })
  }
}
