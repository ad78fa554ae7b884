/// Checks URLs of pictures and fonts in a preview.
enum PreviewURL {
  /// Returns `nil` for a URL that would run, or that a browser cannot load by itself.
  static func safe(_ text: String) -> String? {
    // Browsers remove these bytes before they read the scheme.
    guard !text.isEmpty, !text.utf8.contains(where: { $0 <= 32 || $0 == 127 }) else { return nil }
    guard let colon = text.firstIndex(of: ":") else { return text }
    let scheme = text[..<colon].lowercased()
    if scheme.contains("/") || scheme.contains("?") || scheme.contains("#") { return text }
    switch scheme {
    case "http", "https", "file": return text
    case "data":
      let type = text[text.index(after: colon)...].prefix { $0 != ";" && $0 != "," }.lowercased()
      return ["image/", "font/", "application/font", "application/x-font", "application/octet-stream"]
        .contains { type.hasPrefix($0) } ? text : nil
    default: return nil
    }
  }

  /// The URL for `url("…")` in a style sheet, escaped so that it cannot end the string, the rule or the element.
  static func quoted(_ text: String) -> String {
    text.utf8.reduce(into: "") { result, byte in
      if byte >= 0x80 || "\"'\\<>".utf8.contains(byte) || byte <= 32 {
        let digits = String(byte, radix: 16, uppercase: true)
        result += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
      } else {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      }
    }
  }
}
