import HTTPTransport

/// An event in a `text/event-stream`.
struct ServerSentEvent: Hashable, Sendable {
  /// The type; `message` by default.
  let type: String
  let data: String
}

/// Parses a `text/event-stream` piece by piece. HTML, “Server-sent events”, §9.2.6. A value.
///
/// A line or an event over the limit is skipped; the following ones are parsed.
struct EventStreamParser: Sendable {
  /// The size limit of a line, and of an event's data, in bytes.
  static let limit = 1 << 20
  /// The size limit of an `id`, which is sent back to the server, in bytes.
  static let idLimit = 1 << 10

  /// The value for `Last-Event-ID`; empty before the first `id`.
  private(set) var lastEventID = ""
  /// The delay before reconnecting that the server asks for.
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

  /// Makes a parser for a new connection.
  ///
  /// - Parameter former: the parser of the last connection, whose incomplete line is dropped.
  init(after former: EventStreamParser) {
    lastEventID = former.lastEventID
    reconnectionTime = former.reconnectionTime
  }

  /// Returns the events that these bytes complete.
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
    // A comment, or an unknown field.
    default: break
    }
    return nil
  }

  private static func field(_ line: Substring) -> (name: Substring, value: Substring) {
    // By scalars, since a combining character may follow the colon or the space.
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
