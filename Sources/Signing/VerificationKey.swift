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

  /// Returns `nil` unless there are exactly 32 bytes.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, let id = try? ContentDigests(of: bytes).sha256 else { return nil }
    self.bytes = bytes
    self.id = id
  }

  /// Reads base64; `nil` unless it stands for 32 bytes.
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
package enum KeyError: Error, Hashable, CustomStringConvertible {
  /// The text is no PEM file with a key, or the key has a passphrase.
  case unreadable
  /// The key is of another algorithm.
  case notEd25519
  /// libcrypto has no Ed25519.
  case unavailable

  package var description: String {
    switch self {
    case .unreadable:
      "it is no PEM file with an Ed25519 key without a passphrase: make one with \"bundlectl key new\""
    case .notEd25519: "its key is not of the algorithm Ed25519: make one with \"bundlectl key new\""
    case .unavailable:
      "libcrypto on this system was built without Ed25519: install OpenSSL with its default provider"
    }
  }
}
