import HTTPTypes
import Hummingbird
import LivePages
import NIOCore
import ServiceLifecycle

extension PageRoutes {
  /// The number of clients that may read one page's events at once.
  private static let watcherLimit = 32

  /// Sends the events of a page as server-sent events: WHATWG HTML §9.2.
  func events(_ request: Request, _ id: String) async throws -> Response {
    events(of: try await directory.page(id).log, for: request)
  }

  /// Sends the events of a log, from the one on that the reader has.
  func events(of log: EventLog, for request: Request) -> Response {
    let start = Self.lastEvent(of: request)
    let heartbeat = heartbeat
    return Self.eventStream(of: [log]) { writer in
      var place = start
      while !Task.isCancelled {
        switch await log.next(after: place, within: heartbeat) {
        case .ended: return
        case .silence: try await writer.write(ByteBuffer(string: ":\n\n"))
        case .events(let events, let missed):
          var buffer = ByteBuffer()
          if missed > 0 { buffer.writeString("event: missed\ndata: {\"events\":\(missed)}\n\n") }
          buffer.writeImmutableBuffer(ByteBuffer(events))
          place = events.last?.id ?? place
          try await writer.write(buffer)
        }
      }
    }
  }

  /// The id of the last event that a reader has.
  static func lastEvent(of request: Request) -> Int {
    // A browser sends the field when it connects again; a script may give the id in the URL.
    let last =
      HTTPField.Name("Last-Event-ID").flatMap { request.headers[$0] }
      ?? request.uri.queryParameters["lastEventId"].map(String.init)
    return max(0, last.flatMap { Int($0) } ?? 0)
  }

  /// The response with a stream of events for one more reader of each of the logs, if there is room.
  ///
  /// - Parameter body: writes the events.
  static func eventStream(
    of logs: [EventLog], _ body: @escaping @Sendable (inout any ResponseBodyWriter) async throws -> Void
  ) -> Response {
    let stream = ResponseBody { writer in
      let read = logs.prefix { $0.addWatcher(limit: Self.watcherLimit) }
      defer { for log in read { log.removeWatcher() } }
      guard read.count == logs.count else {
        try await writer.write(ByteBuffer(string: "event: busy\ndata: {\"watchers\":\(Self.watcherLimit)}\n\n"))
        return try await writer.finish(nil)
      }
      try await writer.write(ByteBuffer(string: "retry: 1000\n\n"))
      // A daemon that shuts down does not wait for readers.
      try await withGracefulShutdownHandler {
        try await body(&writer)
      } onGracefulShutdown: {
        for log in logs { log.end() }
      }
      try await writer.finish(nil)
    }
    return Response(
      status: .ok, headers: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store"], body: stream)
  }
}

extension ByteBuffer {
  /// Server-sent events.
  init(_ events: [EventLog.Event]) {
    self.init()
    for event in events { write(event) }
  }

  private mutating func write(_ event: EventLog.Event) {
    writeString("id: \(event.id)\nevent: \(event.name.filter { $0.isLetter })\n")
    for line in event.details.split(separator: 10, omittingEmptySubsequences: false) {
      writeString("data: ")
      writeBytes(line.filter { $0 != 13 })
      writeString("\n")
    }
    writeString("\n")
  }
}
