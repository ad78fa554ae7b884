import CCrypto
import PageCore

/// Compares the bearer token that callers of admin routes show.
struct AdminAuthenticator: Sendable {
  private let digest: SHA256Digest

  /// Nil where libcrypto cannot digest.
  init?(token: String) {
    guard let digest = try? Self.digest(of: token) else { return nil }
    self.digest = digest
  }

  /// RFC 6750 §2.1. In constant time: both are digested, so that their lengths do not show either.
  func accepts(authorization: String?) -> Bool {
    guard let authorization, let space = authorization.firstIndex(of: " "),
      authorization[..<space].lowercased() == "bearer",
      let given = try? Self.digest(of: String(authorization[space...].drop { $0 == " " }))
    else { return false }
    return CRYPTO_memcmp(given.bytes, digest.bytes, SHA256Digest.byteCount) == 0
  }

  private static func digest(of text: String) throws -> SHA256Digest {
    var digester = try Digester<SHA256Digest>.sha256()
    digester.update(Array(text.utf8))
    return try digester.finish()
  }
}
