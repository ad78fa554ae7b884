import Foundation
import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore
import PageKit
import ServiceLifecycle
import Synchronization

/// The latest events of a page, for its readers. Each reader has its own position; a slow one is told how many events
/// it has missed.
final class EventLog: Sendable {
  struct Event: Hashable, Sendable {
    /// Counts up from 1.
    let id: Int
    let name: String
    /// JSON.
    let details: [UInt8]
  }

  enum Batch: Hashable, Sendable {
    /// - Parameter missed: the number of events before these that were dropped.
    case events([Event], missed: Int)
    /// No event arrived within the time limit.
    case silence
    case ended
  }

  /// The limits of the events that are kept: their number, and their bytes.
  static let countLimit = 1_000
  static let byteLimit = 256 << 10

  private struct State {
    var events: [Event] = []
    var bytes = 0
    var lastID = 0
    var hasEnded = false
    /// The readers that wait for the next event.
    var waiting = WaitList()
    var watchers = 0
  }

  private let state = Mutex(State())
  /// The requests of the page, for its developer tools; `nil` if these cannot attach.
  let traffic: PageTraffic?

  init(traffic: PageTraffic? = nil) { self.traffic = traffic }

  var lastID: Int { state.withLock(\.lastID) }
  /// The number of current readers.
  var watchers: Int { state.withLock(\.watchers) }

  func append(_ name: String, _ details: [UInt8]) {
    state.withLock { state in
      guard !state.hasEnded else { return state.waiting.removeAll() }
      state.lastID += 1
      let isLong = details.count > Self.byteLimit / 2
      let kept = isLong ? Array("{\"bytes\":\(details.count)}".utf8) : details
      state.events.append(Event(id: state.lastID, name: isLong ? "changed" : name, details: kept))
      state.bytes += kept.count
      while state.events.count > Self.countLimit || state.bytes > Self.byteLimit {
        state.bytes -= state.events.removeFirst().details.count
      }
      return state.waiting.removeAll()
    }.resume()
  }

  /// Marks the log as complete.
  func end() {
    state.withLock { state in
      state.hasEnded = true
      return state.waiting.removeAll()
    }.resume()
    traffic?.log.end()
  }

  /// - Returns: `false` if the limit of readers is reached.
  func addWatcher(limit: Int) -> Bool {
    state.withLock { state in
      guard state.watchers < limit else { return false }
      state.watchers += 1
      return true
    }
  }

  func removeWatcher() { state.withLock { $0.watchers -= 1 } }

  /// Returns the events after the one with an id; waits for the next one up to the time limit.
  func next(after id: Int, within limit: Duration) async -> Batch {
    if let batch = batch(after: id) { return batch }
    _ = try? await within(limit) { [self] in
      await state.wait(in: \.waiting) { $0.lastID > id || $0.hasEnded }
    }
    return batch(after: id) ?? .silence
  }

  private func batch(after id: Int) -> Batch? {
    state.withLock { state in
      // An id that was never given out belongs to another page: this reader starts from the first event.
      let id = id > state.lastID ? 0 : id
      let events = state.events.drop { $0.id <= id }
      if let first = events.first { return .events(Array(events), missed: first.id - id - 1) }
      return state.hasEnded ? .ended : nil
    }
  }
}

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
