import HTTPTypes
import Hummingbird
import NIOCore
import PageKit
import ServiceLifecycle

extension PageRoutes {
  /// The number of clients that may read one page's events at once.
  private static let watcherLimit = 32

  /// Sends the events of a page as server-sent events: WHATWG HTML §9.2.
  func events(_ request: Request, _ id: String) async throws -> Response {
    let log = try await directory.page(id).log
    // A browser sends the field when it connects again; a script may give the id in the URL.
    let last =
      HTTPField.Name("Last-Event-ID").flatMap { request.headers[$0] }
      ?? request.uri.queryParameters["lastEventId"].map(String.init)
    let start = last.flatMap { Int($0) } ?? 0
    let heartbeat = heartbeat
    let body = ResponseBody { writer in
      guard log.addWatcher(limit: Self.watcherLimit) else {
        try await writer.write(ByteBuffer(string: "event: busy\ndata: {\"watchers\":\(Self.watcherLimit)}\n\n"))
        return try await writer.finish(nil)
      }
      defer { log.removeWatcher() }
      var place = max(0, start)
      try await writer.write(ByteBuffer(string: "retry: 1000\n\n"))
      // A daemon that shuts down does not wait for readers.
      try await withGracefulShutdownHandler {
        reading: while !Task.isCancelled {
          switch await log.next(after: place, within: heartbeat) {
          case .ended: break reading
          case .silence: try await writer.write(ByteBuffer(string: ":\n\n"))
          case .events(let events, let missed):
            var buffer = ByteBuffer()
            if missed > 0 { buffer.writeString("event: missed\ndata: {\"events\":\(missed)}\n\n") }
            for event in events { buffer.write(event) }
            place = events.last?.id ?? place
            try await writer.write(buffer)
          }
        }
      } onGracefulShutdown: {
        log.end()
      }
      try await writer.finish(nil)
    }
    return Response(
      status: .ok, headers: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-store"], body: body)
  }
}

extension ByteBuffer {
  fileprivate mutating func write(_ event: EventLog.Event) {
    writeString("id: \(event.id)\nevent: \(event.name.filter { $0.isLetter })\n")
    for line in event.details.split(separator: 10, omittingEmptySubsequences: false) {
      writeString("data: ")
      writeBytes(line.filter { $0 != 13 })
      writeString("\n")
    }
    writeString("\n")
  }
}
