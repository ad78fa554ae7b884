import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore
import ServerKit
import ServiceLifecycle

/// The routes of releases: the current one, the former ones, and a stream of switches.
struct ReleaseRoutes: Sendable {
  let feed: ReleaseFeed
  /// The interval of heartbeats in a stream without events.
  var heartbeat: Duration = .seconds(15)

  func add(to router: some RouterMethods<HostRequestContext>) {
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
    let answer = ContentAnswer(
      representation: representation, mediaType: content.mediaType, caching: ServedFields.revalidated, modified: nil)
    return answer.response(to: request, now: .now)
  }

  /// Sends each client the events after the last one it has seen, as fast as it reads. Only its position is kept for a
  /// slow client.
  private func events(_ changes: AsyncStream<Void>, after seen: ReleaseEvent.ID?) -> Response {
    var fields: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
    ServedFields.allowAnyOrigin(&fields)
    let body = ResponseBody { [feed, heartbeat] writer in
      let wakes = WakeStream(changes, every: heartbeat)
      defer { wakes.stop() }
      // A client that reconnects continues at its position; the comment makes the server send the header section.
      try await writer.write(ByteBuffer(string: ": releases\n\n"))
      var seen = seen
      for event in feed.events(after: seen) { try await send(event, &writer, &seen) }
      for await wake in wakes.stream.cancelOnGracefulShutdown() {
        if wake == .heartbeat { try await writer.write(ByteBuffer(string: ":\n\n")) }
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
}

extension HTTPField.Name {
  /// HTML, “Server-sent events”.
  fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID") ?? .range
}

/// Yields an element after each change, and at intervals without one.
struct WakeStream: Sendable {
  enum Wake: Sendable {
    case change
    case heartbeat
  }

  let stream: AsyncStream<Wake>
  private let tasks: [Task<Void, Never>]

  init(_ changes: AsyncStream<Void>, every period: Duration) {
    let (stream, continuation) = AsyncStream.makeStream(of: Wake.self, bufferingPolicy: .bufferingNewest(2))
    self.stream = stream
    tasks = [
      Task {
        for await _ in changes { continuation.yield(.change) }
        continuation.finish()
      },
      Task { while (try? await Task.sleep(for: period)) != nil { continuation.yield(.heartbeat) } },
    ]
  }

  func stop() { for task in tasks { task.cancel() } }
}
