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
