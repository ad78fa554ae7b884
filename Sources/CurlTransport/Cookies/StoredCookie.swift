import HTTPTransport

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

/// The parts of a request's URL that select its cookies.
struct CookieTarget: Hashable, Sendable {
  /// The host in lower case; an IPv6 address without its brackets.
  let host: String
  let path: String
  /// `true` if `Secure` cookies may be sent: over TLS, and to this computer.
  let isSecure: Bool
  /// The bytes of a head before its cookies, for a `GET` without fields of its own.
  let bytesBefore: Int

  /// Returns `nil` for a `file` URL.
  init?(_ url: PageURL) {
    guard !url.isFile, let slashes = url.text.firstRange(of: "://") else { return nil }
    let rest = url.text[slashes.upperBound...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let path = rest[authority.endIndex...].prefix { $0 != "?" }
    if authority.hasPrefix("[") {
      host = String(authority.dropFirst().prefix { $0 != "]" })
    } else {
      host = String(authority.prefix { $0 != ":" })
    }
    self.path = path.isEmpty ? "/" : String(path)
    bytesBefore = "GET \(rest[authority.endIndex...]) HTTP/1.1\r\nHost: \(authority)\r\nAccept: */*\r\n".utf8.count
    isSecure = url.text.hasPrefix("https:") || ["localhost", "127.0.0.1", "::1"].contains(host)
  }

  /// `true` for an address, which has no subdomains. RFC 6265 §5.1.3.
  fileprivate var isAddress: Bool {
    host.contains(":") || host.split(separator: ".").last.map { $0.allSatisfy(\.isNumber) } == true
  }
}

extension StoredCookie {
  /// Returns `true` if a request to the target contains the cookie. RFC 6265 §5.4, step 1.
  func matches(_ target: CookieTarget, now: Int64) -> Bool {
    (!isSecure || target.isSecure) && !isExpired(at: now) && matchesDomain(of: target) && matchesPath(of: target)
  }

  /// RFC 6265 §5.1.3.
  private func matchesDomain(of target: CookieTarget) -> Bool {
    if domain == target.host { return true }
    // libcurl does not send the cookies of `localhost` to `app.localhost`.
    return includesSubdomains && !target.isAddress && domain.contains(".") && target.host.hasSuffix("." + domain)
  }

  /// RFC 6265 §5.1.4, with libcurl's leniency: quotes around a path and a slash at its end are ignored.
  private func matchesPath(of target: CookieTarget) -> Bool {
    var path = Substring(self.path)
    if path.hasPrefix("\"") { path = path.dropFirst() }
    if path.hasSuffix("\"") { path = path.dropLast() }
    guard path.hasPrefix("/") else { return true }
    if path.hasSuffix("/") { path = path.dropLast() }
    return target.path == path || target.path.hasPrefix(path + "/")
  }
}

extension [StoredCookie] {
  /// The largest number of cookies that libcurl sends, which are the oldest.
  private static var countLimit: Int { 150 }
  /// The upper limit of the head's size up to the end of its cookies, in bytes.
  private static var sizeLimit: Int { 8190 }

  /// Returns the value of `Cookie` that libcurl would send, `nil` for none. The cookies are in the order of their
  /// arrival.
  ///
  /// RFC 6265 §5.4, step 2, recommends longer paths first and then older cookies. libcurl sorts by the lengths of path,
  /// domain and name, then by age, the youngest first; it stops at the first cookie that makes the head too long.
  func header(for target: CookieTarget, now: Int64) -> String? {
    let chosen = lazy.filter { $0.matches(target, now: now) }.prefix(Self.countLimit)
    let sorted = chosen.enumerated().sorted { $0.element.rank(at: $0.offset) > $1.element.rank(at: $1.offset) }
    var pairs: [String] = []
    var size = target.bytesBefore + "Cookie: ".utf8.count
    for (_, cookie) in sorted {
      let added = cookie.size + 1
      guard size + added < Self.sizeLimit else { break }
      size += pairs.isEmpty ? added : added + 2
      pairs.append("\(cookie.name)=\(cookie.value)")
    }
    return pairs.isEmpty ? nil : pairs.joined(separator: "; ")
  }
}

extension StoredCookie {
  fileprivate func rank(at index: Int) -> (Int, Int, Int, Int) {
    (path.unicodeScalars.count, domain.unicodeScalars.count, name.unicodeScalars.count, index)
  }
}
