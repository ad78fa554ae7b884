import HTTPTransport

/// A small file in the place of a source's manifest that says which of the manifests beside it is current.
///
/// A publisher switches a release by replacing this one file. All others never change, so that caches may keep them for
/// ever, and each release is there with its own signatures as long as the pointer names it.
package struct ReleasePointer: Hashable, Sendable, Codable {
  /// The pointer's name beside the manifests.
  package static let fileName = "current.json"
  /// The newest schema that this version reads.
  package static let supportedSchema = 1
  /// The largest size of a pointer in bytes.
  package static let byteLimit = 256 << 10
  /// The largest number of former releases.
  package static let formerLimit = 100

  /// A published release.
  package struct Release: Hashable, Sendable, Codable {
    /// The release's name.
    package var release: String
    package var sequence: Int64
    /// Its manifest, whose URL is relative to the pointer's.
    package var manifest: ManifestReference
    /// The time at which it was first published: RFC 3339, in UTC.
    package var publishedAt: String

    package init(release: String, sequence: Int64, manifest: ManifestReference, publishedAt: String) {
      (self.release, self.sequence, self.manifest, self.publishedAt) = (release, sequence, manifest, publishedAt)
    }
  }

  package var current: Release
  /// The releases that can be gone back to, the one published last first.
  package var former: [Release] = []
  /// The number of times that files without a release were looked for and removed. See ``PublishPlan``.
  package var collections: Int64 = 0

  package init(current: Release, former: [Release] = [], collections: Int64 = 0) {
    (self.current, self.former, self.collections) = (current, former, collections)
  }

  /// Reads a file that may be a pointer.
  ///
  /// - Returns: `nil` if the file is not a pointer, such as a manifest.
  /// - Throws: ``ManifestError`` for a pointer that cannot be used.
  package init?(reading bytes: [UInt8]) throws {
    guard Self.mayBePointer(bytes), let value = try? JSONValue(reading: bytes), case .object(let members) = value,
      case .object = members["current"]
    else { return nil }
    if case .integer(let schema) = members["schema"], schema != Self.supportedSchema {
      throw ManifestError.unsupportedSchema(found: schema, supported: Self.supportedSchema)
    }
    do {
      self = try value.decoded()
    } catch {
      throw ManifestError.invalid([ManifestFault(subject: "the pointer", reason: ManifestFault.reason(error))])
    }
    let faults = faults
    guard faults.isEmpty else { throw ManifestError.invalid(faults) }
  }

  /// Returns `false` for nearly all manifests, without parsing them: each launch may read one.
  private static func mayBePointer(_ bytes: [UInt8]) -> Bool {
    guard bytes.count <= byteLimit else { return false }
    let name = Array("\"current\"".utf8)
    return bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while let start = rest.firstIndex(of: UInt8(ascii: "\"")) {
        if rest[start...].starts(with: name) { return true }
        rest = rest[(start + 1)...]
      }
      return false
    }
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: AnyKey.self)
    current = try container.decode(Release.self, forKey: "current")
    former = try container.decodeIfPresent([Release].self, forKey: "former") ?? []
    collections = try container.decodeIfPresent(Int64.self, forKey: "collections") ?? 0
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: AnyKey.self)
    try container.encode(Self.supportedSchema, forKey: "schema")
    try container.encode(current, forKey: "current")
    try container.encode(former, forKey: "former")
    try container.encode(collections, forKey: "collections")
  }

  /// All of its releases, the current one first.
  package var releases: [Release] { [current] + former }

  private var faults: [ManifestFault] {
    var reasons: [String] = []
    if former.count > Self.formerLimit {
      reasons.append("it has \(former.count) former releases, more than \(Self.formerLimit)")
    }
    if !(0..<Int64.sequenceLimit).contains(collections) {
      reasons.append("its \"collections\" is \(collections), it must be from 0 to \(Int64.sequenceLimit - 1)")
    }
    for release in releases {
      if !(0...Int64.sequenceLimit).contains(release.sequence) {
        reasons.append(
          "a release has the sequence \(release.sequence), it must be from 0 to \(Int64.sequenceLimit)")
      }
      if !Manifest.isUsableName(release.release) {
        reasons.append("the name of a release must be a text of 1 to 200 bytes without control characters")
      }
      if !release.manifest.isUsable {
        reasons.append("\(release.manifest.url.quotedForMessage) is no http, https or relative URL of a manifest")
      }
    }
    return reasons.map { ManifestFault(subject: "the pointer", reason: $0) }
  }
}

extension ReleasePointer {
  /// The bytes of a file with the pointer.
  package func fileBytes() throws -> [UInt8] { try SignedJSON.encode(self) }
}

/// The names of the objects of published releases.
///
///     current.json                  the pointer, which alone is replaced
///     SHA256.manifest.json          a manifest, and beside it its signatures
///     N.root.json                   a root, and beside it its signatures
///     status.json                   the status, and beside it its signatures
///     blobs/SHA256                  a content
///     blobs/deltas/…                the difference between two contents
///
/// Behind a digest stands the number of the last collection, if there was one: `blobs/SHA256-3`. The blobs that a
/// collection removes were written before it, so that no later publisher relies on a name that is about to be removed:
/// publishers and collections need no lock between them.
package enum PublishedNames {
  package static let pointer = ReleasePointer.fileName
  package static let blobs = "blobs/"
  private static let manifestEnd = ".manifest.json"

  /// The name of a content below ``blobs``; `nil` if that is its digest alone.
  package static func blob(of digest: SHA256Digest, after collections: Int64) -> String? {
    collections == 0 ? nil : numbered(digest, collections)
  }

  package static func manifest(with digest: SHA256Digest, after collections: Int64) -> String {
    numbered(digest, collections) + manifestEnd
  }

  private static func numbered(_ digest: SHA256Digest, _ collections: Int64) -> String {
    collections == 0 ? digest.hex : "\(digest.hex)-\(collections)"
  }

  /// Returns `true` for the names of contents, deltas, manifests and their signatures that a collection may remove.
  ///
  /// - Parameter collections: the pointer's count before the collection. Names with a higher one are of publishers who
  ///   have read a later pointer.
  package static func isCollected(_ name: String, upTo collections: Int64) -> Bool {
    number(of: name).map { $0 <= collections } ?? false
  }

  /// Returns `true` for the names of all objects that hosts read.
  package static func isRead(_ name: String) -> Bool {
    if name == pointer || number(of: name) != nil { return true }
    let file = SignatureFile.signedName(of: name)
    return file == ReleaseStatus.fileName || PublishedRoot.version(ofFile: file) != nil
  }

  /// Returns the number of the collection after which a content, a delta, a manifest or a signature file was uploaded;
  /// `nil` for any other name.
  private static func number(of name: String) -> Int64? {
    if name.hasPrefix(blobs) {
      let rest = name.dropFirst(blobs.count)
      guard rest.hasPrefix(Manifest.deltaFolder + "/") else { return number(ofDigest: rest) }
      let delta = Manifest.delta(named: rest.dropFirst(Manifest.deltaFolder.count + 1))
      return delta.flatMap { Manifest.deltaPath(to: $0.target, from: $0.base) == rest ? 0 : nil }
    }
    for end in [manifestEnd, manifestEnd + SignatureFile.suffix] where name.hasSuffix(end) {
      return number(ofDigest: name.dropLast(end.count))
    }
    return nil
  }

  private static func number(ofDigest text: Substring) -> Int64? {
    let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    let number = parts.count == 1 ? 0 : Int64(parts[1])
    guard let number, number >= 0, let digest = SHA256Digest(hex: parts[0]), numbered(digest, number) == text else {
      return nil
    }
    return number
  }
}
