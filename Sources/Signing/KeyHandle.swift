import CCrypto
import HTTPTransport

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
