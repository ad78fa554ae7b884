import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging
import Synchronization

/// Listens to a server's release events, and reconnects whenever the connection ends.
struct ReleaseListener: Sendable {
  let url: PageURL
  /// The manifest's URL.
  let source: PageURL
  let store: BundleStore
  let client: OriginClient
  let schedule: PreloadSchedule
  let sleep: @Sendable (Duration) async throws -> Void
  let logger: Logger

  /// The duration after which a connection counts as good, so that the next pause is short again.
  private static let proof: Duration = .seconds(10)

  /// The silence after which a connection is given up; renderhost sends bytes at least every 15 seconds.
  static let silence: Duration = .seconds(60)

  /// HTML, “Server-sent events”, §9.2.4.
  private static let lastEventID = HTTPField.Name("Last-Event-ID")

  private enum Fault: Error, CustomStringConvertible {
    case notEvents(PageURL, contentType: String?)
    case silent(PageURL)
    case ended(PageURL)

    var isPassing: Bool { if case .notEvents = self { false } else { true } }

    var description: String {
      switch self {
      case .notEvents(let url, let type):
        "\(url): expected text/event-stream, found \(type ?? "no Content-Type")"
      case .silent(let url): "\(url): nothing has come for \(ReleaseListener.silence.inSeconds)"
      case .ended(let url): "\(url): the server has ended the stream"
      }
    }
  }

  /// Returns when the task is cancelled, or when the server answers 204: HTML, “Server-sent events”, §9.2.3.
  ///
  /// - Parameter announce: called for each release that the store does not know, and for each other status of the one
  ///   that it knows, which is urgent.
  func listen(_ announce: @escaping @Sendable (_ isUrgent: Bool) -> Void) async {
    let stream = Stream()
    var failures = 0
    while !Task.isCancelled {
      let seenRecoveries = client.reachability.recovered.count
      let start = ContinuousClock.now
      do {
        guard let response = try await connect(after: stream.begin()) else { return }
        try await read(response.body, into: stream, announce)
      } catch {
        guard !Task.isCancelled else { return }
        failures = .now - start < Self.proof ? failures + 1 : 1
        logger.debug("release events: \(error.sentence)", metadata: ["failures": "\(failures)"])
        let pause = schedule.pause(
          after: failures, isPassing: (error as? Fault)?.isPassing ?? RetryPolicy.mayPass(error),
          asked: stream.reconnectionTime ?? RetryPolicy.retryAfter(error), jitter: .random(in: 0...1))
        let isOffline = client.reachability.setting == .offline
        await schedule.pause(
          isOffline ? nil : pause, until: [(client.reachability.recovered, seenRecoveries)], sleep: sleep)
      }
    }
  }

  private func connect(after id: String) async throws -> TransportResponse? {
    var fields: HTTPFields = [.accept: "text/event-stream", .cacheControl: "no-store"]
    if !id.isEmpty, let name = Self.lastEventID { fields[name] = id }
    var limits = client.limits
    // An event stream is slow and endless.
    (limits.lowSpeedBytesPerSecond, limits.total) = (0, nil)
    let response = try await client.send(.get, url, fields: fields, limits: limits)
    switch response.head.status.code {
    case 204: return nil
    case 200:
      let type = response.head.headerFields[.contentType]
      guard MediaType(type).name == "text/event-stream",
        [nil, "identity"].contains(response.head.headerFields[.contentEncoding])
      else { throw Fault.notEvents(url, contentType: type) }
      return response
    default: throw HTTPFault(response.head, url: url, now: .now)
    }
  }

  /// Reads events; throws when the stream has ended, or has been silent for too long.
  private func read(
    _ body: Body, into stream: Stream, _ announce: @escaping @Sendable (_ isUrgent: Bool) -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for try await chunk in body {
          for event in stream.receive(chunk) { if let isUrgent = await news(in: event) { announce(isUrgent) } }
        }
        throw Fault.ended(url)
      }
      group.addTask {
        while true {
          let seen = stream.heard
          try await Task.sleep(until: seen + Self.silence, clock: .continuous)
          if stream.heard == seen { throw Fault.silent(url) }
        }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// Returns whether the news of an event are urgent; `nil` if it has none. An event in another format than renderhost's
  /// counts as a release, so that the server is asked.
  private func news(in event: ServerSentEvent) async -> Bool? {
    guard case .object(let news)? = try? JSONValue(reading: Array(event.data.utf8)),
      let latest = try? await store.source(source)?.latest,
      news["release"] == .string(latest.name), news["sequence"] == .integer(latest.sequence)
    else { return false }
    switch news["status"] {
    case .integer(let status)?:
      // A host that has no status does not ask for one.
      guard let known = try? await store.trustRecord(of: source).statusSequence else { return nil }
      return status == known ? nil : true
    case nil, .null?: return nil
    default: return false
    }
  }
}

/// A listener's position in the server's events, across connections.
private final class Stream: Sendable {
  private let state = Mutex((parser: EventStreamParser(), heard: ContinuousClock.now))

  /// Begins a new connection.
  ///
  /// - Returns: the value of `Last-Event-ID`; empty for none.
  func begin() -> String {
    state.withLock { state in
      state.parser = EventStreamParser(after: state.parser)
      state.heard = .now
      return state.parser.lastEventID
    }
  }

  func receive(_ bytes: [UInt8]) -> [ServerSentEvent] {
    state.withLock { state in
      state.heard = .now
      return state.parser.receive(bytes)
    }
  }

  /// The time of the last bytes.
  var heard: ContinuousClock.Instant { state.withLock(\.heard) }
  var reconnectionTime: Duration? { state.withLock(\.parser.reconnectionTime) }
}

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
