/// Undoes `Content-Encoding`, as a stage after the transport, and applies it to what is sent.
public protocol ContentDecoding: Sendable {
  /// What to send as `Accept-Encoding`.
  var acceptEncoding: String { get }

  /// A decoder for one body.
  ///
  /// - Parameters:
  ///   - encoding: the value of `Content-Encoding`; a list is undone from its end.
  ///   - url: for messages.
  ///   - limit: decoded bytes allowed.
  /// - Throws: ``ContentError/unsupportedEncoding(url:encoding:)``.
  func decoder(for encoding: String, url: String, limit: Int64) throws -> any BodyDecoding

  /// The content as gzip; nil where that cannot be made.
  func compress(_ content: [UInt8]) -> [UInt8]?
}

/// Decodes one body chunk by chunk. Used by one task at a time.
public protocol BodyDecoding: AnyObject {
  /// What the chunk decodes to, possibly nothing.
  ///
  /// - Throws: ``ContentError``.
  func decode(_ chunk: [UInt8]) throws -> [UInt8]

  /// To be called when the body has ended.
  ///
  /// - Throws: ``ContentError/cutShort(url:encoding:)`` where the encoded stream has not ended.
  func finish() throws
}
