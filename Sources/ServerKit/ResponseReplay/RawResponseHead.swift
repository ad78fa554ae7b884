import NIOCore

/// The head of a recorded response of HTTP/1, split where each replay inserts new values.
struct RawResponseHead: Sendable {
  private enum Piece: Sendable {
    case text(Range<Int>)
    case date
    case requestID
    case seconds(RenewedValues.Seconds)
  }

  private let bytes: ByteBuffer
  private let pieces: [Piece]

  var size: Int { bytes.readableBytes }

  /// Returns `nil` if the end of the connection ends the response, or if the head lacks a field that must be renewed.
  init?(_ head: ByteBuffer, _ renewal: ReplayOffer.Renewal) {
    let text = String(decoding: head.readableBytesView, as: UTF8.self)
    guard text.utf8.count == head.readableBytes, text.hasPrefix("HTTP/1.1 "), text.hasSuffix("\r\n\r\n") else {
      return nil
    }
    let bytes = Array(head.readableBytesView)
    let fields = Self.fields(of: bytes)
    guard let id = fields["x-request-id"], fields["transfer-encoding"] == nil, fields["connection"] == nil else {
      return nil
    }
    var places: [(Range<Int>, Piece)] = [(id, .requestID)]
    switch renewal {
    case .date:
      guard let date = fields["date"] else { return nil }
      places.append((date, .date))
    case .age:
      guard let age = fields["age"], let seconds = RenewedValues.number(bytes[age]), seconds.end == age.upperBound
      else {
        return nil
      }
      places.append((age, .seconds(.init(first: seconds.value, step: 1))))
      if let left = fields["cache-status"].flatMap({ RenewedValues.timeToLive(bytes[$0]) }) {
        places.append((left.range, .seconds(.init(first: left.value, step: -1))))
      }
    }
    var pieces: [Piece] = []
    var start = 0
    for (range, piece) in places.sorted(by: { $0.0.lowerBound < $1.0.lowerBound }) {
      pieces += [.text(start..<range.lowerBound), piece]
      start = range.upperBound
    }
    self.pieces = pieces + [.text(start..<bytes.count)]
    self.bytes = ByteBuffer(bytes: bytes)
  }

  func write(_ renewed: RenewedValues, to buffer: inout ByteBuffer) {
    bytes.withUnsafeReadableBytes { bytes in
      for piece in pieces {
        switch piece {
        case .text(let range): buffer.writeBytes(UnsafeRawBufferPointer(rebasing: bytes[range]))
        case .date: buffer.writeString(renewed.date)
        case .requestID: buffer.writeString(renewed.requestID)
        case .seconds(let seconds): buffer.writeString(seconds.text(renewed))
        }
      }
    }
  }

  // MARK: Places

  /// The ranges of the fields' values, by lowercase names; the last line of a name counts.
  private static func fields(of head: [UInt8]) -> [String: Range<Int>] {
    var fields: [String: Range<Int>] = [:]
    var start = 0
    for (index, byte) in head.enumerated() where byte == 0x0A {
      let line = head[start..<max(start, index - 1)]
      if let colon = line.firstIndex(of: 0x3A) {
        let value = line[(colon + 1)...].drop { $0 == 0x20 }
        fields[String(decoding: line[..<colon], as: UTF8.self).lowercased()] = value.startIndex..<value.endIndex
      }
      start = index + 1
    }
    return fields
  }
}
