import Blobs
import Bundles
import Containers
import CurlTransport
import Foundation
import HTTPTransport
import Logging
import NIOCore
import NIOPosix
import Releases
import Synchronization

/// Returns contents in the requested encodings: from memory, from the store, or encoded once.
final class RepresentationStore: Sendable {
  private struct Key: Hashable, Sendable {
    let content: SHA256Digest
    let coding: ContentCoding
  }

  private let store: BundleStore
  private let downloader: BundleDownloader
  private let variants: VariantDirectory
  private let logger: Logger
  /// `nil` stands for an encoding that saves nothing.
  private let memory: LRUCache<Key, Representation?>
  private let flights = SingleFlight<Key, Representation?>()
  /// The representations that are being sent: requests for one that is too large for the memory share it.
  private let inUse = WeakTable<Key, Representation>()
  /// The bytes of the smallest encodings that were made.
  private let smallest = Mutex<[SHA256Digest: Int]>([:])
  private static let smallestLimit = 10_000

  /// - Parameter capacity: the bytes that are kept in memory.
  init(
    store: BundleStore, downloader: BundleDownloader, variants: VariantDirectory, capacity: Int = 48 << 20,
    logger: Logger
  ) {
    self.store = store
    self.downloader = downloader
    self.variants = variants
    self.logger = logger
    memory = LRUCache(capacity: capacity)
  }

  /// Returns the first available one of the encodings; `nil` if there is none.
  ///
  /// - Throws: ``BundleError``, ``BlobError``, ``StoreError`` if the content is not available.
  func representation(of content: ServedContent, in codings: [ContentCoding]) async throws -> Representation? {
    for coding in codings where content.codings.contains(coding) {
      let key = Key(content: content.digests.sha256, coding: coding)
      if let known = memory[key] {
        guard let known else { continue }
        return known
      }
      if let shared = inUse[key] { return shared }
      if let made = try await flights.value(for: key, { try await self.make(key, of: content) }) { return made }
    }
    return nil
  }

  /// The size of the smallest representation of a content without a dictionary, in bytes.
  ///
  /// - Throws: as ``representation(of:in:)``.
  func fullSize(of content: ServedContent) async throws -> Int {
    var smallest = Int(content.digests.size)
    for coding in content.codings where coding != .identity {
      smallest = min(smallest, try await representation(of: content, in: [coding])?.size ?? smallest)
    }
    return smallest
  }

  /// The bytes of the smallest encoding of a content that was sent; `nil` if there is none.
  func smallestSize(of content: SHA256Digest) -> Int? { smallest.withLock { $0[content] } }

  /// Removes the variants of contents that no longer exist.
  func sweep() async {
    smallest.withLock { $0 = $0.filter { store.holdsFile(of: $0.key) } }
    _ = try? await NIOThreadPool.singleton.runIfActive { [variants, store] in
      variants.sweep { store.holdsFile(of: $0) }
    }
  }

  private func make(_ key: Key, of content: ServedContent) async throws -> Representation? {
    let representation: Representation?
    if key.coding == .identity {
      representation = Representation(
        try await bytes(of: content), digests: content.digests)
    } else {
      representation = try await encoded(content, key.coding)
      if let size = representation?.size, !content.isMade { record(size, of: key.content) }
    }
    memory.insert(representation, for: key, cost: representation.map { $0.size + 512 } ?? 128)
    if let representation { inUse.insert(representation, for: key) }
    return representation
  }

  private func record(_ size: Int, of content: SHA256Digest) {
    smallest.withLock { smallest in
      if smallest.count >= Self.smallestLimit, smallest[content] == nil { smallest = [:] }
      smallest[content] = min(size, smallest[content] ?? size)
    }
  }

  private func encoded(_ content: ServedContent, _ coding: ContentCoding) async throws -> Representation? {
    // Only contents of the store have their variants there; generated content lasts as long as the release.
    let variants = content.isMade ? nil : variants
    let found = try await NIOThreadPool.singleton.runIfActive { variants?.read(content.digests, .coded(coding)) }
    let bytes: [UInt8]
    if let found {
      if found.isEmpty { return nil }
      bytes = found
    } else {
      let whole = try await identity(of: content)
      let packed = try await NIOThreadPool.singleton.runIfActive { () -> [UInt8]? in
        let packed = coding.encode(Array(buffer: whole.buffer))
        let useful = packed.flatMap { $0.count < whole.size ? $0 : nil }
        variants?.write(useful, of: content.digests, .coded(coding))
        return useful
      }
      guard let packed else { return nil }
      bytes = packed
    }
    return Representation(
      ByteBuffer(bytes: bytes), encoding: coding.token, digests: try ContentDigests(of: bytes))
  }

  private func identity(of content: ServedContent) async throws -> Representation {
    guard let whole = try await representation(of: content, in: [.identity]) else {
      throw BlobError.missing(content.digests.sha256, path: content.digests.sha256.hex)
    }
    return whole
  }

  /// Reads a content's bytes. Damaged bytes are set aside and fetched again from their source.
  private func bytes(of content: ServedContent) async throws -> ByteBuffer {
    switch content.origin {
    case .made(let buffer): return buffer
    case .blob(let blob, let bundle, let release):
      do {
        return ByteBuffer(bytes: try await store.bytes(of: blob).bytes)
      } catch let error as BlobError {
        logger.warning("\(error); it is fetched again", metadata: ["bundle": "\(bundle.name)"])
        try await store.quarantine(blob)
        let expected = ExpectedContent(md5: blob.md5, sha256: blob.sha256, size: blob.size)
        let target = FetchTarget(kind: bundle.kind, name: bundle.name, url: bundle.contentURL, expected: expected)
        let mended = try await downloader.download(target, for: release).blob
        return ByteBuffer(bytes: try await store.bytes(of: mended).bytes)
      }
    }
  }
}

/// The bytes of a response in one encoding, with their digests and their tag. RFC 9110 §8.
final class Representation: Sendable {
  /// The value of `Content-Encoding`; `nil` for the content itself.
  let encoding: String?
  let buffer: ByteBuffer
  /// A strong entity tag, computed from the encoded bytes so that each encoding has its own. RFC 9110 §8.8.3.3.
  let etag: String
  /// RFC 1864: the digest of the encoded bytes.
  let contentMD5: String
  /// RFC 9530 §3: the digest of the encoded bytes.
  let reprDigest: String

  var size: Int { buffer.readableBytes }

  /// - Parameter digests: those of the encoded bytes.
  init(_ buffer: ByteBuffer, encoding: String? = nil, digests: ContentDigests) {
    self.buffer = buffer
    self.encoding = encoding
    etag = "\"\(digests.sha256.hex)\""
    contentMD5 = Data(digests.md5.bytes).base64EncodedString()
    reprDigest = "sha-256=:\(Data(digests.sha256.bytes).base64EncodedString()):"
  }
}
