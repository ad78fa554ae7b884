/// RFC 7541: HPACK.
extension FrameAttack {
  private static let fine: Outcome = .answered(1, 200...200)

  private static func broken(_ clause: String, _ name: String, _ bytes: [UInt8]...) -> FrameAttack {
    row(clause, name, [Wire.headers(Wire.request + bytes)], .connection(.compression))
  }

  private static func good(_ clause: String, _ name: String, _ bytes: [UInt8]...) -> FrameAttack {
    row(clause, name, [Wire.headers(bytes)], fine)
  }

  private static let name: [UInt8] = [0, 1, 0x78]
  /// `x: y`, which is added to the table. RFC 7541 §6.2.1.
  private static let indexed: [UInt8] = [0x40, 1, 0x78, 1, 0x79]
  private static func table(_ size: UInt8) -> [UInt8] { [0x20 | size] }
  /// An integer with a prefix of five bits above 31.
  private static func table(large size: Int) -> [UInt8] {
    var bytes: [UInt8] = [0x3F]
    var rest = size - 31
    while rest >= 128 {
      bytes.append(UInt8(rest & 127) | 128)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  static let compression: [FrameAttack] = [
    broken("7541 §6.1", "the index 0", [0x80]),
    broken("7541 §2.3.3", "an index behind the static table, whose dynamic one is empty", [0xBE]),
    broken("7541 §2.3.3", "an index far behind the tables", [0xFF, 0xFF, 0x03]),
    broken("7541 §6.2.1", "a name's index behind the tables", [0x7F, 0x40, 1, 0x79]),
    broken("7541 §6.2.2", "the same, of a field that is not indexed", [0x0F, 0x70, 1, 0x79]),
    broken("7541 §6.2.3", "the same, of a field that is never indexed", [0x1F, 0x70, 1, 0x79]),
    broken(
      "7541 §5.1", "an index above 2^64", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
    broken("7541 §5.1", "an index above 2^32", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
    broken("7541 §5.1", "an integer that does not end", [0xFF, 0x80]),
    broken("7541 §5.1", "an index of a thousand bytes", [0xFF] + Array(repeating: 0x80, count: 1_000) + [0]),
    broken("7541 §5.1", "a length above 2^32", name + [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
    row(
      "7541 §5.1", "an integer with zeros that it does not need",
      [Wire.headers(Wire.request + [[0, 0x01, 0x78, 0x7F, 0x80, 0x80, 0x00] + Array(repeating: 0x61, count: 127)])],
      any: [fine, .connection(.compression)]),
    broken("7541 §5.2", "a value that is longer than its block", name + [9, 0x79]),
    broken("7541 §5.2", "a name that is longer than its block", [0, 20, 0x78]),
    broken("7541 §5.2", "a field without a value", name),
    broken("7541 §5.2", "a field without a name", [0]),
    broken("7541 §5.2", "a name's index without a value", [0x0F, 0x01]),
    broken("7541 §5.2", "Huffman's padding of more than seven bits", name + [0x82, 0x1F, 0xFF]),
    broken("7541 §5.2", "Huffman's padding of zeros", name + [0x81, 0x18]),
    broken("7541 §5.2", "Huffman's end of a text", name + [0x84, 0xFF, 0xFF, 0xFF, 0xFF]),
    broken("7541 §5.2", "Huffman's end in the middle of a text", name + [0x85, 0xFF, 0xFF, 0xFF, 0xFC, 0x7F]),
    broken("7541 §5.2", "Huffman's code cut short", name + [0x82, 0xFF, 0xFE]),
    broken("7541 §5.2", "Huffman's name with a wrong padding", [0, 0x81, 0x18, 1, 0x79]),
    good("7541 §5.2", "Huffman's text", Wire.get, Wire.https, Wire.authority, Wire.path, name + [0x81, 0x1F]),
    good("7541 §5.2", "an empty text of Huffman's", Wire.get, Wire.https, Wire.authority, Wire.path, name + [0x80]),
    row(
      "9113 §8.2.1", "an upper case name in Huffman's code", [Wire.headers(Wire.request + [[0, 0x81, 0xFC, 1, 0x79]])],
      any: .malformed() + [.connection(.compression)]),
    good("7541 §6.2.1", "a field that is indexed", Wire.get, Wire.https, Wire.authority, Wire.path, indexed),
    good(
      "7541 §6.2.1", "a field that is indexed and used", Wire.get, Wire.https, Wire.authority, Wire.path, indexed,
      [0xBE]),
    good(
      "7541 §6.2.3", "a field that is never indexed", Wire.get, Wire.https, Wire.authority, Wire.path,
      [0x10, 1, 0x78, 1, 0x79]),
    row(
      "7541 §2.2", "a table that lasts to the next request",
      [Wire.headers(Wire.request + [indexed]), Wire.headers(Wire.request + [[0xBE]], on: 3)], .answered(3, 200...200)),
    row(
      "7541 §2.2", "a table that counts fields of a stream that was reset",
      [
        Wire.headers(Wire.sending, 4), Wire.reset(1), Wire.headers(Wire.request + [indexed], on: 3),
        Wire.headers(Wire.request + [[0xBE]], on: 5),
      ], .answered(5, 200...200)),
    // RFC 9113 §8.1.1: the first request has no path, which is its own stream's error alone.
    row(
      "7541 §2.2", "a table that counts fields of a refused request",
      [
        Wire.headers([Wire.get, Wire.https, Wire.authority, indexed]),
        Wire.headers(Wire.request + [[0xBE]], on: 3),
      ], .answered(3, 200...200)),
    broken(
      "7541 §4.4", "a field that was removed for another",
      [0x40, 1, 0x78] + Wire.string(Array(repeating: 0x61, count: 4_000)),
      [0x40, 1, 0x79] + Wire.string(Array(repeating: 0x61, count: 4_000)), [0xBF]),
    broken(
      "7541 §4.4", "a field that is larger than the table empties it", indexed,
      [0x40, 1, 0x79] + Wire.string(Array(repeating: 0x61, count: 4_090)), [0xBE]),
    broken("7541 §4.2", "a table's size in the middle of a block", table(0)),
    broken("7541 §4.2", "a table's size at the end of a block", table(0)),
    row("7541 §4.2", "a table's size before everything", [Wire.headers([table(0)] + Wire.request)], fine),
    row(
      "7541 §4.2", "two table's sizes before everything",
      [Wire.headers([table(0), table(large: 4_096)] + Wire.request)], fine),
    row(
      "7541 §4.2", "three table's sizes", [Wire.headers([table(0), table(9), table(0)] + Wire.request)],
      any: [fine, .connection(.compression)]),
    row(
      "7541 §6.3", "a table's size above its limit", [Wire.headers([table(large: 4_097)] + Wire.request)],
      .connection(.compression)),
    row(
      "7541 §6.3", "a table's size of 4 GiB", [Wire.headers([table(large: 0xFFFF_FFFF)] + Wire.request)],
      .connection(.compression)),
    row("7541 §6.3", "a table's size that does not end", [Wire.headers([[0x3F, 0xFF]])], .connection(.compression)),
    row(
      "7541 §4.3", "a smaller table forgets its fields",
      [Wire.headers(Wire.request + [indexed]), Wire.headers([table(0)] + Wire.request + [[0xBE]], on: 3)],
      .connection(.compression)),
    row(
      "7541 §4.2", "a block that is a table's size", [Wire.headers([table(0)])],
      any: .malformed() + [.connection(.compression)]),
    row(
      "7541 §3.1", "a broken block of a second request", [Wire.request(1), Wire.headers([[0x80]], on: 3)],
      .connection(.compression)),
    row(
      "9113 §4.3", "a broken block of trailers", [Wire.headers(Wire.sending, 4), Wire.headers([[0x80]])],
      .connection(.compression)),
    row(
      "9113 §4.3", "a broken block behind RST_STREAM",
      [Wire.headers(Wire.sending, 4), Wire.reset(1), Wire.headers([[0x80]], on: 3)], .connection(.compression)),
    row(
      "7541 §7.3", "four thousand fields of one byte each",
      [Wire.headers(Wire.request + [indexed, Array(repeating: 0xBE, count: 4_000)])],
      any: [
        .answered(1, 431...431), .connection(.compression), .connection(.enhanceYourCalm), .connection(.protocolError),
        .stream(1, .protocolError),
      ]),
  ]
}
