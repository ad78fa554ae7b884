import Foundation
import Logging
import PageKit
import PageTesting
import Testing

@testable import RenderHost

struct VariantDirectoryTests {
  private let folder: TemporaryDirectory
  private let content = Array(String(repeating: "var d = weex.document\n", count: 300).utf8)

  init() throws { folder = try TemporaryDirectory() }

  private func directory(capacity: Int64 = 1 << 20) -> VariantDirectory {
    VariantDirectory(
      store: folder.path, capacity: capacity, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  @Test("encoded contents decode to the original", arguments: [ContentCoding.brotli, .zstd, .gzip])
  func roundTrip(coding: ContentCoding) throws {
    let digests = try ContentDigests(of: content)
    let encoded = try #require(coding.encode(content))
    #expect(encoded.count < content.count / 4)
    directory().write(encoded, of: digests, coding)
    #expect(directory().read(digests, coding) == .bytes(encoded))
  }

  @Test("contents of limit sizes are encoded", arguments: [0, 1 << 20])
  func limitSizes(size: Int) throws {
    var content = [UInt8](repeating: 7, count: size)
    if size > 0 { content[size / 2] = 9 }
    for coding in [ContentCoding.brotli, .zstd, .gzip] {
      let encoded = try #require(coding.encode(content))
      let decoder = try ContentDecoder().decoder(for: coding.token, url: "", limit: 1 << 20)
      #expect(try decoder.decode(encoded) == content)
      try decoder.finish()
    }
  }

  @Test("an encoding that saves nothing is not tried again")
  func uselessEncoding() throws {
    let digests = try ContentDigests(of: content)
    directory().write(nil, of: digests, .gzip)
    #expect(directory().read(digests, .gzip) == .useless)
    #expect(directory().read(digests, .zstd) == nil)
  }

  @Test("a variant that does not decode to its content is never served")
  func damagedVariant() throws {
    let digests = try ContentDigests(of: content)
    let other = try #require(ContentCoding.gzip.encode(Array(content.dropLast())))
    let right = try #require(ContentCoding.gzip.encode(content))
    for bytes in [other, Array(right.dropLast()), right + [0], [1, 2, 3]] {
      directory().write(bytes, of: digests, .gzip)
      #expect(directory().read(digests, .gzip) == nil)
      #expect(!FileManager.default.fileExists(atPath: directory().path(of: digests.sha256, .gzip)))
    }
  }

  @Test("variants are removed with their contents")
  func removedContents() throws {
    let kept = try ContentDigests(of: content)
    let gone = try ContentDigests(of: [1, 2, 3])
    for digests in [kept, gone] { directory().write([1], of: digests, .brotli) }
    directory().sweep { $0 == kept.sha256 }
    #expect(FileManager.default.fileExists(atPath: directory().path(of: kept.sha256, .brotli)))
    #expect(!FileManager.default.fileExists(atPath: directory().path(of: gone.sha256, .brotli)))
  }

  @Test("the oldest variants are removed beyond the limit")
  func variantLimit() throws {
    let contents = try (0..<4).map { try ContentDigests(of: [$0]) }
    let directory = directory(capacity: 250)
    for (age, digests) in contents.enumerated() {
      directory.write(Array(repeating: 1, count: 100), of: digests, .brotli)
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: Double(1000 - age))],
        ofItemAtPath: directory.path(of: digests.sha256, .brotli))
    }
    directory.sweep { _ in true }
    let there = contents.map { FileManager.default.fileExists(atPath: directory.path(of: $0.sha256, .brotli)) }
    #expect(there == [true, true, false, false])
  }
}
