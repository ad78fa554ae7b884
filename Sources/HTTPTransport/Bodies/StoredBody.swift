/// The stored bytes of a response. They can be read repeatedly and by several readers at once.
public protocol StoredBody: Sendable {
  /// The number of bytes.
  var count: Int64 { get }
  /// Reads at most `limit` bytes from a position; returns no bytes at the end.
  ///
  /// - Throws: an error if the bytes cannot be read.
  func read(at position: Int64, upTo limit: Int) throws -> [UInt8]
}

/// Bytes in memory.
package struct BytesBody: StoredBody {
  private let bytes: [UInt8]

  package init(_ bytes: [UInt8]) { self.bytes = bytes }

  package var count: Int64 { Int64(bytes.count) }

  package func read(at position: Int64, upTo limit: Int) -> [UInt8] {
    guard position >= 0, position < count, limit > 0 else { return [] }
    if position == 0, limit >= bytes.count { return bytes }
    let start = Int(position)
    return Array(bytes[start..<(start + min(bytes.count - start, limit))])
  }
}
