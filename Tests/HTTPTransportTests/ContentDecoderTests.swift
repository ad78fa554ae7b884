import HTTPTransport
import Testing

@Suite(.timeLimit(.minutes(2)))
struct ContentDecoderTests {
  private static let url = "http://127.0.0.1/a.js"

  /// Decodes wire bytes in pieces of a size.
  private func decode(
    _ wire: [UInt8], _ coding: String, inPiecesOf size: Int = .max, limit: Int64 = 1 << 20
  ) throws -> [UInt8] {
    let decoder = try ContentDecoder(for: coding, url: Self.url, limit: limit)
    var content: [UInt8] = []
    var rest = wire[...]
    while !rest.isEmpty {
      content += try decoder.decode(Array(rest.prefix(size)))
      rest = rest.dropFirst(size)
    }
    try decoder.finish()
    return content
  }

  // MARK: Whole contents

  @Test(arguments: EncodedFixture.all, [1, 7, 100, Int.max])
  func aContentIsTheSameInPiecesOfAnySize(fixture: EncodedFixture, size: Int) throws {
    #expect(try decode(fixture.bytes, fixture.coding, inPiecesOf: size) == fixture.content)
  }

  @Test(arguments: EncodedFixture.scripts)
  func emptyChunksChangeNothing(fixture: EncodedFixture) throws {
    let decoder = try ContentDecoder(for: fixture.coding, url: Self.url, limit: 1 << 20)
    var content = try decoder.decode([])
    let wire = try fixture.bytes
    for piece in [wire[..<50], [], wire[50...], []] { content += try decoder.decode(Array(piece)) }
    try decoder.finish()
    #expect(content == fixture.content)
  }

  @Test(
    "a coding is recognised by all its names",
    arguments: ["GZIP", "x-gzip", "X-Gzip", " gzip ", "gzip,", "identity, gzip"])
  func names(name: String) throws {
    #expect(try decode(EncodedFixture.gzip.bytes, name) == EncodedFixture.gzip.content)
  }

  @Test("without a coding the bytes are unchanged", arguments: ["", "identity", "Identity", " , "])
  func identity(coding: String) throws {
    #expect(try decode([1, 2, 3], coding, inPiecesOf: 2) == [1, 2, 3])
  }

  @Test("a list of codings is decoded from its end")
  func list() throws {
    #expect(throws: ContentError.self) {
      try decode(EncodedFixture.gzipThenBrotli.bytes, "br, gzip")
    }
    #expect(try decode(EncodedFixture.gzipThenBrotli.bytes, "gzip, br") == EncodedFixture.gzipThenBrotli.content)
  }

  @Test(arguments: ["deflate", "compress", "zstd2", "gzip;q=1"])
  func anUnknownCodingIsRefusedByName(coding: String) {
    #expect(throws: ContentError.unsupportedEncoding(url: Self.url, encoding: coding)) {
      try ContentDecoder(for: "gzip, \(coding)", url: Self.url, limit: 1)
    }
  }

  @Test func aLongListIsRefused() {
    let list = "gzip, gzip, gzip, gzip"
    #expect(throws: ContentError.unsupportedEncoding(url: Self.url, encoding: list)) {
      try ContentDecoder(for: list, url: Self.url, limit: 1)
    }
  }

  @Test("every requested coding can be decoded")
  func requestedCodings() throws {
    for coding in ContentDecoder.acceptEncoding.split(separator: ",") {
      _ = try ContentDecoder(for: String(coding), url: Self.url, limit: 1)
    }
  }

  // MARK: Damage

  @Test(
    "a truncated content is refused, wherever it ends",
    arguments: EncodedFixture.scripts + EncodedFixture.empties + [.gzipThenBrotli, .brotliThenGzip])
  func truncatedContent(fixture: EncodedFixture) throws {
    let wire = try fixture.bytes
    for size in 0..<wire.count {
      for pieces in [1, Int.max] {
        let error = #expect(throws: ContentError.self, "cut to \(size) bytes") {
          try decode(Array(wire[..<size]), fixture.coding, inPiecesOf: pieces)
        }
        switch error {
        case .cutShort(Self.url, _), .corruptEncoding(Self.url, _, _): break
        default: Issue.record("cut to \(size) bytes: \(String(describing: error))")
        }
      }
    }
  }

  @Test("a truncated second member is refused, wherever it ends")
  func truncatedMember() throws {
    let wire = try EncodedFixture.gzipMembers.bytes
    let second = try #require(wire.indices.dropFirst().first { wire[$0...].starts(with: [0x1F, 0x8B, 0x08]) })
    for size in (second + 1)..<wire.count {
      #expect(throws: ContentError.self, "cut to \(size) bytes") { try decode(Array(wire[..<size]), "gzip") }
    }
  }

  @Test func aFlippedBitInGzipNeverGivesAnotherContent() throws {
    let fixture = EncodedFixture.gzip
    let wire = try fixture.bytes
    for position in wire.indices {
      for bit in 0..<8 {
        var damaged = wire
        damaged[position] ^= 1 << bit
        let content = try? decode(damaged, "gzip")
        #expect(content == nil || content == fixture.content, "bit \(bit) of byte \(position)")
      }
    }
  }

  @Test("a flipped bit causes at most a content error", arguments: EncodedFixture.scripts + [.gzipThenBrotli])
  func flippedBits(fixture: EncodedFixture) throws {
    let wire = try fixture.bytes
    for position in wire.indices {
      for bit in 0..<8 {
        var damaged = wire
        damaged[position] ^= 1 << bit
        do { _ = try decode(damaged, fixture.coding) } catch is ContentError {}
      }
    }
  }

  @Test(arguments: EncodedFixture.scripts, [1, 20, 1000])
  func bytesAfterTheEndAreRefused(fixture: EncodedFixture, count: Int) throws {
    for piece in [1, Int.max] {
      #expect(throws: ContentError.self) {
        try decode(fixture.bytes + Array(repeating: 0x21, count: count), fixture.coding, inPiecesOf: piece)
      }
    }
  }

  @Test("an error names the URL and the coding")
  func damage() throws {
    let error = try #require(throws: ContentError.self) { try decode(Array("<html>…</html>".utf8), "gzip") }
    #expect(error.description.hasPrefix("\(Self.url): the gzip data is damaged: "))
  }

  // MARK: Sizes

  @Test(arguments: EncodedFixture.scripts)
  func aContentOfExactlyTheLimitPasses(fixture: EncodedFixture) throws {
    let limit = Int64(fixture.content.count)
    #expect(try decode(fixture.bytes, fixture.coding, limit: limit) == fixture.content)
    #expect(throws: ContentError.tooLarge(url: Self.url, limit: limit - 1)) {
      try decode(fixture.bytes, fixture.coding, limit: limit - 1)
    }
  }

  @Test func theLimitHoldsWithoutACodingToo() {
    #expect(throws: ContentError.tooLarge(url: Self.url, limit: 10)) {
      try decode([UInt8](repeating: 1, count: 11), "identity", inPiecesOf: 2, limit: 10)
    }
  }

  @Test("a decompression bomb is stopped at the limit", arguments: Bomb.allCases)
  func bomb(bomb: Bomb) throws {
    let wire = try bomb.bytes
    let limit: Int64 = 3 << 20
    let decoder = try ContentDecoder(for: bomb.coding, url: Self.url, limit: limit)
    var size = 0
    #expect(throws: ContentError.tooLarge(url: Self.url, limit: limit)) {
      for byte in wire { size += try decoder.decode([byte]).count }
    }
    #expect(size <= limit)
  }

  @Test("without a limit the whole content is decoded")
  func wholeBomb() throws {
    let size = try decode(Bomb.zstd.bytes, "zstd", inPiecesOf: 50, limit: 100 << 20).count
    #expect(size == 100 << 20)
  }

  @Test func aZstandardWindowOverEightMebibytesIsRefused() throws {
    // RFC 9659 §3. The tool's --long=27 declares 128 MiB.
    let error = try #require(throws: ContentError.self) { try decode(EncodedFixture.zstdWide.bytes, "zstd") }
    guard case .corruptEncoding = error else {
      Issue.record(error)
      return
    }
  }

  @Test(arguments: [(UInt8(0x68), true), (0x69, false), (0x70, false)])
  func aZstandardWindowOfEightMebibytesIsTheBiggest(descriptor: UInt8, isAllowed: Bool) throws {
    // RFC 8878 §3.1.1.1.2: the descriptors of 8, 9 and 16 MiB.
    var wire = try EncodedFixture.zstd.bytes
    #expect(wire[5] == 0x68)
    wire[5] = descriptor
    #expect((try? decode(wire, "zstd")) == (isAllowed ? EncodedFixture.zstd.content : nil))
  }
}
