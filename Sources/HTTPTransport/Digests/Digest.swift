import CCrypto

/// An MD5 digest, which servers of bundles publish. It detects accidental damage, not manipulation. RFC 1321.
public struct MD5Digest: FixedSizeDigest, Hashable, Sendable, Codable, CustomStringConvertible {
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

  /// Reads hexadecimal digits of either case; `nil` if the text has other characters or a wrong length.
  public init?(hex: some StringProtocol) {
    guard let bytes = Hex.decode(hex, count: Self.byteCount) else { return nil }
    self.bytes = bytes
  }

  /// Reads hexadecimal digits of either case from bytes.
  package init?(hexDigits: UnsafeBufferPointer<UInt8>) {
    guard let bytes = Hex.decode(hexDigits, count: Self.byteCount) else { return nil }
    self.bytes = bytes
  }

  /// The lower-case hexadecimal digits.
  public var hex: String { Hex.encode(bytes) }
}

/// A SHA-256 digest, by which stores name bytes.
public struct SHA256Digest: FixedSizeDigest, Hashable, Sendable, Codable, CustomStringConvertible {
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

  /// Reads hexadecimal digits of either case; `nil` if the text has other characters or a wrong length.
  public init?(hex: some StringProtocol) {
    guard let bytes = Hex.decode(hex, count: Self.byteCount) else { return nil }
    self.bytes = bytes
  }

  /// Reads hexadecimal digits of either case from bytes.
  package init?(hexDigits: UnsafeBufferPointer<UInt8>) {
    guard let bytes = Hex.decode(hexDigits, count: Self.byteCount) else { return nil }
    self.bytes = bytes
  }

  /// The lower-case hexadecimal digits.
  public var hex: String { Hex.encode(bytes) }
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
package protocol FixedSizeDigest: Hashable, Sendable, Codable, CustomStringConvertible {
  /// The digest's size in bytes.
  static var byteCount: Int { get }
  /// The digest's bytes.
  var bytes: [UInt8] { get }
  /// Makes a digest of its bytes; `nil` unless there are exactly ``byteCount`` bytes.
  init?(bytes: some Sequence<UInt8>)
}

extension FixedSizeDigest {
  /// Reads hexadecimal digits of either case; `nil` if the text has other characters or a wrong length.
  package init?(hex: some StringProtocol) {
    guard let bytes = Hex.decode(hex, count: Self.byteCount) else { return nil }
    self.init(bytes: bytes)
  }

  /// The lower-case hexadecimal digits.
  package var hex: String { Hex.encode(bytes) }

  public var description: String { hex }

  /// Decodes a digest from its hexadecimal digits.
  ///
  /// - Throws: `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let digest = Self(hex: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\"\(text.prefix(80))\" is not \(Self.byteCount * 2) hexadecimal digits")
    }
    self = digest
  }

  /// Encodes the hexadecimal digits.
  ///
  /// - Throws: `EncodingError`.
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

/// Computes a digest of bytes as they arrive, with libcrypto.
package struct Digester<Digest: FixedSizeDigest>: ~Copyable {
  private let context: OpaquePointer

  fileprivate init(_ algorithm: OpaquePointer?, named name: String) throws {
    guard let algorithm, let context = EVP_MD_CTX_new() else { throw DigestError.unavailable(name) }
    guard EVP_DigestInit_ex(context, algorithm, nil) == 1 else {
      EVP_MD_CTX_free(context)
      throw DigestError.unavailable(name)
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    // This fails only on a context that was never initialised.
    _ = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// Returns the digest of all bytes; to be called once, at the end.
  package mutating func finish() throws -> Digest {
    var length: UInt32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
      let done = EVP_DigestFinal_ex(context, buffer.baseAddress, &length) == 1
      count = done ? Int(length) : 0
    }
    guard let digest = Digest(bytes: bytes) else { throw DigestError.unavailable("\(Digest.self)") }
    return digest
  }
}

extension Digester where Digest == MD5Digest {
  /// - Throws: ``DigestError`` if libcrypto was built without MD5.
  package static func md5() throws -> Self { try Self(CryptoLibrary.shared.md5, named: "MD5") }
}

extension Digester where Digest == SHA256Digest {
  /// - Throws: ``DigestError`` if libcrypto was built without SHA-256.
  package static func sha256() throws -> Self { try Self(CryptoLibrary.shared.sha256, named: "SHA256") }
}

extension Digester where Digest == SHA512Digest {
  /// - Throws: ``DigestError`` if libcrypto was built without SHA-512.
  package static func sha512() throws -> Self { try Self(CryptoLibrary.shared.sha512, named: "SHA512") }
}

/// libcrypto's default provider, in a context that is independent of the system's settings: FIPS mode forbids MD5 as a
/// protection against attacks, but here it is only the checksum that a server gives.
///
/// `@unchecked Sendable`: the context is made once and not changed afterwards, and libcrypto locks it itself.
package struct CryptoLibrary: @unchecked Sendable {
  package static let shared = CryptoLibrary()

  /// Lives as long as the process; `nil` if it cannot be made.
  package let context: OpaquePointer?
  /// The algorithms of digests. They live as long as the process.
  fileprivate let md5, sha256, sha512: OpaquePointer?

  private init() {
    let context = OSSL_LIB_CTX_new()
    _ = context.map { OSSL_PROVIDER_load($0, "default") }
    func algorithm(_ name: String) -> OpaquePointer? { context.flatMap { EVP_MD_fetch($0, name, "") } }
    self.context = context
    (md5, sha256, sha512) = (algorithm("MD5"), algorithm("SHA256"), algorithm("SHA512"))
  }
}

/// Computes MD5 and SHA-256 in one pass over the bytes.
package struct ContentDigester: ~Copyable {
  private var md5: Digester<MD5Digest>
  private var sha256: Digester<SHA256Digest>
  /// The number of bytes so far.
  package private(set) var size: Int64 = 0

  package init() throws {
    let md5 = try Digester<MD5Digest>.md5()
    let sha256 = try Digester<SHA256Digest>.sha256()
    self.md5 = md5
    self.sha256 = sha256
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    md5.update(bytes)
    sha256.update(bytes)
    size += Int64(bytes.count)
  }

  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// Returns the digests of all bytes; to be called once, at the end.
  package mutating func finish() throws -> ContentDigests {
    ContentDigests(md5: try md5.finish(), sha256: try sha256.finish(), size: size)
  }
}

extension MD5Digest {
  /// Computes the MD5 of the bytes.
  ///
  /// - Throws: ``DigestError`` if the system's libcrypto has no MD5.
  public init(of bytes: [UInt8]) throws {
    var digester = try Digester.md5()
    digester.update(bytes)
    self = try digester.finish()
  }
}

extension SHA256Digest {
  /// Computes the SHA-256 of the bytes.
  ///
  /// - Throws: an error that says so if the system's libcrypto has no SHA-256.
  package init(of bytes: [UInt8]) throws {
    var digester = try Digester.sha256()
    digester.update(bytes)
    self = try digester.finish()
  }
}

extension ContentDigests {
  /// Computes both digests of the bytes.
  ///
  /// - Throws: an error that says so if the system's libcrypto lacks one of the algorithms.
  package init(of bytes: [UInt8]) throws {
    var digester = try ContentDigester()
    digester.update(bytes)
    self = try digester.finish()
  }
}

/// The reason why a digest cannot be computed.
public enum DigestError: Error, Hashable, CustomStringConvertible {
  /// libcrypto was built without the algorithm of this name.
  case unavailable(String)

  public var description: String {
    switch self {
    case .unavailable(let name):
      "libcrypto on this system was built without \(name): install OpenSSL with its default provider"
    }
  }
}
