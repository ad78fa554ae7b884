/// A cookie as libcurl lists it: a line of Netscape's format, with a tab between its fields.
///
/// Bytes beyond ASCII are opaque; ISO 8859-1 keeps each.
struct StoredCookie: Hashable, Sendable {
  /// Without a dot before it, in lower case.
  let domain: String
  let includesSubdomains: Bool
  let path: String
  let isSecure: Bool
  /// In seconds since 1970; 0 for a session's cookie.
  let expires: Int64
  let isHTTPOnly: Bool
  let name: String
  let value: String

  /// Nil where the line is no cookie.
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

  /// What another cookie has in common with the one it takes the place of. RFC 6265 §5.3.
  var identity: [String] { [domain, path, name] }

  /// As libcurl writes it and takes it back.
  var line: [UInt8] {
    let fields = [
      (isHTTPOnly ? "#HttpOnly_" : "") + (includesSubdomains ? "." : "") + domain,
      includesSubdomains ? "TRUE" : "FALSE", path, isSecure ? "TRUE" : "FALSE", String(expires),
      name, value,
    ]
    return fields.joined(separator: "\t").unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
  }

  /// Name and value together, which libcurl bounds where a server sets them but not where a file does.
  private static let sizeLimit = 4096

  /// Whether it may come from a file: libcurl believes it every word, and sends it as it is.
  var isSound: Bool {
    let texts = [domain, path, name, value]
    guard
      !texts.contains(where: { $0.unicodeScalars.contains { $0.value < 32 || $0.value == 127 } }),
      !(name + value).contains(";"), !name.isEmpty, !name.contains("="), size <= Self.sizeLimit
    else { return false }
    // A line that begins with `Set-Cookie:` is another format, and would be for every host.
    let isAddress = domain.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
    let isName = domain.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) }
    return !domain.isEmpty && (isAddress || isName)
  }

  /// In bytes, of name and value.
  var size: Int { name.unicodeScalars.count + value.unicodeScalars.count }

  var isPersistent: Bool { expires != 0 }

  func isExpired(at now: Int64) -> Bool { expires != 0 && expires < now }
}

extension String {
  /// One character for each byte.
  fileprivate init(opaque bytes: ArraySlice<UInt8>) {
    var scalars = String.UnicodeScalarView()
    scalars.append(contentsOf: bytes.lazy.map { UnicodeScalar($0) })
    self.init(scalars)
  }
}
