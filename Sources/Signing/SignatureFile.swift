import Foundation
import HTTPTransport

/// The signatures of a file, in the file beside it whose name has `.sig` at the end.
///
/// ```json
/// { "type": "application/vnd.pagekit.manifest+json", "sha256": "…",
///   "signatures": [ { "keyid": "…", "sig": "…" } ] }
/// ```
///
/// It has the members of a DSSE envelope 1.0.0 except for the payload, which is the other file, byte for byte.
/// `sha256` tells whoever signs which bytes the signatures are of; whoever checks does not rely on it.
package struct SignatureFile: Hashable, Sendable {
  package struct Signature: Hashable, Sendable {
    /// The id of a ``VerificationKey``.
    package let keyID: SHA256Digest
    package let bytes: [UInt8]

    package init(keyID: SHA256Digest, bytes: [UInt8]) { (self.keyID, self.bytes) = (keyID, bytes) }
  }

  package var kind: SignedKind
  /// The signed file's digest, as the signature file says.
  package var content: SHA256Digest
  package var signatures: [Signature]

  /// - Throws: if libcrypto has no SHA-256.
  package init(of content: [UInt8], as kind: SignedKind) throws {
    self.kind = kind
    self.content = try ContentDigests(of: content).sha256
    signatures = []
  }

  /// The suffix that is added to the signed file's name.
  package static let suffix = ".sig"
  /// The size of a file in bytes; a longer one is refused.
  package static let byteLimit: Int64 = 64 << 10
  /// The signatures of a file; with more it is refused.
  package static let limit = 64

  private struct File: Codable {
    struct Signature: Codable { let keyid, sig: String }

    let type: String
    let sha256: SHA256Digest
    let signatures: [Signature]
  }

  /// Reads a file. Signatures that are no Ed25519 signatures are left out: they may be of a later version.
  ///
  /// - Throws: ``TrustError/unreadable(_:reason:)``.
  package init(reading bytes: [UInt8]) throws {
    func refusal(_ reason: String) -> TrustError { .unreadable("the signature file", reason: reason) }
    let file = try SignedJSON.decode(
      bytes, as: File.self, of: "the signature file", limit: Self.byteLimit,
      shape:
        "it must have \"type\", \"sha256\", and \"signatures\" that are objects with \"keyid\" and \"sig\"")
    guard let kind = SignedKind(rawValue: file.type) else {
      throw refusal("its type \(file.type.quotedForMessage) is unknown")
    }
    guard file.signatures.count <= Self.limit else {
      throw refusal("it has \(file.signatures.count) signatures, more than \(Self.limit)")
    }
    self.kind = kind
    content = file.sha256
    signatures = file.signatures.compactMap { signature in
      guard let id = SHA256Digest(hex: signature.keyid), let bytes = Data(base64Encoded: signature.sig),
        bytes.count == VerificationKey.signatureByteCount
      else { return nil }
      return .init(keyID: id, bytes: Array(bytes))
    }
  }

  /// The file's bytes.
  package func encoded() throws -> [UInt8] {
    try SignedJSON.encode(
      File(
        type: kind.rawValue, sha256: content,
        signatures: signatures.map { .init(keyid: $0.keyID.hex, sig: Data($0.bytes).base64EncodedString()) }))
  }

  /// The keys that have signed the content.
  ///
  /// - Parameter keys: those that may have.
  package func signers(of content: [UInt8], among keys: some Sequence<VerificationKey>) -> Set<VerificationKey> {
    let message = kind.message(content)
    let known = Dictionary(keys.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    return Set(
      signatures.compactMap { signature in
        known[signature.keyID].flatMap { $0.isValid(signature.bytes, over: message) ? $0 : nil }
      })
  }

  /// Adds a signature in the place of an earlier one of the same key.
  package mutating func add(_ signature: Signature) {
    signatures.removeAll { $0.keyID == signature.keyID }
    signatures.append(signature)
  }
}

extension SigningKey {
  /// Signs a file.
  ///
  /// - Throws: ``KeyError/unavailable``.
  package func sign(_ content: [UInt8], as kind: SignedKind) throws -> SignatureFile.Signature {
    .init(keyID: verificationKey.id, bytes: try signature(over: kind.message(content)))
  }
}
