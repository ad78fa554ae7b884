import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore
import ServerKit
import ServiceLifecycle

/// The routes of releases: the current one, the former ones, and a stream of switches.
extension Serving {
  /// The interval of heartbeats in a stream without events.
  private static let heartbeat: Duration = .seconds(15)

  func addReleases(to router: some RouterMethods<HostRequestContext>) {
    for path in ["/releases", "/releases/events"] as [RouterPath] {
      router.on(path, method: .options) { _, _ in ServedFields.preflight }
    }
    for method in [HTTPRequest.Method.get, .head] {
      router.on("/releases", method: method) { request, _ in try list(request.head) }
    }
    router.get("/releases/events") { request, _ in
      guard let changes = feed.changes() else {
        throw ServedError(
          status: .serviceUnavailable, reason: "the limit of clients that follow the releases is reached",
          fields: [.retryAfter: "60"])
      }
      return events(changes, after: request.headers[.lastEventID].flatMap { ReleaseEvent.ID($0) })
    }
  }

  private func list(_ request: HTTPRequest) throws -> Response {
    struct List: Encodable {
      let current: ReleaseEvent?
      /// The events, newest first.
      let history: [ReleaseEvent]
    }
    let history = feed.history
    let bytes = try List(current: history.last, history: history.reversed()).servedJSON()
    let content = try ServedContent(json: bytes)
    let representation = Representation(ByteBuffer(bytes: bytes), digests: content.digests)
    return ContentResponse(content: content).response(with: representation, to: request, now: .now)
  }

  /// Sends each client the events after the last one it has seen, as fast as it reads. Only its position is kept for a
  /// slow client.
  private func events(_ changes: AsyncStream<Void>, after seen: ReleaseEvent.ID?) -> Response {
    var fields: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
    ServedFields.allowAnyOrigin(&fields)
    let body = ResponseBody { [feed] writer in
      // A client that reconnects continues at its position; the comment makes the server send the header section.
      try await writer.write(ByteBuffer(string: ": releases\n\n"))
      var seen = seen
      for event in feed.events(after: seen) { try await send(event, &writer, &seen) }
      for await isHeartbeat in Self.wakes(changes, every: Self.heartbeat).cancelOnGracefulShutdown() {
        if isHeartbeat { try await writer.write(ByteBuffer(string: ":\n\n")) }
        for event in feed.events(after: seen) where event.id != seen { try await send(event, &writer, &seen) }
      }
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: fields, body: body)
  }

  private func send(
    _ event: ReleaseEvent, _ writer: inout any ResponseBodyWriter, _ seen: inout ReleaseEvent.ID?
  ) async throws {
    // Without line breaks the event is one line of data.
    let data = String(decoding: try event.servedJSON(), as: UTF8.self)
    try await writer.write(
      ByteBuffer(string: "event: \(event.isStatus ? "status" : "release")\nid: \(event.id)\ndata: \(data)\n\n"))
    seen = event.id
  }

  /// Yields `false` after each change, and `true` at intervals.
  static func wakes(_ changes: AsyncStream<Void>, every period: Duration) -> AsyncStream<Bool> {
    let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(2))
    let tasks = [
      Task {
        for await _ in changes { continuation.yield(false) }
        continuation.finish()
      },
      Task { while (try? await Task.sleep(for: period)) != nil { continuation.yield(true) } },
    ]
    continuation.onTermination = { _ in for task in tasks { task.cancel() } }
    return stream
  }
}

extension HTTPField.Name {
  /// HTML, “Server-sent events”.
  fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID") ?? .range
}
