/// Decodes `Content-Encoding` after the transport, and encodes bodies that are sent.
public protocol ContentDecoding: Sendable {
  /// The value of `Accept-Encoding` for requests.
  var acceptEncoding: String { get }

  /// Returns a decoder for one body.
  ///
  /// - Parameters:
  ///   - encoding: the value of `Content-Encoding`; a list is decoded from its end. RFC 9110 §8.4.
  ///   - url: the URL that errors name.
  ///   - limit: the largest number of decoded bytes.
  /// - Throws: ``ContentError/unsupportedEncoding(url:encoding:)``.
  func decoder(for encoding: String, url: String, limit: Int64) throws -> any BodyDecoding

  /// Returns the content compressed with gzip; `nil` if that fails.
  func compress(_ content: [UInt8]) -> [UInt8]?
}

/// Decodes one body chunk by chunk. Used by one task at a time.
public protocol BodyDecoding: AnyObject {
  /// Returns the decoded bytes of a chunk, possibly none.
  ///
  /// - Throws: ``ContentError``.
  func decode(_ chunk: [UInt8]) throws -> [UInt8]

  /// Checks that the encoded stream is complete. To be called when the body has ended.
  ///
  /// - Throws: ``ContentError/cutShort(url:encoding:)`` if the encoded stream is incomplete.
  func finish() throws
}
