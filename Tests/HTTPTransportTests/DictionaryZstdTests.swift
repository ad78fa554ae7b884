import Foundation
import HTTPTypes
import PageTesting
import TestSupport
import Testing

@testable import HTTPTransport

/// Contents as differences from a dictionary. RFC 9842.
@Suite(.timeLimit(.minutes(2)))
struct DictionaryZstdTests {
  private static let old = Array(SeededText.make(bytes: 50_000).utf8)
  private static let new = Array(old[..<20_000]) + Array("; var changed = 'here';".utf8) + Array(old[20_000...])

  private static func dictionary(_ bytes: [UInt8] = old) throws -> ContentDictionary {
    ContentDictionary(bytes, digest: try ContentDigests(of: bytes).sha256)
  }

  private static func encoded(_ content: [UInt8] = new) throws -> [UInt8] {
    try #require(DictionaryZstd.encode(content, with: try dictionary()))
  }

  private func decode(
    _ wire: [UInt8], inPiecesOf size: Int = .max, with dictionary: ContentDictionary? = nil, limit: Int64 = 1 << 20,
    coding: String = "dcz"
  ) throws -> [UInt8] {
    let decoder = try ContentDecoder(
      for: coding, url: "http://127.0.0.1/a.js", limit: limit, dictionary: try dictionary ?? Self.dictionary())
    var content: [UInt8] = []
    var rest = wire[...]
    while !rest.isEmpty {
      content += try decoder.decode(Array(rest.prefix(size)))
      rest = rest.dropFirst(size)
    }
    try decoder.finish()
    return content
  }

  /// The error's text; `nil` if there is none.
  private func complaint(_ wire: [UInt8], with dictionary: ContentDictionary? = nil, limit: Int64 = 1 << 20) -> String?
  {
    do {
      _ = try decode(wire, with: dictionary, limit: limit)
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test("a content that differs little from its dictionary is a few bytes")
  func smallDifference() throws {
    let delta = try Self.encoded()
    #expect(delta.count < 200)
    #expect(try decode(delta) == Self.new)
  }

  @Test("a difference decodes in pieces of any size", arguments: [1, 7, 39, 40, 41, 100])
  func pieces(size: Int) throws {
    #expect(try decode(Self.encoded(), inPiecesOf: size) == Self.new)
  }

  @Test("contents of limit sizes make the round trip", arguments: [0, 1, 300_000])
  func limitSizes(size: Int) throws {
    let content = [UInt8](repeating: 7, count: size)
    #expect(try decode(try Self.encoded(content)) == content)
    let bare = try #require(DictionaryZstd.encode(content, with: try Self.dictionary([])))
    #expect(try decode(bare, with: try Self.dictionary([])) == content)
  }

  @Test("the header is the one of RFC 9842 §5")
  func header() throws {
    let header: [UInt8] = [0x5E, 0x2A, 0x4D, 0x18, 0x20, 0x00, 0x00, 0x00]
    #expect(Array(try Self.encoded().prefix(40)) == header + (try Self.dictionary().digest.bytes))
  }

  @Test("another coding may be applied to a difference")
  func twoCodings() throws {
    let wire = try #require(try Self.encoded().gzipped())
    #expect(try decode(wire, coding: "dcz, gzip") == Self.new)
  }

  // MARK: Faults

  @Test("a difference from another dictionary names both")
  func otherDictionary() throws {
    let other = try Self.dictionary(Array("var other;".utf8))
    let text = try #require(complaint(try Self.encoded(), with: other))
    #expect(text.contains("needs the dictionary \(try Self.dictionary().digest), and \(other.digest) was offered"))
  }

  @Test("a damaged difference is refused, or has the wrong content that its digest shows")
  func damage() throws {
    let delta = try Self.encoded()
    for position in delta.indices {
      var damaged = delta
      damaged[position] ^= 0x10
      let decoded = try? decode(damaged)
      #expect(position >= 40 || decoded == nil, "byte \(position)")
      #expect(decoded.map { $0.count <= 1 << 20 } ?? true)
    }
    for size in [0, 20, 39, 40, delta.count - 1] {
      #expect(complaint(Array(delta.prefix(size)))?.contains("ends too early") == true, "\(size) bytes")
    }
  }

  @Test("plain Zstandard is no difference")
  func noHeader() throws {
    let text = complaint(Array(try Self.encoded().dropFirst(40)))
    #expect(text?.contains("it has no header of a dictionary") == true)
  }

  @Test("a difference without a dictionary is a coding that was not asked for")
  func noDictionary() throws {
    #expect(throws: ContentError.unsupportedEncoding(url: "u", encoding: "dcz")) {
      try ContentDecoder(for: "dcz", url: "u", limit: 10)
    }
  }

  @Test("a few bytes that stand for many end at the limit")
  func bomb() throws {
    let bomb = try Self.encoded([UInt8](repeating: 0, count: 10 << 20))
    #expect(bomb.count < 10_000)
    #expect(complaint(bomb, limit: 1000)?.contains("more than the limit of 1000 bytes") == true)
  }

  @Test(
    "the largest window is 8 MiB, or 1.25 times the dictionary, and at most 128 MiB",
    arguments: [(0, 8), (6, 8), (8, 10), (16, 20), (1024, 128)])
  func windowLimits(size: Int, limit: Int) {
    #expect(DictionaryZstd.windowLimit(for: size << 20) == limit << 20)
  }

  @Test(
    "the window covers content and dictionary, unless the content alone is over the limit",
    arguments: [(0, 0, 10), (1, 1, 21), (13, 13, 25), (13, 1, 23)])
  func windows(content: Int, dictionary: Int, logarithm: Int) {
    #expect(DictionaryZstd.windowLog(of: content << 20, with: dictionary << 20) == Int32(logarithm))
  }

  @Test("the end of a content of more than 8 MiB is a difference from the end of its dictionary")
  func largeContent() throws {
    let old = Array(SeededText.make(bytes: 10 << 20).utf8)
    let new = Array("var first;".utf8) + old + Array("var last;".utf8)
    let dictionary = try Self.dictionary(old)
    let delta = try #require(DictionaryZstd.encode(new, with: dictionary))
    #expect(delta.count < 10_000)
    #expect(try decode(delta, with: dictionary, limit: 20 << 20) == new)
  }

  // MARK: Other programs

  @Test("the zstd command decodes what is written, and what it writes is decoded")
  func zstdCommand() async throws {
    let folder = try TemporaryDirectory()
    try Data(Self.old).write(to: URL(fileURLWithPath: folder.file("old.js")))
    try Data(Self.new).write(to: URL(fileURLWithPath: folder.file("new.js")))
    try Data(try Self.encoded().dropFirst(40)).write(to: URL(fileURLWithPath: folder.file("ours.zst")))
    func zstd(_ arguments: String...) async throws {
      try await RunningProgram("/usr/bin/env", ["zstd", "-q"] + arguments, in: folder.path).succeed()
    }
    try await zstd("-d", "--patch-from=old.js", "ours.zst", "-o", "decoded.js")
    #expect(Array(try Data(contentsOf: URL(fileURLWithPath: folder.file("decoded.js")))) == Self.new)
    try await zstd("--patch-from=old.js", "new.js", "-o", "theirs.zst")
    let theirs = Array(try Data(contentsOf: URL(fileURLWithPath: folder.file("theirs.zst"))))
    #expect(try decode(Array(try Self.encoded().prefix(40)) + theirs) == Self.new)
  }

  // MARK: Fields

  @Test func anOfferedDictionaryIsReadAsItIsWritten() throws {
    let digest = try Self.dictionary().digest
    let name = try #require(HTTPField.Name("Available-Dictionary"))
    #expect(digest.availableDictionary.hasPrefix(":") && digest.availableDictionary.hasSuffix("=:"))
    #expect(SHA256Digest(availableDictionary: [name: digest.availableDictionary]) == digest)
  }

  @Test(
    "a value that is no SHA-256 offers nothing",
    arguments: ["", "abc", "::", ":YWJj:", "\"pZGm1Av0IEBKARczz7exkNYsZb8LzaMrV7J32a2fFG4=\"", ":pZGm1Av0IEBK*:"])
  func invalidOffers(value: String) throws {
    let name = try #require(HTTPField.Name("Available-Dictionary"))
    #expect(SHA256Digest(availableDictionary: [name: value]) == nil)
    #expect(SHA256Digest(availableDictionary: [:]) == nil)
  }
}
