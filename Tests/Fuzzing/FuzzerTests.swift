import Testing

/// The readers of `make fuzz`, without libFuzzer. A broken promise ends the process with its sentence.
struct FuzzerTests {
  @Test("each reader keeps its promises for its seeds, also cut short and with a byte changed", arguments: names)
  func seeds(_ name: String) throws {
    let fuzzer = try #require(fuzzers.first { $0.name == name })
    try #require(!fuzzer.seeds.isEmpty)
    for seed in fuzzer.seeds {
      fuzzer.read(seed)
      for index in stride(from: 0, to: seed.count, by: max(seed.count / 16, 1)) {
        fuzzer.read(Array(seed[..<index]))
        var changed = seed
        changed[index] ^= 0x5A
        fuzzer.read(changed)
      }
    }
  }

  private static let names = fuzzers.map { $0.name }
}
