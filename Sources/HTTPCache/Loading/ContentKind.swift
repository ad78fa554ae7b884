import HTTPTransport

/// The kind of content of a response, as far as its first bytes and its media type tell.
enum ContentKind: Hashable, Sendable {
  case html
  case json
  case image
  case font

  /// As many bytes as it takes to tell.
  static let prefixSize = 1_024

  /// Returns `nil` for everything else, and for what could be one or the other.
  ///
  /// - Parameters:
  ///   - type: the value of `Content-Type`. Servers are often wrong about it, so that the bytes count first.
  ///   - start: the first bytes of the content, decoded.
  init?(type: String?, start: [UInt8]) {
    let type = MediaType(type)
    if Self.isFont(start) {
      self = .font
    } else if ImageFormat(start) != nil {
      self = .image
    } else if Self.looksLikeHTML(start) {
      self = .html
    } else if type.mayBeAnything, Self.looksLikeJSON(start) {
      self = .json
    } else if let named = type.kind {
      self = named
    } else {
      return nil
    }
  }

  /// Returns `nil` for a request that leaves open what it wants.
  ///
  /// - Parameter accept: the value of the request's `Accept`.
  init?(askedFor type: ResourceType, accept: String?) {
    switch type {
    case .image: self = .image
    case .font: self = .font
    default:
      let ranges = (accept ?? "").split(separator: ",").map { MediaType(String($0)) }
      guard let first = ranges.first?.kind, first != .html, ranges.allSatisfy({ $0.kind == first }) else { return nil }
      self = first
    }
  }

  /// Returns `true` if new content may replace what is stored: a login page may not replace a picture, or JSON.
  ///
  /// - Parameter asked: what the request wants; `nil` where only what is stored can tell.
  static func mayReplace(_ stored: ContentKind?, by new: ContentKind?, askedFor asked: ContentKind?) -> Bool {
    // If a kind is unknown, or both are the same, nothing forbids the replacement.
    guard let stored, stored != .html, let new, new != stored else { return true }
    return asked != nil && asked != stored
  }

  private static func isFont(_ start: [UInt8]) -> Bool {
    [
      [0, 1, 0, 0], Array("OTTO".utf8), Array("true".utf8) + [0], Array("ttcf".utf8), Array("wOFF".utf8),
      Array("wOF2".utf8),
    ]
    .contains { start.starts(with: $0) }
  }

  private static func looksLikeJSON(_ start: [UInt8]) -> Bool {
    let first = start.drop { [0xEF, 0xBB, 0xBF, 9, 10, 13, 32].contains($0) }.first
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }

  private static func looksLikeHTML(_ start: [UInt8]) -> Bool {
    var text = Substring(String(decoding: start.prefix(prefixSize), as: UTF8.self).lowercased())
    if text.hasPrefix("\u{FEFF}") { text = text.dropFirst() }
    text = text.drop { $0.isWhitespace }
    while text.hasPrefix("<!--"), let end = text.firstRange(of: "-->") {
      text = text[end.upperBound...].drop { $0.isWhitespace }
    }
    return ["<!doctype html", "<html", "<head", "<body", "<title", "<meta", "<script"].contains { text.hasPrefix($0) }
  }
}

extension MediaType {
  /// Returns `true` if the type says nothing of the bytes, or is the default of servers.
  fileprivate var mayBeAnything: Bool {
    ["", "application/octet-stream", "text/plain", "text/html"].contains(name) || kind == .json
  }

  fileprivate var kind: ContentKind? {
    if name == "text/html" || name == "application/xhtml+xml" { return .html }
    if name == "application/json" || name == "text/json" || name.hasSuffix("+json") { return .json }
    if name.hasPrefix("image/") { return .image }
    if name.hasPrefix("font/") || name.hasPrefix("application/font-") || name.hasPrefix("application/x-font-") {
      return .font
    }
    return nil
  }
}

/// Formats of pictures, told from their bytes, whatever the server calls them.
package enum ImageFormat: String, Hashable, Sendable, CaseIterable {
  /// A format that is told from the first bytes; SVG from its text.
  case png, jpeg, gif, webp, avif, svg

  /// Reads the first bytes; `nil` if they are not a picture's.
  package init?(_ bytes: some Collection<UInt8>) {
    let head = Array(bytes.prefix(1_024))
    if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      self = .png
    } else if head.starts(with: [0xFF, 0xD8, 0xFF]) {
      self = .jpeg
    } else if head.starts(with: Array("GIF87a".utf8)) || head.starts(with: Array("GIF89a".utf8)) {
      self = .gif
    } else if head.count >= 12, head.starts(with: Array("RIFF".utf8)), head[8..<12].elementsEqual("WEBP".utf8) {
      self = .webp
    } else if head.count >= 12, head[4..<8].elementsEqual("ftyp".utf8),
      ["avif", "avis"].contains(String(decoding: head[8..<12], as: UTF8.self))
    {
      self = .avif
    } else if Self.isSVG(head) {
      self = .svg
    } else {
      return nil
    }
  }

  /// Behind comments and declarations the first element is `svg`.
  private static func isSVG(_ head: [UInt8]) -> Bool {
    var text = Substring(String(decoding: head, as: UTF8.self))
    if text.hasPrefix("\u{FEFF}") { text = text.dropFirst() }
    while true {
      text = text.drop { $0.isWhitespace }
      guard text.hasPrefix("<") else { return false }
      if text.hasPrefix("<!--") {
        guard let end = text.firstRange(of: "-->") else { return false }
        text = text[end.upperBound...]
      } else if text.hasPrefix("<?") || text.hasPrefix("<!") {
        guard let end = text.firstIndex(of: ">") else { return false }
        text = text[text.index(after: end)...]
      } else {
        return text.hasPrefix("<svg") || text.hasPrefix("<svg:svg")
      }
    }
  }

  /// The type as `Content-Type` names it.
  package var mediaType: String {
    switch self {
    case .svg: "image/svg+xml"
    default: "image/\(rawValue)"
    }
  }
}
