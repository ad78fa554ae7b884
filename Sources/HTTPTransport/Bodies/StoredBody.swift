/// The stored bytes of a response. They can be read as often as wanted, by several at once.
public protocol StoredBody: Sendable {
  var count: Int64 { get }
  /// At most so many bytes from a position; none at the end.
  func read(at position: Int64, upTo limit: Int) throws -> [UInt8]
}
