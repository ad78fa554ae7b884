import Foundation
import HTTPTypes
import RawStructuredFieldValues

/// Bytes that both ends have: content that resembles them is sent as its difference. RFC 9842.
package struct ContentDictionary: Sendable {
  package let bytes: [UInt8]
  /// The SHA-256 of the bytes.
  package let digest: SHA256Digest

  /// The largest dictionary in bytes, which bounds the memory of a decoder.
  package static let sizeLimit: Int64 = 16 << 20

  /// - Parameter digest: the SHA-256 of `bytes`.
  package init(_ bytes: [UInt8], digest: SHA256Digest) { (self.bytes, self.digest) = (bytes, digest) }
}

extension SHA256Digest {
  /// Reads the value of `Available-Dictionary`; `nil` if it is absent or no SHA-256. RFC 9842 §2.2.
  package init?(availableDictionary fields: HTTPFields) {
    guard let name = HTTPField.Name.availableDictionary, let value = fields[name] else { return nil }
    var parser = StructuredFieldValueParser(Array(value.utf8))
    guard case .undecodedByteSequence(let text) = try? parser.parseItemFieldValue().rfc9651BareItem,
      let bytes = Data(base64Encoded: text)
    else { return nil }
    self.init(bytes: bytes)
  }

  /// The value of `Available-Dictionary` for a dictionary with this digest: a byte sequence of RFC 9651 §3.3.5.
  package var availableDictionary: String { ":\(Data(bytes).base64EncodedString()):" }
}

extension HTTPField.Name {
  /// The SHA-256 of the dictionary that the sender of a request has. RFC 9842 §2.2.
  package static let availableDictionary = HTTPField.Name("Available-Dictionary")
  /// The URLs for which a response is a dictionary. RFC 9842 §2.1.
  package static let useAsDictionary = HTTPField.Name("Use-As-Dictionary")
}
