/// Bytes of a client that speaks HTTP/2, and what the server has to do with them.
struct FrameAttack: Sendable {
  /// RFC 9113 §7.
  enum Code: UInt32, Sendable {
    case none, protocolError, internalError, flowControl, settingsTimeout, streamClosed, frameSize, refusedStream,
      cancel, compression, connect, enhanceYourCalm, inadequateSecurity, http11Required
  }

  enum Outcome: Sendable {
    /// The connection ends, also without a GOAWAY.
    case ends
    /// The connection ends with this code in a GOAWAY. RFC 9113 §5.4.1.
    case connection(Code)
    /// The stream is reset with this code. RFC 9113 §5.4.2.
    case stream(UInt32, Code)
    /// The request of the stream gets a response with one of these statuses.
    case answered(UInt32, ClosedRange<Int>)
    /// A PING with these bytes is acknowledged.
    case pong([UInt8])
    /// So many SETTINGS are acknowledged.
    case acknowledged(Int)
  }

  /// The RFC and its section.
  let clause: String
  let name: String
  /// The frames behind the client's preface.
  let frames: [[UInt8]]
  /// The permitted outcomes.
  let expected: [Outcome]
  /// `true` if the frames are the whole of what is sent: no preface is sent before them.
  var isWhole = false

  static func row(_ clause: String, _ name: String, _ frames: [[UInt8]], _ expected: Outcome...) -> FrameAttack {
    FrameAttack(clause: clause, name: name, frames: frames, expected: expected)
  }

  static func row(_ clause: String, _ name: String, _ frames: [[UInt8]], any expected: [Outcome]) -> FrameAttack {
    FrameAttack(clause: clause, name: name, frames: frames, expected: expected)
  }

  /// A row without the client's preface.
  static func whole(_ clause: String, _ name: String, _ bytes: [[UInt8]], _ expected: Outcome...) -> FrameAttack {
    FrameAttack(clause: clause, name: name, frames: bytes, expected: expected, isWhole: true)
  }

  static let all = connections + streams + frameTypes + settings + messages + pseudoFields + compression
}

extension [FrameAttack.Outcome] {
  /// RFC 9113 §8.1.1: a malformed request is a stream error, which may be answered before; §5.4.1: every error may be
  /// one of the connection.
  static func malformed(_ stream: UInt32 = 1) -> [FrameAttack.Outcome] {
    [.stream(stream, .protocolError), .connection(.protocolError), .answered(stream, 400...499)]
  }

  /// An error of a stream, also as one of the connection.
  static func error(_ stream: UInt32, _ code: FrameAttack.Code) -> [FrameAttack.Outcome] {
    [.stream(stream, code), .connection(code)]
  }
}

// MARK: - Frames

/// The bytes of frames and field blocks, right or wrong.
enum Wire {
  static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
  static let emptySettings = frame(4)

  /// - Parameter length: the length that the frame states; `nil` for the right one.
  static func frame(
    _ type: UInt8, _ flags: UInt8 = 0, on stream: UInt32 = 0, _ payload: [UInt8] = [], length: Int? = nil
  ) -> [UInt8] {
    let length = length ?? payload.count
    let head: [UInt8] = [
      UInt8(truncatingIfNeeded: length >> 16), UInt8(truncatingIfNeeded: length >> 8),
      UInt8(truncatingIfNeeded: length), type, flags,
    ]
    return head + number(stream) + payload
  }

  static func frame(_ type: UInt8, _ payload: [UInt8]) -> [UInt8] { frame(type, 0, payload) }

  static func number(_ value: UInt32) -> [UInt8] {
    stride(from: 24, through: 0, by: -8).map { UInt8(value >> $0 & 0xFF) }
  }

  static func data(_ text: String, on stream: UInt32 = 1, ends: Bool = true) -> [UInt8] {
    frame(0, ends ? 1 : 0, on: stream, Array(text.utf8))
  }

  /// A HEADERS frame. Flags: 1 END_STREAM, 4 END_HEADERS, 8 PADDED, 32 PRIORITY.
  static func headers(_ fields: [[UInt8]], on stream: UInt32 = 1, _ flags: UInt8 = 5) -> [UInt8] {
    frame(1, flags, on: stream, Array(fields.joined()))
  }

  static func setting(_ id: UInt16, _ value: UInt32) -> [UInt8] {
    [UInt8(id >> 8), UInt8(id & 0xFF)] + number(value)
  }

  static func settings(_ settings: [UInt8]...) -> [UInt8] { frame(4, 0, Array(settings.joined())) }

  static func reset(_ stream: UInt32 = 1, _ code: UInt32 = 8) -> [UInt8] { frame(3, on: stream, number(code)) }

  static func ping(_ text: String = "12345678") -> [UInt8] { frame(6, 0, Array(text.utf8)) }

  static func window(_ stream: UInt32, _ increment: UInt32) -> [UInt8] { frame(8, on: stream, number(increment)) }

  static func continuation(_ fields: [[UInt8]], on stream: UInt32 = 1, ends: Bool = true) -> [UInt8] {
    frame(9, ends ? 4 : 0, on: stream, Array(fields.joined()))
  }

  // MARK: Fields

  /// A literal field that is not indexed, without Huffman's coding. RFC 7541 §6.2.2.
  static func field(_ name: String, _ value: String) -> [UInt8] { field(Array(name.utf8), Array(value.utf8)) }

  static func field(_ name: [UInt8], _ value: [UInt8]) -> [UInt8] { [0] + string(name) + string(value) }

  /// RFC 7541 §5.1 and §5.2.
  static func string(_ bytes: [UInt8]) -> [UInt8] {
    var head: [UInt8] = []
    if bytes.count < 127 {
      head = [UInt8(bytes.count)]
    } else {
      head = [127]
      var rest = bytes.count - 127
      while rest >= 128 {
        head.append(UInt8(rest & 127) | 128)
        rest >>= 7
      }
      head.append(UInt8(rest))
    }
    return head + bytes
  }

  static let get: [UInt8] = [0x82]
  static let post: [UInt8] = [0x83]
  static let https: [UInt8] = [0x87]
  static let authority = field(":authority", "localhost")
  static let path = field(":path", "/healthz")

  /// The fields of a request that is in order.
  static let request = [get, https, authority, path]
  static let sending = [post, https, authority, path]

  /// A whole request that is in order.
  static func request(_ stream: UInt32) -> [UInt8] { headers(request, on: stream) }

  /// The same with further fields.
  static func request(with fields: [UInt8]..., on stream: UInt32 = 1) -> [UInt8] {
    headers(request + fields, on: stream)
  }
}

// MARK: - What the server sends

/// The frames that a server has sent on a connection of HTTP/2.
struct FrameObservation: Sendable {
  private(set) var statuses: [UInt32: Int] = [:]
  private(set) var resets: [UInt32: UInt32] = [:]
  private(set) var goAway: UInt32?
  private(set) var pongs: [[UInt8]] = []
  private(set) var acknowledgements = 0
  private(set) var ended: Set<UInt32> = []
  private(set) var isClosed = false

  init(_ bytes: [UInt8], isClosed: Bool) {
    self.isClosed = isClosed
    var rest = bytes[...]
    while rest.count >= 9 {
      let head = Array(rest.prefix(9))
      let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
      guard rest.count >= 9 + length else { return }
      let payload = Array(rest.dropFirst(9).prefix(length))
      rest = rest.dropFirst(9 + length)
      note(head[3], head[4], Self.number(head[5...]) & 0x7FFF_FFFF, payload)
    }
  }

  private mutating func note(_ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) {
    switch type {
    case 1: if let status = Self.status(payload), statuses[stream] == nil { statuses[stream] = status }
    case 3: resets[stream] = Self.number(payload[...])
    case 4: if flags & 1 != 0 { acknowledgements += 1 }
    case 6: if flags & 1 != 0 { pongs.append(payload) }
    case 7: if payload.count >= 8 { goAway = Self.number(payload[4...]) }
    default: break
    }
    if type < 2, flags & 1 != 0 { ended.insert(stream) }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The status is the first field of a response (RFC 9113 §8.3); RFC 7541 Appendix A has seven of them.
  private static func status(_ block: [UInt8]) -> Int? {
    // A change of the table's size comes first. RFC 7541 §6.3.
    var block = block
    while let first = block.first, first & 0xE0 == 0x20 {
      let isLong = first & 0x1F == 0x1F
      block.removeFirst()
      while isLong, let next = block.first {
        block.removeFirst()
        if next < 0x80 { break }
      }
    }
    guard let first = block.first else { return nil }
    let known: [UInt8: Int] = [0x88: 200, 0x89: 204, 0x8A: 206, 0x8B: 304, 0x8C: 400, 0x8D: 404, 0x8E: 500]
    if let status = known[first] { return status }
    guard [0x48, 0x08, 0x18].contains(first), block.count > 2 else { return nil }
    let text = block.dropFirst(2).prefix(Int(block[1] & 0x7F))
    return block[1] & 0x80 == 0 ? Int(String(decoding: text, as: UTF8.self)) : huffman(text)
  }

  /// The digits of RFC 7541 Appendix B: 0 to 2 have five bits, the others six.
  private static func huffman(_ bytes: ArraySlice<UInt8>) -> Int? {
    var bits = bytes.flatMap { byte in (0..<8).reversed().map { byte >> $0 & 1 } }[...]
    var number = 0
    for _ in 0..<3 {
      guard bits.count >= 5 else { return nil }
      let short = bits.prefix(5).reduce(0) { $0 << 1 | Int($1) }
      if short < 3 {
        (number, bits) = (number * 10 + short, bits.dropFirst(5))
      } else {
        let long = bits.prefix(6).reduce(0) { $0 << 1 | Int($1) }
        (number, bits) = (number * 10 + long - 0x19 + 3, bits.dropFirst(6))
      }
    }
    return number
  }

  /// Returns `true` if the outcome has come.
  func shows(_ outcome: FrameAttack.Outcome) -> Bool {
    switch outcome {
    case .ends: isClosed
    case .connection(let code): isClosed && goAway == code.rawValue
    case .stream(let stream, let code): resets[stream] == code.rawValue
    case .answered(let stream, let range): statuses[stream].map { range.contains($0) } ?? false
    case .pong(let bytes): pongs.contains(bytes)
    case .acknowledged(let count): acknowledgements >= count
    }
  }
}
