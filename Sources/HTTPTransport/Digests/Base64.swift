import Foundation

/// Base64 as pages and their URLs write it: white space does not count, and padding may be left out.
package enum Base64 {
  /// Nil where the text is no base64.
  package static func decode(_ text: String) -> [UInt8]? {
    let digits = text.filter { !$0.isWhitespace && $0 != "=" }
    let padded = digits + String(repeating: "=", count: (4 - digits.count % 4) % 4)
    return Data(base64Encoded: padded).map { Array($0) }
  }
}
