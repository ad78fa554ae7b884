import HTTPTransport

/// An event of a `text/event-stream`.
struct ServerSentEvent: Hashable, Sendable {
  /// `message` unless the stream names another.
  let type: String
  let data: String
}

/// Reads a `text/event-stream` piece by piece. HTML, “Server-sent events”, §9.2.6. A value.
///
/// A line or an event over the limit is skipped; what follows is read as usual.
struct EventStreamParser: Sendable {
  /// Bytes of a line, and of an event's data.
  static let limit = 1 << 20
  /// Bytes of an `id` that is sent back to the server.
  static let idLimit = 1 << 10

  /// What `Last-Event-ID` is to say; empty before the first `id`.
  private(set) var lastEventID = ""
  /// How long the server asks clients to wait before they connect again.
  private(set) var reconnectionTime: Duration?

  private var line: [UInt8] = []
  private var isLineTooLong = false
  private var followsCarriageReturn = false
  private var isFirstLine = true
  private var type = ""
  private var data = ""
  private var hasData = false
  private var isEventTooLong = false
  private var id: String?

  init() {}

  /// - Parameter former: of the connection before; half a line of it is no part of the new one.
  init(after former: EventStreamParser) {
    lastEventID = former.lastEventID
    reconnectionTime = former.reconnectionTime
  }

  /// The events that are complete with these bytes.
  mutating func receive(_ bytes: some Sequence<UInt8>) -> [ServerSentEvent] {
    var events: [ServerSentEvent] = []
    for byte in bytes {
      // A line ends with CR, LF, or both.
      let isSecondHalf = followsCarriageReturn && byte == UInt8(ascii: "\n")
      followsCarriageReturn = byte == UInt8(ascii: "\r")
      if isSecondHalf { continue }
      if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
        if let event = endLine() { events.append(event) }
      } else if line.count < Self.limit {
        line.append(byte)
      } else {
        isLineTooLong = true
      }
    }
    return events
  }

  private mutating func endLine() -> ServerSentEvent? {
    defer {
      line.removeAll(keepingCapacity: line.count < 64 << 10)
      isLineTooLong = false
      isFirstLine = false
    }
    if isLineTooLong {
      isEventTooLong = true
      return nil
    }
    var text = Substring(decoding: line, as: UTF8.self)
    if isFirstLine, text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
    if text.isEmpty { return dispatch() }
    let (name, value) = Self.field(text)
    switch name {
    case "event": type = String(value)
    case "data":
      guard data.utf8.count + value.utf8.count < Self.limit else {
        isEventTooLong = true
        break
      }
      if hasData { data += "\n" }
      data += value
      hasData = true
    case "id": if !value.contains("\0"), value.utf8.count <= Self.idLimit { id = String(value) }
    case "retry":
      if !value.isEmpty, value.utf8.allSatisfy({ (48...57).contains($0) }), let milliseconds = Int64(value) {
        reconnectionTime = .milliseconds(milliseconds)
      }
    // A comment, or a field of a later day.
    default: break
    }
    return nil
  }

  private static func field(_ line: Substring) -> (name: Substring, value: Substring) {
    // By scalars: a combining character may follow either.
    let scalars = line.unicodeScalars
    guard let colon = scalars.firstIndex(of: ":") else { return (line, "") }
    let value = scalars[scalars.index(after: colon)...]
    return (line[..<colon], Substring(value.first == " " ? value.dropFirst() : value))
  }

  private mutating func dispatch() -> ServerSentEvent? {
    defer { (type, data, hasData, isEventTooLong) = ("", "", false, false) }
    if let id { lastEventID = id }
    guard hasData, !isEventTooLong else { return nil }
    return ServerSentEvent(type: type.isEmpty ? "message" : type, data: data)
  }
}
