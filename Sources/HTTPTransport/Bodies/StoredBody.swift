/// The stored bytes of a response. They can be read repeatedly and by several readers at once.
public protocol StoredBody: Sendable {
  /// The number of bytes.
  var count: Int64 { get }
  /// Reads at most `limit` bytes from a position; returns no bytes at the end.
  ///
  /// - Throws: an error if the bytes cannot be read.
  func read(at position: Int64, upTo limit: Int) throws -> [UInt8]
}
