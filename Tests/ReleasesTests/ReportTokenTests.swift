import Foundation
import HTTPTransport
import Testing

@testable import Releases

struct ReportTokenTests {
  private static let now = SignedTime(seconds: 1_800_000_000)
  private let key: SigningKey

  init() throws { key = try SigningKey() }

  private static func base64url(_ text: [UInt8]) -> String {
    Data(text).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  /// A token of any header and claims.
  private func token(_ claims: String, header: String = #"{"alg":"EdDSA"}"#, by other: SigningKey? = nil) throws
    -> String
  {
    let message = Self.base64url(Array(header.utf8)) + "." + Self.base64url(Array(claims.utf8))
    return try "\(message).\(Self.base64url((other ?? key).signature(over: Array(message.utf8))))"
  }

  private func read(_ text: String, at now: SignedTime = now) throws -> ReportToken {
    try ReportToken(text, signedBy: [key.verificationKey], at: now)
  }

  @Test("a token that was made is read, until it expires")
  func made() async throws {
    let token = ReportToken(install: "phone 7/é", expires: Self.now.advanced(by: .seconds(60)))
    let text = try await token.text { try key.signature(over: $0) }
    #expect(text.utf8.allSatisfy { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") })
    #expect(try read(text) == token)
    #expect(try read(text, at: Self.now.advanced(by: .seconds(59))) == token)
    #expect(throws: DescribedError("the token has expired")) { try read(text, at: Self.now.advanced(by: .seconds(60))) }
  }

  @Test(
    "claims that other libraries write are read",
    arguments: [
      #"{"aud":"pagekit-reports","sub":"a","exp":1800000060}"#,
      #"{"sub":"a","exp":1800000060.5,"aud":["other","pagekit-reports"],"iat":1,"jti":"x","iss":"y"}"#,
      #"{"aud":"pagekit-reports","sub":"a","exp":1e300,"nbf":1800000000}"#,
    ])
  func claims(_ text: String) throws {
    #expect(try read(token(text)).install == "a")
    #expect(try read(token(text, header: #"{"typ":"JWT","alg":"EdDSA","kid":"1"}"#)).install == "a")
  }

  /// Claims, and the error with which a token of them is refused.
  private static let refused: [(claims: String, error: String)] = [
    (#"{"aud":"pagekit-reports","sub":"a","exp":1800000000}"#, "has expired"),
    (#"{"aud":"pagekit-reports","sub":"a","exp":-1e300}"#, "has expired"),
    (#"{"aud":"pagekit-reports","sub":"a","exp":1800000060,"nbf":1800000001}"#, "is not valid yet"),
    (#"{"aud":"payments","sub":"a","exp":1800000060}"#, #"is not for reports: "aud" must have "pagekit-reports""#),
    (#"{"aud":[],"sub":"a","exp":1800000060}"#, #"is not for reports: "aud" must have "pagekit-reports""#),
    (#"{"aud":"pagekit-reports","sub":"","exp":1800000060}"#, #"cannot be read: its "sub" must have 1 to 256 bytes"#),
  ]

  @Test("claims that prove nothing are refused, each with its error", arguments: refused.indices)
  func refusedClaims(_ index: Int) throws {
    let text = try token(Self.refused[index].claims)
    #expect(throws: DescribedError("the token \(Self.refused[index].error)")) { try read(text) }
  }

  @Test(
    "a token without its claims is refused",
    arguments: [
      #"{"sub":"a","exp":1800000060}"#, #"{"aud":"pagekit-reports","exp":1800000060}"#,
      #"{"aud":"pagekit-reports","sub":"a"}"#, #"{"aud":"pagekit-reports","sub":7,"exp":1800000060}"#, "[]", "",
      #"{"aud":"pagekit-reports","sub":"a","exp":"1800000060"}"#,
    ])
  func withoutClaims(_ claims: String) throws {
    let text = try token(claims)
    #expect(
      throws: DescribedError(
        #"the token cannot be read: its claims must have "aud" and "sub" as texts, and "exp" as a number"#)
    ) { try read(text) }
  }

  @Test("the algorithm is the reader's choice", arguments: ["none", "HS256", "eddsa", "ES256"])
  func algorithm(_ name: String) throws {
    let text = try token(
      #"{"aud":"pagekit-reports","sub":"a","exp":1800000060}"#, header: #"{"alg":"\#(name)"}"#)
    #expect(throws: DescribedError("the token's algorithm is \"\(name)\", not \"EdDSA\"")) { try read(text) }
    let unsigned = text.split(separator: ".").dropLast().joined(separator: ".") + "."
    #expect(throws: DescribedError("the token's algorithm is \"\(name)\", not \"EdDSA\"")) { try read(unsigned) }
  }

  @Test("a token of another key, or with other claims, is refused")
  func forged() throws {
    let claims = #"{"aud":"pagekit-reports","sub":"a","exp":1800000060}"#
    let other = try token(claims, by: SigningKey())
    #expect(throws: DescribedError("the token is not signed by the key for reports")) { try read(other) }
    var parts = try token(claims).split(separator: ".").map(String.init)
    parts[1] = Self.base64url(Array(claims.replacing(#""a""#, with: #""b""#).utf8))
    let changed = parts.joined(separator: ".")
    #expect(throws: DescribedError("the token is not signed by the key for reports")) { try read(changed) }
    #expect(throws: DescribedError.self) { try ReportToken(token(claims), signedBy: [], at: Self.now) }
  }

  @Test(
    "what is no token is refused",
    arguments: ["", ".", "..", "...", "a.b", "a.b.c.d", "*.*.*", "é.é.é", "bnVsbA.bnVsbA."])
  func noToken(_ text: String) { #expect(throws: DescribedError.self) { try read(text) } }

  @Test("a token that needs an extension, or is too long, is refused")
  func limits() throws {
    let claims = #"{"aud":"pagekit-reports","sub":"a","exp":1800000060}"#
    let critical = try token(claims, header: #"{"alg":"EdDSA","crit":["x"],"x":1}"#)
    #expect(throws: DescribedError(#"the token cannot be read: it needs extensions: "crit""#)) { try read(critical) }
    let long = try token(claims + String(repeating: " ", count: ReportToken.byteLimit))
    #expect(throws: DescribedError("the token cannot be read: it has more than 4096 bytes")) { try read(long) }
  }
}
