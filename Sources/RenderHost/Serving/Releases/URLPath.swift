import Foundation
import HTTPTransport

/// Escapes and unescapes the paths of manifests for URLs.
enum URLPath {
  /// Removes the escapes. Returns `nil` if the result is not UTF-8.
  static func unescaped(_ path: some StringProtocol) -> String? { String(path).removingPercentEncoding }

  static func escaped(_ path: String) -> String {
    path.percentEncoded { $0.isPathCharacter }
  }

  /// A path as a pattern of URLs that matches it alone; `nil` if it has characters of the patterns' syntax.
  static func pattern(of path: String) -> String? {
    let escaped = escaped(path)
    return escaped.contains { "*:+?(){}\\".contains($0) } ? nil : escaped
  }
}
