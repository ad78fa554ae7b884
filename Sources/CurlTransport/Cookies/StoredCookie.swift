/// A cookie as libcurl lists it: a line in Netscape's format, with tabs between its fields.
///
/// Bytes beyond ASCII are opaque; ISO 8859-1 keeps each of them.
struct StoredCookie: Hashable, Sendable {
  /// The domain without a leading dot, in lower case.
  let domain: String
  let includesSubdomains: Bool
  let path: String
  let isSecure: Bool
  /// The expiry in seconds since 1970; 0 for a session cookie.
  let expires: Int64
  let isHTTPOnly: Bool
  let name: String
  let value: String

  /// Returns `nil` if the line is not a cookie.
  init?(line: [UInt8]) {
    let mark = "#HttpOnly_".utf8
    isHTTPOnly = line.starts(with: mark)
    let fields = line.dropFirst(isHTTPOnly ? mark.count : 0)
      .split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map(String.init(opaque:))
    guard fields.count == 7, !fields[0].hasPrefix("#"), let expires = Int64(fields[4]) else { return nil }
    domain = (fields[0].hasPrefix(".") ? String(fields[0].dropFirst()) : fields[0]).lowercased()
    includesSubdomains = fields[1] == "TRUE"
    path = fields[2]
    isSecure = fields[3] == "TRUE"
    self.expires = expires
    name = fields[5]
    value = fields[6]
  }

  /// The identity of the cookie: another one with the same identity replaces it. RFC 6265 §5.3.
  var identity: [String] { [domain, path, name] }

  /// The line as libcurl writes and reads it.
  var line: [UInt8] {
    let fields = [
      (isHTTPOnly ? "#HttpOnly_" : "") + (includesSubdomains ? "." : "") + domain,
      includesSubdomains ? "TRUE" : "FALSE", path, isSecure ? "TRUE" : "FALSE", String(expires),
      name, value,
    ]
    return fields.joined(separator: "\t").unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
  }

  /// The size limit of name and value together, which libcurl applies to servers but not to files.
  private static let sizeLimit = 4096

  /// `true` if the cookie may be read from a file: libcurl does not check it, and sends it unchanged.
  var isSound: Bool {
    let texts = [domain, path, name, value]
    guard
      !texts.contains(where: { $0.unicodeScalars.contains { $0.value < 32 || $0.value == 127 } }),
      !(name + value).contains(";"), !name.isEmpty, !name.contains("="), size <= Self.sizeLimit
    else { return false }
    // A line that begins with `Set-Cookie:` has another format, and would apply to every host.
    let isAddress = domain.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
    let isName = domain.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) }
    return !domain.isEmpty && (isAddress || isName)
  }

  /// The bytes of name and value.
  var size: Int { name.unicodeScalars.count + value.unicodeScalars.count }

  var isPersistent: Bool { expires != 0 }

  func isExpired(at now: Int64) -> Bool { expires != 0 && expires < now }
}

extension String {
  /// Makes one character of each byte.
  fileprivate init(opaque bytes: ArraySlice<UInt8>) {
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: bytes.lazy.map { UnicodeScalar($0) })
    self.init(scalars)
  }
}
