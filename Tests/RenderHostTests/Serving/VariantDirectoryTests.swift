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
    directory().write(encoded, of: digests, .coded(coding))
    #expect(directory().read(digests, .coded(coding)) == encoded)
  }

  @Test("contents of limit sizes are encoded", arguments: [0, 1 << 20])
  func limitSizes(size: Int) throws {
    var content = [UInt8](repeating: 7, count: size)
    if size > 0 { content[size / 2] = 9 }
    for coding in [ContentCoding.brotli, .zstd, .gzip] {
      let encoded = try #require(coding.encode(content))
      let decoder = try ContentDecoder(for: coding.token, url: "", limit: 1 << 20)
      #expect(try decoder.decode(encoded) == content)
      try decoder.finish()
    }
  }

  @Test("a difference is kept with its dictionary, and removed with it")
  func differences() throws {
    let old = Array("var old = 'content';".utf8)
    let (digests, base) = (try ContentDigests(of: content), try ContentDigests(of: old))
    let dictionary = ContentDictionary(old, digest: base.sha256)
    let delta = try #require(DictionaryZstd.encode(content, with: dictionary))
    directory().write(delta, of: digests, .delta(from: dictionary))
    #expect(directory().read(digests, .delta(from: dictionary)) == delta)
    directory().sweep { [digests.sha256, base.sha256].contains($0) }
    #expect(directory().read(digests, .delta(from: dictionary)) == delta)
    // A file that was made with other bytes is no difference from these.
    directory().write(Array(delta.dropLast()), of: digests, .delta(from: dictionary))
    #expect(directory().read(digests, .delta(from: dictionary)) == nil)
    directory().write(delta, of: digests, .delta(from: dictionary))
    directory().sweep { $0 == digests.sha256 }
    #expect(directory().read(digests, .delta(from: dictionary)) == nil)
  }

  @Test("an encoding that saves nothing is not tried again")
  func uselessEncoding() throws {
    let digests = try ContentDigests(of: content)
    directory().write(nil, of: digests, .coded(.gzip))
    #expect(directory().read(digests, .coded(.gzip)) == [])
    #expect(directory().read(digests, .coded(.zstd)) == nil)
  }

  @Test("a variant that does not decode to its content is never served")
  func damagedVariant() throws {
    let digests = try ContentDigests(of: content)
    let other = try #require(ContentCoding.gzip.encode(Array(content.dropLast())))
    let right = try #require(ContentCoding.gzip.encode(content))
    for bytes in [other, Array(right.dropLast()), right + [0], [1, 2, 3]] {
      directory().write(bytes, of: digests, .coded(.gzip))
      #expect(directory().read(digests, .coded(.gzip)) == nil)
      #expect(!FileManager.default.fileExists(atPath: directory().path(of: digests.sha256, .coded(.gzip))))
    }
  }

  @Test("variants are removed with their contents")
  func removedContents() throws {
    let kept = try ContentDigests(of: content)
    let gone = try ContentDigests(of: [1, 2, 3])
    for digests in [kept, gone] { directory().write([1], of: digests, .coded(.brotli)) }
    directory().sweep { $0 == kept.sha256 }
    #expect(FileManager.default.fileExists(atPath: directory().path(of: kept.sha256, .coded(.brotli))))
    #expect(!FileManager.default.fileExists(atPath: directory().path(of: gone.sha256, .coded(.brotli))))
  }

  @Test("the oldest variants are removed beyond the limit")
  func variantLimit() throws {
    let contents = try (0..<4).map { try ContentDigests(of: [$0]) }
    let directory = directory(capacity: 250)
    for (age, digests) in contents.enumerated() {
      directory.write(Array(repeating: 1, count: 100), of: digests, .coded(.brotli))
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: Double(1000 - age))],
        ofItemAtPath: directory.path(of: digests.sha256, .coded(.brotli)))
    }
    directory.sweep { _ in true }
    let there = contents.map { FileManager.default.fileExists(atPath: directory.path(of: $0.sha256, .coded(.brotli))) }
    #expect(there == [true, true, false, false])
  }
}
