import Blobs
import Foundation
import HTTPTransport
import Logging
import Releases

/// The form in which the bytes of a content are stored.
enum Variant: Sendable {
  case coded(ContentCoding)
  /// As the difference from a dictionary.
  case delta(from: ContentDictionary)

  /// The end of its file's name.
  fileprivate var suffix: String {
    switch self {
    case .coded(let coding): coding.token
    case .delta(let dictionary): "\(dictionary.digest.hex).\(DictionaryZstd.token)"
    }
  }

  fileprivate func decoder(limit: Int64) throws -> ContentDecoder {
    switch self {
    case .coded(let coding): try ContentDecoder(for: coding.token, url: "", limit: limit)
    case .delta(let dictionary):
      try ContentDecoder(for: DictionaryZstd.token, url: "", limit: limit, dictionary: dictionary)
    }
  }
}

/// Encoded bytes in the store's folder: `variants/ab/abcd….br`, named by the SHA-256 of the decoded bytes; of differences,
/// `variants/ab/abcd….0123….dcz`, also by that of the dictionary.
///
/// A file is checked when it is read: one that does not decode to its name is removed. An empty file records that
/// encoding saves nothing. Every call blocks its thread.
struct VariantDirectory: Sendable {
  let root: String
  /// The limit of all variants in bytes.
  let capacity: Int64
  let logger: Logger
  private let problem = LastingProblem()

  init(store: String, capacity: Int64 = 256 << 20, logger: Logger) {
    root = store + "/variants"
    self.capacity = capacity
    self.logger = logger
  }

  func path(of content: SHA256Digest, _ variant: Variant) -> String {
    "\(root)/\(content.hex.prefix(2))/\(content.hex).\(variant.suffix)"
  }

  /// Returns the bytes, which are empty if encoding saves nothing; `nil` if there is no variant, or if it was damaged.
  func read(_ content: ContentDigests, _ variant: Variant) -> [UInt8]? {
    let path = path(of: content.sha256, variant)
    // A variant that is larger than the content is invalid.
    guard let size = FileStatus(ofLink: path)?.size, size < content.size,
      let data = FileManager.default.contents(atPath: path)
    else { return nil }
    let bytes = Array(data)
    guard bytes.isEmpty || isVariant(bytes, of: content, variant) else {
      logger.warning("a stored variant was damaged and is made again", metadata: ["file": "\(path)"])
      unlink(path)
      return nil
    }
    return bytes
  }

  private func isVariant(_ bytes: [UInt8], of content: ContentDigests, _ variant: Variant) -> Bool {
    do {
      let decoder = try variant.decoder(limit: content.size)
      let decoded = try decoder.decode(bytes)
      try decoder.finish()
      return try ContentDigests(of: decoded) == content
    } catch {
      return false
    }
  }

  /// - Parameter bytes: `nil` if encoding saves nothing. A variant that cannot be written is made again later.
  func write(_ bytes: [UInt8]?, of content: ContentDigests, _ variant: Variant) {
    let target = path(of: content.sha256, variant)
    do {
      let names = [String(content.sha256.hex.prefix(2)), (target as NSString).lastPathComponent]
      try StoreDirectory(root).write(bytes ?? [], to: names)
      if problem.ends() { logger.notice("variants are stored again") }
    } catch {
      guard problem.begins(error) else { return }
      logger.warning("variants cannot be stored, and are made again for each request: \(error.sentence)")
    }
  }

  /// Removes variants whose contents or dictionaries no longer exist, unfinished files of former processes, and, above
  /// the capacity, the oldest variants.
  func sweep(isThere: (SHA256Digest) -> Bool) {
    var kept: [(path: String, size: Int64, modified: Date)] = []
    for folder in (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? [] {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(folder)")) ?? [] {
        let path = "\(root)/\(folder)/\(name)"
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let modified = attributes?[.modificationDate] as? Date ?? .distantPast
        let isDraft = name.hasSuffix(".new")
        let isUseful = Manifest.delta(named: name).map { isThere($0.target) && isThere($0.base) }
        let digest = SHA256Digest(hex: name.prefix { $0 != "." })
        if isDraft ? modified.timeIntervalSinceNow < -600 : !(isUseful ?? digest.map(isThere) ?? false) {
          unlink(path)
        } else if !isDraft {
          kept.append((path, Int64((attributes?[.size] as? Int) ?? 0), modified))
        }
      }
    }
    var total = kept.reduce(0) { $0 + $1.size }
    for file in kept.sorted(by: { $0.modified < $1.modified }) where total > capacity {
      unlink(file.path)
      total -= file.size
    }
  }
}
