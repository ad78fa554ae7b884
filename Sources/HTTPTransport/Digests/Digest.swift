/// An MD5 digest, which servers of bundles publish. It detects accidental damage, not manipulation. RFC 1321.
public struct MD5Digest: FixedSizeDigest {
  /// 16 bytes.
  public static let byteCount = 16
  /// The digest's bytes.
  public let bytes: [UInt8]

  /// Makes a digest of its 16 bytes; `nil` for any other number.
  public init?(bytes: some Sequence<UInt8>) {
    let bytes = Array(bytes)
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }
}

/// A SHA-256 digest, by which stores name bytes.
public struct SHA256Digest: FixedSizeDigest {
  /// 32 bytes.
  public static let byteCount = 32
  /// The digest's bytes.
  public let bytes: [UInt8]

  /// Makes a digest of its 32 bytes; `nil` for any other number.
  public init?(bytes: some Sequence<UInt8>) {
    let bytes = Array(bytes)
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }
}

/// A SHA-512 digest, which servers may give for a response. RFC 9530.
package struct SHA512Digest: FixedSizeDigest {
  package static let byteCount = 64
  package let bytes: [UInt8]

  package init?(bytes: some Sequence<UInt8>) {
    let bytes = Array(bytes)
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }
}

/// A digest of a fixed size. Its text, also in JSON, is lower-case hexadecimal.
public protocol FixedSizeDigest: Hashable, Sendable, Codable, CustomStringConvertible {
  /// The digest's size in bytes.
  static var byteCount: Int { get }
  /// The digest's bytes.
  var bytes: [UInt8] { get }
  /// Makes a digest of its bytes; `nil` unless there are exactly ``byteCount`` bytes.
  init?(bytes: some Sequence<UInt8>)
}

extension FixedSizeDigest {
  /// Reads hexadecimal digits of either case; `nil` if the text has other characters or a wrong length.
  public init?(hex: some StringProtocol) {
    guard let bytes = Hex.decode(hex, count: Self.byteCount) else { return nil }
    self.init(bytes: bytes)
  }

  /// The lower-case hexadecimal digits.
  public var hex: String { Hex.encode(bytes) }

  public var description: String { hex }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let digest = Self(hex: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\"\(text.prefix(80))\" is not \(Self.byteCount * 2) hexadecimal digits")
    }
    self = digest
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(hex)
  }
}

/// The digests and size of some bytes.
package struct ContentDigests: Hashable, Sendable {
  /// The MD5.
  package let md5: MD5Digest
  /// The SHA-256.
  package let sha256: SHA256Digest
  /// The number of bytes.
  package let size: Int64

  /// Makes digests with the given values.
  package init(md5: MD5Digest, sha256: SHA256Digest, size: Int64) {
    (self.md5, self.sha256, self.size) = (md5, sha256, size)
  }
}

/// The digests and size that a bundle's bytes must have; unknown ones are not compared.
package struct ExpectedContent: Hashable, Sendable {
  package let md5: MD5Digest?
  package let sha256: SHA256Digest?
  /// The number of bytes.
  package let size: Int64?

  package init(md5: MD5Digest?, sha256: SHA256Digest? = nil, size: Int64? = nil) {
    self.md5 = md5
    self.sha256 = sha256
    self.size = size
  }

  /// Describes the first difference; `nil` if the bytes have the expected digests and size.
  ///
  /// - Parameter isInFile: `true` for bytes of a local file, whose digests are not told.
  package func mismatch(with found: ContentDigests, inFile isInFile: Bool = false) -> String? {
    if isInFile {
      if let size, size != found.size { return "the manifest says \(size) bytes, the file has \(found.size)" }
      if let md5, md5 != found.md5 { return "the manifest says MD5 \(md5), the file has other bytes" }
      if let sha256, sha256 != found.sha256 { return "the manifest says SHA-256 \(sha256), the file has other bytes" }
      return nil
    }
    if let size, size != found.size { return "the server says \(size) bytes, the download has \(found.size)" }
    if let md5, md5 != found.md5 { return "the server says MD5 \(md5), the download has \(found.md5)" }
    if let sha256, sha256 != found.sha256 {
      return "the server says SHA-256 \(sha256), the download has \(found.sha256)"
    }
    return nil
  }
}
