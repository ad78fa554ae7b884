import HTTPCaching
import NIOCore

/// An answer as it went out, with the places of what is new in each.
struct RecalledAnswer: Sendable {
  /// What was known of one answer when it was given again.
  struct Again: Sendable {
    let requestID: String
    let started: ContinuousClock.Instant
    let bodyBytes: Int
    /// The client's.
    let address: String
  }

  private enum Piece: Sendable {
    case text(Range<Int>)
    case date
    case requestID
  }

  private let head: ByteBuffer
  private let pieces: [Piece]
  private let body: ByteBuffer
  /// Whether it may be given still.
  let isCurrent: @Sendable () -> Bool
  /// What is noted of every answer.
  private let notes: [@Sendable (Again) -> Void]

  /// Smaller bodies are copied behind the head: that is cheaper than to write two buffers.
  private static let copied = 4 << 10

  /// Bytes in memory, with what is noted of each answer.
  var size: Int { head.readableBytes + body.readableBytes + 2048 }

  /// - Parameter answer: the bytes of a whole answer, in the buffers that it was written in.
  /// - Returns: nil for what cannot be given twice: without an end of its own, or without the fields that are replaced.
  init?(_ answer: [ByteBuffer], _ offer: RecallOffer) {
    guard let first = answer.first else { return nil }
    let text = String(decoding: first.readableBytesView, as: UTF8.self)
    guard text.utf8.count == first.readableBytes, text.hasPrefix("HTTP/1.1 "), text.hasSuffix("\r\n\r\n") else {
      return nil
    }
    let fields = Self.fields(of: Array(first.readableBytesView))
    guard let date = fields["date"], let id = fields["x-request-id"], fields["transfer-encoding"] == nil,
      fields["connection"] == nil
    else { return nil }
    var pieces: [Piece] = []
    var start = 0
    for (range, piece) in [(date, Piece.date), (id, .requestID)].sorted(by: { $0.0.lowerBound < $1.0.lowerBound }) {
      pieces += [.text(start..<range.lowerBound), piece]
      start = range.upperBound
    }
    pieces.append(.text(start..<first.readableBytes))
    self.pieces = pieces
    head = ByteBuffer(bytes: first.readableBytesView)
    let bodies = answer.dropFirst().filter { $0.readableBytes > 0 }
    if bodies.count == 1, let only = bodies.first, only.storageCapacity <= 2 * only.readableBytes + Self.copied {
      body = only
    } else {
      // A part would keep the whole that it was cut from.
      body = ByteBuffer(bodies.map(\.readableBytesView).joined())
    }
    isCurrent = offer.isCurrent
    notes = offer.notes
  }

  /// What is to be written.
  func buffers(date: String, requestID: String, _ allocator: ByteBufferAllocator) -> (ByteBuffer, ByteBuffer?) {
    let isCopied = body.readableBytes <= Self.copied
    var buffer = allocator.buffer(capacity: head.readableBytes + 64 + (isCopied ? body.readableBytes : 0))
    for piece in pieces {
      switch piece {
      case .text(let range):
        if let text = head.getSlice(at: head.readerIndex + range.lowerBound, length: range.count) {
          buffer.writeImmutableBuffer(text)
        }
      case .date: buffer.writeString(date)
      case .requestID: buffer.writeString(requestID)
      }
    }
    guard isCopied else { return (buffer, body) }
    buffer.writeImmutableBuffer(body)
    return (buffer, nil)
  }

  func note(_ requestID: String, from address: String, since started: ContinuousClock.Instant) {
    let again = Again(requestID: requestID, started: started, bodyBytes: body.readableBytes, address: address)
    for note in notes { note(again) }
  }

  /// Where the values of fields are, by their names in small letters; those of the first line of a name.
  private static func fields(of head: [UInt8]) -> [String: Range<Int>] {
    var fields: [String: Range<Int>] = [:]
    var start = 0
    for (index, byte) in head.enumerated() where byte == 0x0A {
      let line = head[start..<max(start, index - 1)]
      if let colon = line.firstIndex(of: 0x3A) {
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        let value = line[(colon + 1)...].drop { $0 == 0x20 }
        if fields[name] == nil { fields[name] = value.startIndex..<value.endIndex }
      }
      start = index + 1
    }
    return fields
  }
}

extension ByteBuffer {
  fileprivate init(_ bytes: some Sequence<UInt8>) { self.init(bytes: Array(bytes)) }
}
