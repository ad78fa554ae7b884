import Testing

@testable import RenderHost

struct WebhookSignatureTests {
  /// RFC 4231, test case 2.
  private let signature = WebhookSignature(secret: "Jefe")
  private let body = Array("what do ya want for nothing?".utf8)
  private let right = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"

  @Test("the signature of the body is accepted")
  func rightSignature() {
    #expect(signature.verdict(on: body, field: right) == .right)
    #expect(signature.verdict(on: body, field: "sha256=" + right.dropFirst(7).uppercased()) == .right)
  }

  @Test("all other signatures are refused")
  func otherSignatures() {
    #expect(signature.verdict(on: body, field: nil) == .missing)
    #expect(signature.verdict(on: body + [0], field: right) == .wrong)
    #expect(WebhookSignature(secret: "jefe").verdict(on: body, field: right) == .wrong)
    for field in ["", "sha256=", String(right.dropLast()), String(right.dropFirst(7)), right + "00", "sha1=00"] {
      #expect(signature.verdict(on: body, field: field) == .wrong)
    }
  }
}
