import PageTesting
import Testing

struct SeededGeneratorTests {
  @Test("the numbers are those of SplitMix64")
  func splitMix64() {
    // The first numbers of the reference implementation for this seed.
    var generator = SeededGenerator(seed: 1_234_567)
    let numbers = (0..<3).map { _ in generator.next() }
    #expect(numbers == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423])
  }

  @Test("the same seed gives the same shuffle")
  func shuffle() {
    var one = SeededGenerator(seed: 42)
    var two = SeededGenerator(seed: 42)
    var other = SeededGenerator(seed: 43)
    let shuffled = Array(0..<100).shuffled(using: &one)
    #expect(shuffled == Array(0..<100).shuffled(using: &two))
    #expect(shuffled != Array(0..<100).shuffled(using: &other))
  }

  @Test("the requested number of bytes is returned", arguments: [0, 1, 8, 13, 1000])
  func byteCount(_ count: Int) {
    var one = SeededGenerator(seed: 1)
    var two = SeededGenerator(seed: 1)
    let bytes = one.bytes(count)
    #expect(bytes.count == count)
    #expect(bytes == two.bytes(count))
  }
}
