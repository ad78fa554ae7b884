import Foundation
import HTTPTransport

/// The content of a `data:` URL. RFC 2397.
struct DataURL {
  let mediaType: String
  let bytes: [UInt8]

  /// - Throws: ``LoadError/badDataURL(_:)``.
  init(_ text: String) throws {
    let bytes = text.utf8
    guard let comma = bytes.firstIndex(of: UInt8(ascii: ",")), let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      colon < comma
    else {
      throw LoadError.badDataURL("it has no comma")
    }
    var head = text[bytes.index(after: colon)..<comma]
    let isBase64 = head.lowercased().hasSuffix(";base64")
    if isBase64 { head = head.dropLast(7) }
    mediaType = head.isEmpty ? "text/plain;charset=US-ASCII" : head.hasPrefix(";") ? "text/plain\(head)" : String(head)
    let payload = text[bytes.index(after: comma)...]
    if isBase64 {
      guard let decoded = Base64.decode(payload.removingPercentEncoding ?? String(payload)) else {
        throw LoadError.badDataURL("its base64 is damaged")
      }
      self.bytes = decoded
    } else {
      self.bytes = payload.percentDecodedBytes
    }
  }
}
