import NIOCore
import NIOHPACK

/// A response as it was written, to be replayed.
package struct RecordedResponse: Sendable {
  /// One replay of a response, for logs and metrics.
  package struct ReplayEvent: Sendable {
    let requestID: String
    package let started: ContinuousClock.Instant
    package let bodyBytes: Int
    /// The address of the client.
    package let address: String
  }

  private enum Head {
    case bytes(RawResponseHead)
    case fields(RecordedStreamHead)
  }

  private let head: Head
  private let body: ByteBuffer
  /// The seconds by which the response has aged; `nil` if it must not be replayed.
  package let age: @Sendable () -> Int64?
  /// The functions that are called at each replay.
  private let notes: [@Sendable (ReplayEvent) -> Void]

  /// The largest body that is copied after the head, which is cheaper than writing two buffers.
  private static let copied = 4 << 10

  /// The memory of the response in bytes, with its notes.
  package let size: Int

  /// A response of HTTP/1.
  ///
  /// - Parameter answer: the bytes of a whole response, in the buffers that were written.
  /// - Returns: `nil` if the response cannot be replayed.
  package init?(_ answer: [ByteBuffer], _ offer: ReplayOffer) {
    guard let head = answer.first.flatMap({ RawResponseHead($0, offer.renewal) }) else { return nil }
    self.init(.bytes(head), size: head.size, Array(answer.dropFirst()), offer)
  }

  /// A response of HTTP/2.
  ///
  /// - Returns: `nil` if the response cannot be replayed.
  init?(_ head: HPACKHeaders, _ body: [ByteBuffer], _ offer: ReplayOffer) {
    guard let head = RecordedStreamHead(head, offer.renewal) else { return nil }
    self.init(.fields(head), size: head.size, body, offer)
  }

  private init(_ head: Head, size: Int, _ parts: [ByteBuffer], _ offer: ReplayOffer) {
    self.head = head
    let bodies = parts.filter { $0.readableBytes > 0 }
    if bodies.count == 1, let only = bodies.first, only.storageCapacity <= 2 * only.readableBytes + Self.copied {
      body = only
    } else {
      // A slice would keep the whole buffer that it belongs to.
      body = ByteBuffer(bodies.map(\.readableBytesView).joined())
    }
    self.size = size + body.readableBytes + 2048
    age = offer.age
    notes = offer.notes
  }

  /// Returns the bytes to write: the head, and the body unless it was copied after the head; `nil` for a response of
  /// HTTP/2.
  func buffers(_ renewed: RenewedValues, _ allocator: ByteBufferAllocator) -> (ByteBuffer, ByteBuffer?)? {
    guard case .bytes(let head) = head else { return nil }
    let isCopied = body.readableBytes <= Self.copied
    var buffer = allocator.buffer(capacity: head.size + 64 + (isCopied ? body.readableBytes : 0))
    head.write(renewed, to: &buffer)
    guard isCopied else { return (buffer, body) }
    buffer.writeImmutableBuffer(body)
    return (buffer, nil)
  }

  /// Returns the fields and the body to write; `nil` for a response of HTTP/1.
  func frames(_ renewed: RenewedValues) -> (HPACKHeaders, ByteBuffer)? {
    guard case .fields(let head) = head else { return nil }
    return (head.headers(renewed), body)
  }

  package func note(_ requestID: String, from address: String, since started: ContinuousClock.Instant) {
    let event = ReplayEvent(requestID: requestID, started: started, bodyBytes: body.readableBytes, address: address)
    for note in notes { note(event) }
  }
}

extension ByteBuffer {
  fileprivate init(_ bytes: some Sequence<UInt8>) { self.init(bytes: Array(bytes)) }
}

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

/// The head of a recorded response of HTTP/2. RFC 9113 §8.3.
struct RecordedStreamHead: Sendable {
  private enum Value: Sendable {
    case text(String)
    case date
    case requestID
    case seconds(RenewedValues.Seconds, before: String, after: String)
  }

  private let fields: [(name: String, value: Value)]
  let size: Int

  /// Returns `nil` if the head lacks a field that must be renewed.
  init?(_ head: HPACKHeaders, _ renewal: ReplayOffer.Renewal) {
    var hasID = false
    var isRenewed = false
    var fields: [(name: String, value: Value)] = []
    for (name, text, _) in head {
      var value = Value.text(text)
      switch (name, renewal) {
      case ("x-request-id", _): (value, hasID) = (.requestID, true)
      case ("date", .date): (value, isRenewed) = (.date, true)
      case ("age", .age):
        guard let age = Int64(text), !isRenewed else { return nil }
        (value, isRenewed) = (.seconds(.init(first: age, step: 1), before: "", after: ""), true)
      case ("cache-status", .age):
        let bytes = Array(text.utf8)
        if let left = RenewedValues.timeToLive(bytes[...]) {
          value = .seconds(
            .init(first: left.value, step: -1),
            before: String(decoding: bytes[..<left.range.lowerBound], as: UTF8.self),
            after: String(decoding: bytes[left.range.upperBound...], as: UTF8.self))
        }
      default: break
      }
      fields.append((name, value))
    }
    guard hasID, isRenewed else { return nil }
    self.fields = fields
    size = head.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
  }

  func headers(_ renewed: RenewedValues) -> HPACKHeaders {
    var headers = HPACKHeaders()
    headers.reserveCapacity(fields.count)
    for (name, value) in fields {
      switch value {
      case .text(let text): headers.add(name: name, value: text)
      case .date: headers.add(name: name, value: renewed.date)
      // Values that do not come again would push others out of the client's table.
      case .requestID: headers.add(name: name, value: renewed.requestID, indexing: .nonIndexable)
      case .seconds(let seconds, let before, let after):
        headers.add(name: name, value: before + seconds.text(renewed) + after, indexing: .nonIndexable)
      }
    }
    return headers
  }
}

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
