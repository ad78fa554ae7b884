import CCrypto
import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore
import ServerKit

extension Serving {
  private static let hookLimit = 64 << 10

  /// Adds the webhook by which a publisher announces a new release. The body is only verified: the source is checked in any
  /// case, so that a repeated call by somebody else has no effect.
  func addHook(_ signature: WebhookSignature, to router: some RouterMethods<HostRequestContext>) {
    router.post("/hooks/release") { request, _ in
      let body = try await request.bytes(upTo: Self.hookLimit)
      let field = HTTPField.Name("X-Signature-256").flatMap { request.headers[$0] }
      switch signature.verdict(on: body, field: field) {
      case .missing:
        throw ServedError(
          status: .unauthorized, reason: "the call is not signed: X-Signature-256 is missing",
          fields: [.wwwAuthenticate: "Signature"])
      case .wrong:
        throw ServedError(status: .forbidden, reason: "X-Signature-256 is not the signature of this body")
      case .right:
        look()
        return Response(status: .accepted, headers: [.cacheControl: "no-store"])
      }
    }
  }
}

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
