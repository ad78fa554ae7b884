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

  private struct Header: Codable {
    var alg: String
    var typ: String?
    /// Extensions that must be understood. RFC 7515 §4.1.11.
    var crit: [String]?
  }

  private struct Claims: Codable {
    var aud: Audience
    var sub: String
    var exp: Double
    var nbf: Double?
  }

  /// A text or a list of texts. RFC 7519 §4.1.3.
  private struct Audience: Codable {
    let names: [String]

    init(_ name: String) { names = [name] }

    init(from decoder: any Decoder) throws {
      names = try (try? [String(from: decoder)]) ?? [String](from: decoder)
    }

    func encode(to encoder: any Encoder) throws { try names[0].encode(to: encoder) }
  }

  // MARK: Reading

  /// Reads a token that one of the keys has signed.
  ///
  /// - Throws: ``ReportTokenError``.
  package init(_ text: String, signedBy keys: [VerificationKey], at now: SignedTime) throws {
    guard text.utf8.count <= Self.byteLimit else {
      throw ReportTokenError.unreadable("it has more than \(Self.byteLimit) bytes")
    }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let signature = Self.bytes(parts[2]) else {
      throw ReportTokenError.unreadable("it does not have three parts of base64url with dots between them")
    }
    let header: Header = try Self.decode(parts[0], "its header has no \"alg\"")
    // RFC 8725 §3.1: the algorithm is the reader's choice, never the token's.
    guard header.alg == "EdDSA" else { throw ReportTokenError.algorithm(header.alg) }
    guard header.crit == nil else { throw ReportTokenError.unreadable("it needs extensions: \"crit\"") }
    let message = Array(parts[0].utf8) + [UInt8(ascii: ".")] + Array(parts[1].utf8)
    guard keys.contains(where: { $0.isValid(signature, over: message) }) else { throw ReportTokenError.signature }
    let claims: Claims = try Self.decode(
      parts[1], "its claims must have \"aud\" and \"sub\" as texts, and \"exp\" as a number")
    guard claims.aud.names.contains(Self.audience) else { throw ReportTokenError.audience }
    guard (1...Self.installLimit).contains(claims.sub.utf8.count) else {
      throw ReportTokenError.unreadable("its \"sub\" must have 1 to \(Self.installLimit) bytes")
    }
    // A time beyond all times that can be written never comes.
    expires = SignedTime(seconds: Int64(exactly: claims.exp.rounded(.down)) ?? (claims.exp > 0 ? .max : .min))
    guard Double(now.seconds) < claims.exp else { throw ReportTokenError.expired }
    guard claims.nbf.map({ $0 <= Double(now.seconds) }) ?? true else { throw ReportTokenError.early }
    install = claims.sub
  }

  private static func decode<Value: Decodable>(_ part: Substring, _ shape: String) throws -> Value {
    guard let bytes = bytes(part), let value = try? JSONValue(reading: bytes, limits: .standard),
      let decoded: Value = try? value.decoded()
    else { throw ReportTokenError.unreadable(shape) }
    return decoded
  }

  private static func bytes(_ part: Substring) -> [UInt8]? {
    [UInt8](base64: String(part).replacing("-", with: "+").replacing("_", with: "/"))
  }

  // MARK: Writing

  /// Makes the token's text.
  ///
  /// - Parameter sign: returns the signature over a message.
  package func text(signing sign: ([UInt8]) async throws -> [UInt8]) async throws -> String {
    let header = try Self.part(Header(alg: "EdDSA", typ: "JWT"))
    let claims = Claims(aud: Audience(Self.audience), sub: install, exp: Double(expires.seconds))
    let message = "\(header).\(try Self.part(claims))"
    return "\(message).\(Self.base64url(try await sign(Array(message.utf8))))"
  }

  private static func part(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return base64url(try encoder.encode(value))
  }

  private static func base64url(_ bytes: some Sequence<UInt8>) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}

/// The reason why a token proves nothing.
package enum ReportTokenError: Error, Hashable, CustomStringConvertible {
  /// A clause whose subject is the token.
  case unreadable(String)
  case algorithm(String)
  case signature
  case audience
  case expired
  /// Its time has not come: the claim `nbf`.
  case early

  package var description: String {
    switch self {
    case .unreadable(let reason): "the token cannot be read: \(reason)"
    case .algorithm(let name): "the token's algorithm is \(name.quotedForMessage), not \"EdDSA\""
    case .signature: "the token is not signed by the key for reports"
    case .audience: "the token is not for reports: \"aud\" must have \"\(ReportToken.audience)\""
    case .expired: "the token has expired"
    case .early: "the token is not valid yet"
    }
  }
}
