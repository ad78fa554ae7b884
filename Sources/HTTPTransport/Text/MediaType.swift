import HTTPCaching

/// A media type without its parameters. RFC 9110 §8.3.1.
package struct MediaType: Hashable, Sendable {
  /// The name in lower case, such as `text/html`; empty if there is none.
  package let name: String

  /// Reads the value of `Content-Type`, or a range of `Accept`.
  package init(_ value: String?) {
    name = (value ?? "").prefix { $0 != ";" }.lowercased().trimmingSpaces
  }

  /// Returns the media type of a file that pages come with, by the ending of its name.
  package static func of(path: String) -> String {
    let name = path.split(separator: "/").last ?? ""
    let ending = name.split(separator: ".").last.map { $0.lowercased() } ?? ""
    return known[ending] ?? "application/octet-stream"
  }

  private static let known: [String: String] = [
    "js": "text/javascript", "mjs": "text/javascript", "json": "application/json", "html": "text/html",
    "css": "text/css", "txt": "text/plain", "xml": "application/xml", "png": "image/png", "jpg": "image/jpeg",
    "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp", "avif": "image/avif", "svg": "image/svg+xml",
    "ico": "image/vnd.microsoft.icon", "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf",
    "otf": "font/otf", "wasm": "application/wasm", "mp4": "video/mp4", "webm": "video/webm", "mp3": "audio/mpeg",
    "map": "application/json",
  ]
}
