import Foundation
import Testing

/// Encoded content, made with the reference tools: `gzip -9 -n`, `brotli` at quality 11, `zstd -19`.
struct EncodedFixture: Sendable, CustomTestStringConvertible {
  /// The value of `Content-Encoding`.
  let coding: String
  let name: String
  let content: [UInt8]
  private let base64: String

  init(_ coding: String, _ name: String, of content: [UInt8], _ base64: String) {
    self.coding = coding
    self.name = name
    self.content = content
    self.base64 = base64
  }

  var testDescription: String { "\(coding): \(name)" }

  /// The encoded bytes.
  var bytes: [UInt8] {
    get throws { try Array(#require(Data(base64Encoded: base64, options: .ignoreUnknownCharacters))) }
  }
}
