/// An MD5 digest: what servers of bundles publish. It tells damage, not malice.
public struct MD5Digest: FixedSizeDigest {
  public static let byteCount = 16
  public let bytes: [UInt8]

  public init?(bytes: some Sequence<UInt8>) {
    let bytes = Array(bytes)
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }
}

/// A SHA-256 digest: the name of a blob.
public struct SHA256Digest: FixedSizeDigest {
  public static let byteCount = 32
  public let bytes: [UInt8]

  public init?(bytes: some Sequence<UInt8>) {
    let bytes = Array(bytes)
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }
}

/// What the two digests have in common: a size, a hexadecimal form, and that it is what JSON holds.
public protocol FixedSizeDigest: Hashable, Sendable, Codable, CustomStringConvertible {
  /// The digest's size in bytes.
  static var byteCount: Int { get }
  var bytes: [UInt8] { get }
  /// Nil unless there are exactly `byteCount` bytes.
  init?(bytes: some Sequence<UInt8>)
}

extension FixedSizeDigest {
  /// Reads hexadecimal digits of either case; nil when their number is wrong.
  public init?(hex: some StringProtocol) {
    guard let bytes = Hex.decode(hex, count: Self.byteCount) else { return nil }
    self.init(bytes: bytes)
  }

  /// Lower-case hexadecimal digits.
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

/// Both digests of the same bytes, and how many there were.
public struct ContentDigests: Hashable, Sendable {
  public let md5: MD5Digest
  public let sha256: SHA256Digest
  /// In bytes.
  public let size: Int64

  public init(md5: MD5Digest, sha256: SHA256Digest, size: Int64) {
    (self.md5, self.sha256, self.size) = (md5, sha256, size)
  }
}
