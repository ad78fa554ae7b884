/// Decodes `Content-Encoding` after the transport, and encodes bodies that are sent.
package protocol ContentDecoding: Sendable {
  /// The value of `Accept-Encoding` for requests without a dictionary.
  var acceptEncoding: String { get }

  /// Returns a decoder for one body.
  ///
  /// - Parameters:
  ///   - encoding: the value of `Content-Encoding`; a list is decoded from its end. RFC 9110 §8.4.
  ///   - url: the URL that errors name.
  ///   - limit: the largest number of decoded bytes.
  ///   - dictionary: the dictionary that the request offered; `nil` if it offered none.
  /// - Throws: ``ContentError/unsupportedEncoding(url:encoding:)``.
  func decoder(
    for encoding: String, url: String, limit: Int64, dictionary: ContentDictionary?
  ) throws -> any BodyDecoding

  /// Returns the content compressed with gzip; `nil` if that fails.
  func compress(_ content: [UInt8]) -> [UInt8]?
}

extension ContentDecoding {
  /// Returns a decoder for the answer to a request that offered no dictionary.
  package func decoder(for encoding: String, url: String, limit: Int64) throws -> any BodyDecoding {
    try decoder(for: encoding, url: url, limit: limit, dictionary: nil)
  }
}

/// Decodes one body chunk by chunk. Used by one task at a time.
package protocol BodyDecoding: AnyObject {
  /// Returns the decoded bytes of a chunk, possibly none.
  ///
  /// - Throws: ``ContentError``.
  func decode(_ chunk: [UInt8]) throws -> [UInt8]

  /// Checks that the encoded stream is complete. To be called when the body has ended.
  ///
  /// - Throws: ``ContentError/cutShort(url:encoding:)`` if the encoded stream is incomplete.
  func finish() throws
}

/// The reason why a response's body cannot be decoded.
package enum ContentError: Error, Hashable, Sendable, CustomStringConvertible {
  /// `Content-Encoding` names an encoding that was not requested.
  case unsupportedEncoding(url: String, encoding: String)
  /// The encoded data is damaged.
  case corruptEncoding(url: String, encoding: String, reason: String)
  /// The encoded data ends too early.
  case cutShort(url: String, encoding: String)
  /// The decoded content has more than `limit` bytes.
  case tooLarge(url: String, limit: Int64)

  package var description: String {
    switch self {
    case .unsupportedEncoding(let url, let encoding):
      "\(url): the answer is encoded as \(encoding.quotedForMessage), which was not asked for"
    case .corruptEncoding(let url, let encoding, let reason): "\(url): the \(encoding) data is damaged: \(reason)"
    case .cutShort(let url, let encoding): "\(url): the \(encoding) data ends too early"
    case .tooLarge(let url, let limit): "\(url): the decoded content has more than the limit of \(limit) bytes"
    }
  }
}
