import CCrypto
import Foundation
import HTTPTransport

/// An Ed25519 public key. RFC 8032.
package struct VerificationKey: Hashable, Sendable {
  /// The key's 32 bytes. RFC 8032 §5.1.5.
  package let bytes: [UInt8]
  /// The name by which roots and signatures call the key: the SHA-256 of its bytes.
  package let id: SHA256Digest

  package static let byteCount = 32
  package static let signatureByteCount = 64

  /// Returns `nil` unless there are exactly 32 bytes, which stand for a point that only the owner of a private key can
  /// sign for.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, Self.isStrong(bytes), let id = try? ContentDigests(of: bytes).sha256 else {
      return nil
    }
    self.bytes = bytes
    self.id = id
  }

  /// Returns `false` for the points whose order divides 8, for which anybody can make signatures without a private key,
  /// and for coordinates that are not below the prime 2²⁵⁵ − 19, which would be second names of other points.
  ///
  /// libcrypto takes both: RFC 8032 §5.1.7 does not ask for more. The first bit of x, which is the last one of the bytes,
  /// makes no difference to either.
  private static func isStrong(_ bytes: [UInt8]) -> Bool {
    var y = bytes
    y[byteCount - 1] &= 0x7F
    let isReduced = y.reversed().lexicographicallyPrecedes(prime.reversed())
    return isReduced && !weak.contains(y)
  }

  /// 2²⁵⁵ − 19, its lowest byte first.
  private static let prime: [UInt8] = [0xED] + Array(repeating: 0xFF, count: 30) + [0x7F]

  /// The coordinates y of the points whose order divides 8: of orders 1, 2 and 4, and the two of order 8.
  private static let weak: Set<[UInt8]> = [
    [1] + Array(repeating: 0, count: 31),
    [0xEC] + Array(repeating: 0xFF, count: 30) + [0x7F],
    Array(repeating: 0, count: 32),
    [
      0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0,
      0xD5, 0xDF, 0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
    ],
    [
      0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F,
      0x2A, 0x20, 0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
    ],
  ]

  /// Reads base64; `nil` unless it stands for 32 bytes that can be a key.
  package init?(base64: String) {
    guard let bytes = Data(base64Encoded: base64) else { return nil }
    self.init(bytes: Array(bytes))
  }

  /// Reads a PEM file with a public or a private key.
  ///
  /// - Throws: ``KeyError``.
  package init(pem: [UInt8]) throws {
    if let key = KeyHandle(publicPEM: pem) {
      self = try key.verificationKey()
    } else {
      self = try KeyHandle(privatePEM: pem).verificationKey()
    }
  }

  package var base64: String { Data(bytes).base64EncodedString() }

  /// The key as a PEM file of the kind `PUBLIC KEY`. RFC 8410 §4.
  ///
  /// - Throws: ``KeyError/unavailable``.
  package func pem() throws -> String {
    guard let handle = KeyHandle(publicBytes: bytes) else { throw KeyError.unavailable }
    return try handle.publicPEM()
  }

  /// Returns `true` if a signature was made over a message with this key's private key.
  package func isValid(_ signature: [UInt8], over message: [UInt8]) -> Bool {
    guard signature.count == Self.signatureByteCount, let key = KeyHandle(publicBytes: bytes) else { return false }
    return key.verifies(signature, over: message)
  }
}

/// An Ed25519 private key. It is read from a file, used, and forgotten.
package struct SigningKey: Sendable {
  private let handle: KeyHandle
  package let verificationKey: VerificationKey

  private init(_ handle: KeyHandle) throws {
    self.handle = handle
    verificationKey = try handle.verificationKey()
  }

  /// Makes a new key.
  ///
  /// - Throws: ``KeyError/unavailable``.
  package init() throws { try self.init(KeyHandle()) }

  /// Reads a PEM file of the kind `PRIVATE KEY`. RFC 8410 §7.
  ///
  /// - Throws: ``KeyError``.
  package init(pem: [UInt8]) throws { try self.init(KeyHandle(privatePEM: pem)) }

  /// The key as a PEM file, without a passphrase.
  ///
  /// - Throws: ``KeyError/unavailable``.
  package func pem() throws -> String { try handle.privatePEM() }

  /// Returns the 64 bytes of a signature.
  ///
  /// - Throws: ``KeyError/unavailable``.
  package func signature(over message: [UInt8]) throws -> [UInt8] { try handle.signature(over: message) }
}

/// The reason why a key cannot be used.
public enum KeyError: Error, Hashable, CustomStringConvertible {
  /// The text is no PEM file with a key, or the key has a passphrase.
  case unreadable
  /// The key is of another algorithm.
  case notEd25519
  /// The key is a point for which anybody can sign.
  case weak
  /// libcrypto has no Ed25519.
  case unavailable

  public var description: String {
    switch self {
    case .unreadable:
      "it is no PEM file with an Ed25519 key without a passphrase"
    case .notEd25519: "its key is not of the algorithm Ed25519"
    case .weak: "anybody could sign for its key, whose point is of a small order"
    case .unavailable:
      "libcrypto on this system was built without Ed25519: install OpenSSL with its default provider"
    }
  }
}

/// A key in libcrypto.
///
/// `@unchecked Sendable`: the key is not changed after it was made, and libcrypto reads it from all threads.
final class KeyHandle: @unchecked Sendable {
  private let key: OpaquePointer

  private static var library: OpaquePointer? { CryptoLibrary.shared.context }
  private static let algorithm = "ED25519"

  private init(_ key: OpaquePointer) { self.key = key }

  deinit { EVP_PKEY_free(key) }

  /// Makes a new key pair.
  ///
  /// - Throws: ``KeyError/unavailable``.
  convenience init() throws {
    guard let context = EVP_PKEY_CTX_new_from_name(Self.library, Self.algorithm, nil) else {
      throw KeyError.unavailable
    }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_generate(context, &key) == 1, let key else {
      throw KeyError.unavailable
    }
    self.init(key)
  }

  /// Returns `nil` if the bytes are no key.
  convenience init?(publicBytes bytes: [UInt8]) {
    guard let key = EVP_PKEY_new_raw_public_key_ex(Self.library, Self.algorithm, nil, bytes, bytes.count) else {
      return nil
    }
    self.init(key)
  }

  /// Returns `nil` if the text has no public key.
  convenience init?(publicPEM text: [UInt8]) {
    guard let key = Self.reading(text, { PEM_read_bio_PUBKEY_ex($0, nil, nil, nil, Self.library, nil) }) else {
      return nil
    }
    self.init(key)
  }

  /// - Throws: ``KeyError/unreadable``.
  convenience init(privatePEM text: [UInt8]) throws {
    // Without a passphrase libcrypto would ask for one at the terminal.
    let key = Self.reading(text) { file in
      "".withCString { none in
        PEM_read_bio_PrivateKey_ex(file, nil, nil, UnsafeMutableRawPointer(mutating: none), Self.library, nil)
      }
    }
    guard let key else { throw KeyError.unreadable }
    self.init(key)
  }

  private static func reading(_ text: [UInt8], _ read: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
    defer { ERR_clear_error() }
    return text.withUnsafeBytes { bytes in
      guard let file = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
      defer { BIO_free(file) }
      return read(file)
    }
  }

  /// - Throws: ``KeyError/notEd25519``, ``KeyError/weak``.
  func verificationKey() throws -> VerificationKey {
    var count = VerificationKey.byteCount
    var bytes = [UInt8](repeating: 0, count: count)
    guard EVP_PKEY_is_a(key, Self.algorithm) == 1, EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1,
      count == bytes.count
    else { throw KeyError.notEd25519 }
    guard let key = VerificationKey(bytes: bytes) else { throw KeyError.weak }
    return key
  }

  // MARK: Signatures

  func verifies(_ signature: [UInt8], over message: [UInt8]) -> Bool {
    guard let context = EVP_MD_CTX_new() else { return false }
    defer {
      EVP_MD_CTX_free(context)
      ERR_clear_error()
    }
    guard EVP_DigestVerifyInit_ex(context, nil, nil, Self.library, nil, key, nil) == 1 else { return false }
    return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }

  /// - Throws: ``KeyError/unavailable``.
  func signature(over message: [UInt8]) throws -> [UInt8] {
    guard let context = EVP_MD_CTX_new() else { throw KeyError.unavailable }
    defer { EVP_MD_CTX_free(context) }
    var count = VerificationKey.signatureByteCount
    var signature = [UInt8](repeating: 0, count: count)
    guard EVP_DigestSignInit_ex(context, nil, nil, Self.library, nil, key, nil) == 1,
      EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == signature.count
    else { throw KeyError.unavailable }
    return signature
  }

  // MARK: Files

  func publicPEM() throws -> String { try Self.writing { PEM_write_bio_PUBKEY($0, key) } }

  func privatePEM() throws -> String {
    try Self.writing { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
  }

  private static func writing(_ write: (OpaquePointer) -> Int32) throws -> String {
    guard let file = BIO_new(BIO_s_mem()) else { throw KeyError.unavailable }
    defer { BIO_free(file) }
    guard write(file) == 1 else { throw KeyError.unavailable }
    var text = [UInt8](repeating: 0, count: BIO_ctrl_pending(file))
    guard BIO_read(file, &text, Int32(clamping: text.count)) == Int32(clamping: text.count) else {
      throw KeyError.unavailable
    }
    return String(decoding: text, as: UTF8.self)
  }
}
