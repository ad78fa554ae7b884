import HTTPTransport
import Synchronization

/// The latest events of a page, for its readers. Each reader has its own position; a slow one is told how many events
/// it has missed.
package final class EventLog: Sendable {
  package struct Event: Hashable, Sendable {
    /// Counts up from 1.
    package let id: Int
    package let name: String
    /// JSON.
    package let details: [UInt8]

    package init(id: Int, name: String, details: [UInt8]) { (self.id, self.name, self.details) = (id, name, details) }
  }

  package enum Batch: Hashable, Sendable {
    /// - Parameter missed: the number of events before these that were dropped.
    case events([Event], missed: Int)
    /// No event arrived within the time limit.
    case silence
    case ended
  }

  /// The limits of the events that are kept: their number, and their bytes. An event of more than half of the bytes is
  /// kept as ``longName``.
  package static let countLimit = 1_000
  package static let byteLimit = 256 << 10

  /// The name of an event that is too long to be kept; its details are its length.
  package static let longName = "changed"

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

  /// An object of the same page that ends with the log; `nil` for none.
  package let companion: (any EventLogCompanion)?

  package init(companion: (any EventLogCompanion)? = nil) { self.companion = companion }

  package var lastID: Int { state.withLock(\.lastID) }
  /// The number of current readers.
  package var watchers: Int { state.withLock(\.watchers) }

  package func append(_ name: String, _ details: [UInt8]) {
    state.withLock { state in
      guard !state.hasEnded else { return state.waiting.removeAll() }
      state.lastID += 1
      let isLong = details.count > Self.byteLimit / 2
      let kept = isLong ? Array("{\"bytes\":\(details.count)}".utf8) : details
      state.events.append(Event(id: state.lastID, name: isLong ? Self.longName : name, details: kept))
      state.bytes += kept.count
      while state.events.count > Self.countLimit || state.bytes > Self.byteLimit {
        state.bytes -= state.events.removeFirst().details.count
      }
      return state.waiting.removeAll()
    }.resume()
  }

  /// Marks the log as complete.
  package func end() {
    state.withLock { state in
      state.hasEnded = true
      return state.waiting.removeAll()
    }.resume()
    companion?.end()
  }

  /// - Returns: `false` if the limit of readers is reached.
  package func addWatcher(limit: Int) -> Bool {
    state.withLock { state in
      guard state.watchers < limit else { return false }
      state.watchers += 1
      return true
    }
  }

  package func removeWatcher() { state.withLock { $0.watchers -= 1 } }

  /// Returns the events after the one with an id; waits for the next one up to the time limit.
  package func next(after id: Int, within limit: Duration) async -> Batch {
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

/// An object that ends when the events of its page end.
package protocol EventLogCompanion: Sendable {
  func end()
}

/// The names of the events that the viewers of a page are sent. Others are names of the page's own events, such as
/// `navigate` and `message`.
package enum LiveEvent {
  /// A patch of the page's HTML.
  package static let patch = "patch"
  /// The viewer fetches the whole page.
  package static let again = "again"
  /// The page has ended, with the reason.
  package static let ended = "ended"
  /// The page's script has an error, which its author sees with the lines around it.
  package static let fault = "fault"
  /// The error is gone.
  package static let mended = "mended"
  /// The script asks the page's user: `{"id", "kind", "text", "buttons", "preset"}`, with the kind `alert`, `confirm` or
  /// `prompt`.
  package static let question = "question"
  /// The question of an id waits no longer.
  package static let answered = "answered"
  /// The overlay of the page's developer tools: `{"ref", "label", "picking"}`.
  package static let overlay = "overlay"
  /// An embedded page has changed. Developer tools alone hear of it.
  package static let embedded = "embedded"

  /// The name under which viewers are told of an event of their page; `nil` for one that they are not told of.
  package static func told(of event: String) -> String? {
    switch event {
    case patch, "navigate", "message", "exception": event
    case "failed": ended
    default: nil
    }
  }
}
