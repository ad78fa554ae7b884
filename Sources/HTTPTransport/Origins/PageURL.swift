import Foundation

/// The normalised `http`, `https` or `file` URL of a manifest, a bundle or a file.
///
/// Two URLs are equal if RFC 3986 §6.2.2 and §6.2.3 call them equivalent: the case of scheme and host, default ports,
/// dot segments, an empty path and escapes of unreserved characters make no difference. The fragment is dropped, and so
/// are query parameters that only defeat caches.
///
///     let page = PageURL("HTTPS://pages.example.com:443/a/../home.js?random=1")
///     print(page?.text ?? "")  // https://pages.example.com/home.js
///     print(page?.resolving("img/logo.png")?.text ?? "")  // https://pages.example.com/img/logo.png
public struct PageURL: Hashable, Sendable, CustomStringConvertible {
  /// The query parameters that apps append only to defeat caches; they are dropped by default.
  public static let ignoredParameters: Set<String> = ["random"]

  /// The normalised text.
  public let text: String

  /// Parses and normalises a URL.
  ///
  /// - Parameters:
  ///   - text: an absolute URL; `nil` is returned for any other text, and for a URL with a user or a password.
  ///   - ignored: the query parameters to drop.
  public init?(_ text: String, ignoring ignored: Set<String> = PageURL.ignoredParameters) {
    // Most URLs are, and reading one in parts takes fifty times as long.
    if Self.isPlain(text) {
      self.text = text
      return
    }
    guard
      !text.utf8.contains(where: { $0 <= 32 || $0 == 127 }),
      var parts = URLComponents(string: text),
      let scheme = parts.scheme?.lowercased(), ["http", "https", "file"].contains(scheme)
    else { return nil }
    parts.scheme = scheme
    parts.fragment = nil
    if scheme == "file" {
      guard parts.host ?? "" == "", parts.percentEncodedPath.hasPrefix("/") else { return nil }
      parts.host = ""
      parts.query = nil
    } else {
      guard let host = parts.encodedHost, !host.isEmpty else { return nil }
      parts.encodedHost = host.lowercased()
      if parts.port == (scheme == "http" ? 80 : 443) { parts.port = nil }
      guard parts.user == nil, parts.password == nil else { return nil }
    }
    parts.percentEncodedPath = Self.removingDotSegments(parts.percentEncodedPath.normalisingEscapes)
    if parts.percentEncodedPath.isEmpty { parts.percentEncodedPath = "/" }
    if let query = parts.percentEncodedQuery {
      let kept = query.split(separator: "&", omittingEmptySubsequences: false).filter { pair in
        !ignored.contains(String(pair.prefix { $0 != "=" }))
      }
      parts.percentEncodedQuery = kept.isEmpty ? nil : kept.joined(separator: "&").normalisingEscapes
    }
    guard let normalised = parts.string else { return nil }
    self.text = normalised
  }

  /// Normalises a URL of Foundation's type.
  ///
  /// - Parameters:
  ///   - url: an absolute URL; `nil` is returned if its scheme is another than `http`, `https` or `file`, and for one with
  ///     a user or a password.
  ///   - ignored: the query parameters to drop.
  public init?(_ url: URL, ignoring ignored: Set<String> = PageURL.ignoredParameters) {
    self.init(url.absoluteString, ignoring: ignored)
  }

  /// Makes a URL of text that was normalised before, without parsing it.
  package init(normalised text: String) {
    self.text = text
  }

  /// Makes the URL of a text that is normalised for certain, and that no ignored parameter can change; `nil` for any other
  /// text. It takes no longer than looking a text up.
  package init?(plain text: String) {
    guard Self.isPlain(text) else { return nil }
    self.text = text
  }

  /// Makes the URL of a file or folder; a relative path is made absolute.
  public init?(filePath: String) {
    self.init(URL(fileURLWithPath: filePath).standardizedFileURL.absoluteString)
  }

  public var description: String { text }

  /// The URL as Foundation's type.
  public var url: URL? { URL(string: text) }

  /// `true` for a `file` URL.
  package var isFile: Bool { text.hasPrefix("file:") }

  /// Returns `true` if content from this URL may name the other one: a server names no files of this machine.
  package func mayName(_ other: PageURL) -> Bool { isFile || !other.isFile }

  /// The path of a `file` URL; `nil` for any other one.
  package var filePath: String? { isFile ? url?.path(percentEncoded: false) : nil }

  /// Scheme, host and port. RFC 6454 §4.
  public var origin: String {
    // The text is normalised: nothing but these stands before its path, which it has.
    let text = text.utf8
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")), text[colon...].starts(with: "://".utf8) else {
      return self.text
    }
    let authority = text.index(colon, offsetBy: 3)
    return String(Substring(text[..<(text[authority...].firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex)]))
  }

  /// Returns the URL of a file whose name is this one's with a text behind it; the query stays.
  package func appendingToPath(_ suffix: String) -> PageURL? {
    let end = text.firstIndex(of: "?") ?? text.endIndex
    return PageURL(text[..<end] + suffix + text[end...])
  }

  /// Resolves a reference against this URL, as a browser does.
  ///
  /// - Parameters:
  ///   - reference: an absolute or relative URL.
  ///   - ignored: the query parameters to drop.
  /// - Returns: `nil` if the result is not an `http`, `https` or `file` URL.
  public func resolving(_ reference: String, ignoring ignored: Set<String> = PageURL.ignoredParameters) -> PageURL? {
    guard let url, let resolved = URL(string: reference, relativeTo: url) else { return nil }
    return PageURL(resolved.absoluteString, ignoring: ignored)
  }
}

extension PageURL: Codable {
  /// Decodes a URL from its text.
  ///
  /// - Throws: `DecodingError` if the text is not such a URL.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let url = PageURL(text) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "\"\(text.prefix(200))\" is not a URL")
    }
    self = url
  }

  /// Encodes the URL as its text.
  ///
  /// - Throws: `EncodingError`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

extension PageURL {
  /// Returns `true` for an absolute URL in its normal form, without parsing it if that is plain to see. RFC 3986 §6.2.
  package static func isNormal(_ text: String) -> Bool {
    isPlain(text) || PageURL(text, ignoring: [])?.text == text
  }

  /// Returns `true` for the URL of a server that is normalised for certain: its host is a name in small letters or an
  /// IPv4 address, and it has a path, and neither a port of one to three digits, nor a query, an escape or a dot segment.
  private static func isPlain(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      var rest = bytes[...]
      guard rest.starts(with: "http".utf8) else { return false }
      rest = rest.dropFirst(4)
      if rest.first == UInt8(ascii: "s") { rest = rest.dropFirst() }
      guard rest.starts(with: "://".utf8) else { return false }
      rest = rest.dropFirst(3)
      let host = rest.prefix(while: isInPlainHost)
      rest = rest.dropFirst(host.count)
      guard !host.isEmpty else { return false }
      if rest.first == UInt8(ascii: ":") {
        let port = rest.dropFirst().prefix { (48...57).contains($0) }
        // Those of schemes have fewer digits.
        guard port.count == 4 || port.count == 5, port.first != UInt8(ascii: "0"),
          port.reduce(0, { $0 * 10 + Int($1 - 48) }) <= UInt16.max
        else { return false }
        rest = rest.dropFirst(1 + port.count)
      }
      guard rest.first == UInt8(ascii: "/") else { return false }
      var previous: UInt8 = 0
      for byte in rest {
        guard byte.isUnreserved || byte == UInt8(ascii: "/") else { return false }
        if byte == UInt8(ascii: "."), previous == UInt8(ascii: "/") { return false }
        previous = byte
      }
      return true
    }
  }

  private static func isInPlainHost(_ byte: UInt8) -> Bool {
    switch byte {
    case 48...57, 97...122, UInt8(ascii: "-"), UInt8(ascii: "."): true
    default: false
    }
  }

  /// RFC 3986 §5.2.4.
  private static func removingDotSegments(_ path: String) -> String {
    guard path.contains("/.") else { return path }
    var kept: [Substring] = []
    let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch segment {
      case ".": if isLast { kept.append("") }
      case "..":
        _ = kept.popLast()
        if isLast { kept.append("") }
      default: kept.append(segment)
      }
    }
    return "/" + kept.joined(separator: "/")
  }
}

extension PageURL {
  /// The path of a `file` URL, the text of any other one; for messages.
  package var readable: String { filePath ?? text }
}

extension String {
  /// `true` for a `data:` URL, whose scheme may have capitals. RFC 2397.
  package var isDataURL: Bool { utf8.count >= 5 && prefix(5).lowercased() == "data:" }
}

/// A pattern for the URLs that a rule applies to.
public enum URLPattern: Hashable, Sendable {
  /// Every URL.
  case any
  /// URLs that begin with this text.
  case prefix(String)
  /// URLs that match this text, in which `*` stands for any number of characters. A pattern that begins with `/` is
  /// compared with path and query, any other one with the whole URL.
  case glob(String)

  /// Returns `true` if the URL matches.
  package func matches(_ url: PageURL) -> Bool {
    switch self {
    case .any: return true
    case .prefix(let prefix): return url.text.hasPrefix(prefix)
    case .glob(let glob):
      return Self.matches(Array(glob.utf8), Array((glob.hasPrefix("/") ? url.pathAndQuery : url.text).utf8))
    }
  }

  /// Matches in one pass, with the last `*` as the only place to continue from.
  private static func matches(_ glob: [UInt8], _ text: [UInt8]) -> Bool {
    var (index, position) = (0, 0)
    var star: (index: Int, position: Int)?
    while position < text.count {
      if index < glob.count, glob[index] == UInt8(ascii: "*") {
        star = (index, position)
        index += 1
      } else if index < glob.count, glob[index] == text[position] {
        index += 1
        position += 1
      } else if let last = star {
        star = (last.index, last.position + 1)
        index = last.index + 1
        position = last.position + 1
      } else {
        return false
      }
    }
    return glob[index...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}

extension PageURL {
  /// The URL without scheme and authority.
  package var pathAndQuery: String {
    guard let slashes = text.firstRange(of: "://") else { return text }
    let rest = text[slashes.upperBound...]
    return rest.firstIndex(of: "/").map { String(rest[$0...]) } ?? "/"
  }
}
