import HTTPTypes
import Hummingbird
import NIOCore
import ServerKit

/// The webhook by which a publisher announces a new release. The body is only verified: the source is checked in any
/// case, so that a repeated call by somebody else has no effect.
struct ReleaseHook: Sendable {
  let signature: WebhookSignature
  let signal: FollowSignal

  private static let bodyLimit = 64 << 10

  func add(to router: some RouterMethods<HostRequestContext>) {
    router.post("/hooks/release") { request, _ in
      let body = try await request.bytes(upTo: Self.bodyLimit)
      let field = HTTPField.Name("X-Signature-256").flatMap { request.headers[$0] }
      switch signature.verdict(on: body, field: field) {
      case .missing:
        throw ServedError(
          status: .unauthorized, reason: "the call is not signed: X-Signature-256 is missing",
          fields: [.wwwAuthenticate: "Signature"])
      case .wrong:
        throw ServedError(status: .forbidden, reason: "X-Signature-256 is not the signature of this body")
      case .right:
        signal.send()
        return Response(status: .accepted, headers: [.cacheControl: "no-store"])
      }
    }
  }
}
