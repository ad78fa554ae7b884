/// The values of header fields that each replay renews.
struct RenewedValues {
  let date: String
  let requestID: String
  /// The seconds since the first response.
  let age: Int64

  /// A number of seconds in a header field that grows or falls by one each second.
  struct Seconds: Sendable {
    let first: Int64
    let step: Int64

    func text(_ renewed: RenewedValues) -> String { String(first &+ step &* renewed.age) }
  }

  /// Reads the number at the start of the bytes.
  static func number(_ bytes: ArraySlice<UInt8>) -> (value: Int64, end: Int)? {
    let digits = bytes.prefix { (0x30...0x39).contains($0) }
    return Int64(String(decoding: digits, as: UTF8.self)).map { ($0, digits.endIndex) }
  }

  /// The remaining lifetime in `Cache-Status`, as the cache nearest to the client gives it. RFC 9211 §2.4.
  static func timeToLive(_ status: ArraySlice<UInt8>) -> (value: Int64, range: Range<Int>)? {
    let mark = Array("; ttl=".utf8)
    let starts = status.indices.dropLast(mark.count).reversed()
    guard let start = starts.first(where: { status[$0...].starts(with: mark) }) else { return nil }
    let first = start + mark.count
    return number(status[first...]).map { ($0.value, first..<$0.end) }
  }
}
