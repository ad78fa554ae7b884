import Foundation
import HTTPTransport

/// The proof of an install that its reports are its own: a JSON Web Token, RFC 7519, signed with Ed25519, RFC 8037.
///
/// ```json
/// { "alg": "EdDSA" } . { "aud": "pagekit-reports", "sub": "THE INSTALL", "exp": 1798761600 } . SIGNATURE
/// ```
///
/// The app's own server makes it, with any library for such tokens, when it knows whom it talks to. Claims that are not
/// known are left out.
package struct ReportToken: Hashable, Sendable {
  /// The install, as the app's server calls it: the claim `sub`.
  package let install: String
  /// The time from which the token is not accepted: the claim `exp`.
  package let expires: SignedTime

  package init(install: String, expires: SignedTime) { (self.install, self.expires) = (install, expires) }

  /// The claim `aud`: the key may sign other tokens too.
  package static let audience = "pagekit-reports"
  /// The size of a token in bytes; a longer one is refused.
  package static let byteLimit = 4096
  /// The size of an install's name in bytes.
  package static let installLimit = 256

  // MARK: Reading

  /// Reads a token that one of the keys has signed.
  ///
  /// - Throws: ``DescribedError``.
  package init(_ text: String, signedBy keys: [VerificationKey], at now: SignedTime) throws {
    guard text.utf8.count <= Self.byteLimit else {
      throw Self.unreadable("it has more than \(Self.byteLimit) bytes")
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let signature = Self.bytes(parts[2]) else {
      throw Self.unreadable("it does not have three parts of base64url with dots between them")
    }
    guard let header = Self.members(parts[0]), case .string(let algorithm)? = header["alg"] else {
      throw Self.unreadable("its header has no \"alg\"")
    }
    // RFC 8725 §3.1: the algorithm is the reader's choice, never the token's.
    guard algorithm == "EdDSA" else {
      throw DescribedError("the token's algorithm is \(algorithm.quotedForMessage), not \"EdDSA\"")
    }
    // RFC 7515 §4.1.11: it names extensions that must be understood.
    guard [nil, .null].contains(header["crit"]) else {
      throw Self.unreadable("it needs extensions: \"crit\"")
    }
    let message = Array(parts[0].utf8) + [UInt8(ascii: ".")] + Array(parts[1].utf8)
    guard keys.contains(where: { $0.isValid(signature, over: message) }) else {
      throw DescribedError("the token is not signed by the key for reports")
    }
    // RFC 7519 §4.1.3: the audience is a text or a list of texts.
    guard let claims = Self.members(parts[1]), let audience = claims["aud"],
      let names = (try? [audience.decoded(as: String.self)]) ?? (try? audience.decoded(as: [String].self)),
      case .string(let install)? = claims["sub"], let end = try? claims["exp"]?.decoded(as: Double.self),
      let start = try? (claims["nbf"].flatMap { $0 == .null ? nil : $0 } ?? .integer(.min)).decoded(as: Double.self)
    else {
      throw Self.unreadable(
        "its claims must have \"aud\" and \"sub\" as texts, and \"exp\" as a number")
    }
    guard names.contains(Self.audience) else {
      throw DescribedError("the token is not for reports: \"aud\" must have \"\(Self.audience)\"")
    }
    guard (1...Self.installLimit).contains(install.utf8.count) else {
      throw Self.unreadable("its \"sub\" must have 1 to \(Self.installLimit) bytes")
    }
    // A time beyond all times that can be written never comes.
    expires = SignedTime(seconds: Int64(exactly: end.rounded(.down)) ?? (end > 0 ? .max : .min))
    guard Double(now.seconds) < end else { throw DescribedError("the token has expired") }
    guard start <= Double(now.seconds) else { throw DescribedError("the token is not valid yet") }
    self.install = install
  }

  private static func unreadable(_ reason: String) -> DescribedError {
    DescribedError("the token cannot be read: \(reason)")
  }

  private static func members(_ part: Substring) -> [String: JSONValue]? {
    guard let bytes = bytes(part), case .object(let members)? = try? JSONValue(reading: bytes) else { return nil }
    return members
  }

  private static func bytes(_ part: Substring) -> [UInt8]? {
    [UInt8](base64: String(part).replacing("-", with: "+").replacing("_", with: "/"))
  }

  // MARK: Writing

  /// Makes the token's text.
  ///
  /// - Parameter sign: returns the signature over a message.
  package func text(signing sign: ([UInt8]) async throws -> [UInt8]) async throws -> String {
    let header: JSONValue = .object(["alg": .string("EdDSA"), "typ": .string("JWT")])
    let claims: JSONValue = .object([
      "aud": .string(Self.audience), "sub": .string(install), "exp": .integer(expires.seconds),
    ])
    let message = "\(Self.base64url(header.text)).\(Self.base64url(claims.text))"
    return "\(message).\(Self.base64url(try await sign(Array(message.utf8))))"
  }

  private static func base64url(_ bytes: some Sequence<UInt8>) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}
