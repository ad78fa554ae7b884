import CCrypto
import HTTPTransport

/// The signature of a webhook call: HMAC-SHA256 of its body under a shared secret, RFC 2104.
struct WebhookSignature: Sendable {
  enum Verdict: Equatable, Sendable {
    case right
    case missing
    case wrong
  }

  private let secret: [UInt8]

  init(secret: String) { self.secret = Array(secret.utf8) }

  /// - Parameter field: the value of `X-Signature-256`: `sha256=` and 64 hexadecimal digits.
  func verdict(on body: [UInt8], field: String?) -> Verdict {
    guard let field else { return .missing }
    guard field.hasPrefix("sha256="), let claimed = SHA256Digest(hex: field.dropFirst(7)), let right = digest(of: body)
    else { return .wrong }
    // The comparison takes the same time wherever the digests differ.
    return CRYPTO_memcmp(claimed.bytes, right, right.count) == 0 ? .right : .wrong
  }

  /// Returns `nil` if libcrypto has no SHA-256.
  func digest(of body: [UInt8]) -> [UInt8]? {
    var length: UInt32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
      let made = HMAC(
        EVP_sha256(), secret, Int32(clamping: secret.count), body, body.count, buffer.baseAddress, &length)
      count = made == nil ? 0 : Int(length)
    }
    return bytes.count == SHA256Digest.byteCount ? bytes : nil
  }
}
