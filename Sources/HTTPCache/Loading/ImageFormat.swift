/// Formats of pictures, told from their bytes, whatever the server calls them.
public enum ImageFormat: String, Hashable, Sendable, CaseIterable {
  /// A format that is told from the first bytes; SVG from its text.
  case png, jpeg, gif, webp, avif, svg

  /// Reads the first bytes; `nil` if they are not a picture's.
  public init?(_ bytes: some Collection<UInt8>) {
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
