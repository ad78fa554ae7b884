import PageCore
import Testing

@testable import PageStore

struct VerifiedBytesTests {
  private static func digest(_ number: Int) throws -> SHA256Digest {
    try ContentDigests(of: Array("\(number)".utf8)).sha256
  }

  @Test func theCapacityIsNeverExceeded() throws {
    let cache = VerifiedBytes(capacity: 100)
    for number in 0..<20 { cache.insert(Array(repeating: 0, count: 20), for: try Self.digest(number)) }
    #expect(try (0..<20).count { cache[try Self.digest($0)] != nil } == 5)
  }

  @Test func whatWasUsedOutlivesWhatWasNot() throws {
    let cache = VerifiedBytes(capacity: 100)
    for number in 0..<5 { cache.insert(Array(repeating: 0, count: 20), for: try Self.digest(number)) }
    #expect(cache[try Self.digest(0)] != nil)
    for number in 5..<9 { cache.insert(Array(repeating: 0, count: 20), for: try Self.digest(number)) }
    #expect(cache[try Self.digest(0)] != nil)
    #expect(cache[try Self.digest(1)] == nil)
  }

  @Test func oneLargeEntryDoesNotPushOutAllOthers() throws {
    let cache = VerifiedBytes(capacity: 100)
    cache.insert([1], for: try Self.digest(1))
    cache.insert(Array(repeating: 0, count: 90), for: try Self.digest(2))
    #expect(cache[try Self.digest(1)] != nil)
    #expect(cache[try Self.digest(2)] == nil)
  }

  @Test func aRemovedEntryMakesRoom() throws {
    let cache = VerifiedBytes(capacity: 40)
    for number in 0..<4 { cache.insert(Array(repeating: 0, count: 10), for: try Self.digest(number)) }
    cache.remove(try Self.digest(3))
    cache.insert(Array(repeating: 0, count: 10), for: try Self.digest(4))
    #expect(try (0..<5).count { cache[try Self.digest($0)] != nil } == 4)
  }
}
