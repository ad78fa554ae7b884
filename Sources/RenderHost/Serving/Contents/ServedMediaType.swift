import HTTPCache

/// The media types that files are sent as.
enum ServedMediaType {
  /// Texts are UTF-8: scripts were checked to be, and nothing else is said of others.
  static func of(path: String) -> String {
    let type = MediaType.of(path: path)
    return type.hasPrefix("text/") ? "\(type); charset=utf-8" : type
  }

  /// Pictures, films and web fonts are compressed already.
  static func isCompressible(_ type: String) -> Bool {
    let name = type.prefix { $0 != ";" }
    return name.hasPrefix("text/") || name.hasSuffix("json") || name.hasSuffix("xml")
      || ["application/wasm", "font/ttf", "font/otf", "application/octet-stream", "image/vnd.microsoft.icon"]
        .contains(String(name))
  }
}
