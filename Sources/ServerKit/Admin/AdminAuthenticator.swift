import CCrypto
import HTTPTransport
import HTTPTypes
import Synchronization

/// Compares the tokens of requests with the admin's tokens, which may change while the host runs.
package final class AdminAuthenticator: Sendable {
  private let digests: Mutex<[SHA256Digest]>

  /// Returns `nil` without tokens, or if libcrypto has no SHA-256.
  package init?(tokens: [String]) {
    guard !tokens.isEmpty, let digests = try? tokens.map(Self.digest) else { return nil }
    self.digests = Mutex(digests)
  }

  /// Accepts other tokens from now on.
  ///
  /// - Throws: ``DigestError``; the former ones stay.
  package func replace(by tokens: [String]) throws {
    let digests = try tokens.map(Self.digest)
    self.digests.withLock { $0 = digests }
  }

  /// Returns `true` if the field has the token as a bearer token. RFC 6750 §2.1.
  func accepts(authorization: String?) -> Bool {
    Self.credentials("bearer", in: authorization).map { isToken(String($0)) } ?? false
  }

  /// Returns `true` if the field has the token as a password, with any name, so that a browser can ask for it. RFC 7617
  /// §2.
  ///
  /// A browser then sends it with every request, also with those that pages of other sites cause: it does not show
  /// which page a request comes from.
  func accepts(password authorization: String?) -> Bool {
    guard let credentials = Self.credentials("basic", in: authorization), credentials.utf8.count <= 16 << 10,
      let bytes = [UInt8](base64: String(credentials)), let colon = bytes.firstIndex(of: UInt8(ascii: ":"))
    else { return false }
    return isToken(String(decoding: bytes[(colon + 1)...], as: UTF8.self))
  }

  /// The `WWW-Authenticate` field. RFC 6750 §3: a wrong token gets another challenge than a missing one.
  static func challenge(with authorization: String?) -> HTTPFields {
    let bearer = #"Bearer realm="renderhost""# + (authorization == nil ? "" : #", error="invalid_token""#)
    var fields = HTTPFields()
    fields[values: .wwwAuthenticate] = [bearer, #"Basic realm="renderhost", charset="UTF-8""#]
    return fields
  }

  private static func credentials(_ scheme: String, in authorization: String?) -> Substring? {
    guard let authorization, let space = authorization.firstIndex(of: " "),
      authorization[..<space].lowercased() == scheme
    else { return nil }
    return authorization[space...].drop { $0 == " " }
  }

  /// Compares digests in constant time, so that lengths are not disclosed either.
  private func isToken(_ text: String) -> Bool {
    guard let given = try? Self.digest(of: text) else { return false }
    return digests.withLock(\.self).reduce(false) { isToken, digest in
      CRYPTO_memcmp(given.bytes, digest.bytes, SHA256Digest.byteCount) == 0 || isToken
    }
  }

  private static func digest(of text: String) throws -> SHA256Digest {
    var digester = try Digester<SHA256Digest>.sha256()
    digester.update(Array(text.utf8))
    return try digester.finish()
  }
}
