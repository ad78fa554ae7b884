import Foundation

/// Decodes base64 as pages and URLs write it: white space is ignored, and padding may be missing.
package enum Base64 {
  /// Returns `nil` if the text is not base64.
  package static func decode(_ text: String) -> [UInt8]? {
    let digits = text.filter { !$0.isWhitespace && $0 != "=" }
    let padded = digits + String(repeating: "=", count: (4 - digits.count % 4) % 4)
    return Data(base64Encoded: padded).map { Array($0) }
  }
}
