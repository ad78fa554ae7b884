import HTTPTransport

/// The media types of served files.
enum ServedMediaType {
  /// The media type for a path. Text types are sent as UTF-8: scripts were checked to be, and other texts are assumed
  /// to be.
  static func of(path: String) -> String {
    let type = MediaType.of(path: path)
    return type.hasPrefix("text/") ? "\(type); charset=utf-8" : type
  }

  /// Returns `false` for pictures, videos and web fonts, which are compressed already.
  static func isCompressible(_ type: String) -> Bool {
    let name = MediaType(type).name
    return name.hasPrefix("text/") || name.hasSuffix("json") || name.hasSuffix("xml")
      || ["application/wasm", "font/ttf", "font/otf", "application/octet-stream", "image/vnd.microsoft.icon"]
        .contains(name)
  }
}
