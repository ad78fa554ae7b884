import Fleet
import PageTesting
import Synchronization

/// A journal in memory, and the connections of hosts to it, which can be cut.
package final class TestJournal: Sendable {
  private struct Follower {
    let host: String
    var next: UInt64
    let continuation: AsyncStream<JournalEntry>.Continuation
  }

  private struct Log {
    var made: Int64 = 1
    var first: UInt64 = 1
    var entries: [JournalEntry] = []
    var ids: [String: UInt64] = [:]
    var followers: [Int: Follower] = [:]

    var last: UInt64 { first - 1 + UInt64(entries.count) }

    mutating func deliver(without cut: Set<String>) {
      for (id, follower) in followers where !cut.contains(follower.host) {
        var next = max(follower.next, first)
        while next <= last {
          follower.continuation.yield(entries[Int(next - first)])
          next += 1
        }
        followers[id]?.next = next
      }
    }
  }

  private struct State {
    var logs: [FleetLog: Log] = [:]
    var values: [String: (bytes: [UInt8], revision: UInt64)] = [:]
    var listeners: [String: AsyncStream<[UInt8]>.Continuation] = [:]
    var connections: [String: AsyncStream<Bool>.Continuation] = [:]
    var lastFollower = 0
    var lastTime: Int64 = 0
    var cut: Set<String> = []
    var losesNextAnswer = false
    var appends = 0
  }

  private let state = Mutex(State())
  /// Appends wait while it is `true`.
  private let isHeld = Monitor(false)

  package init() {}

  /// The connection of a host.
  package func connection(of host: String) -> Connection { Connection(host: host, journal: self) }

  package func cut(_ host: String) {
    state.withLock { state in
      state.cut.insert(host)
      return state.connections[host]
    }?.yield(false)
  }

  package func heal(_ host: String) {
    state.withLock { state in
      state.cut.remove(host)
      for log in state.logs.keys { state.logs[log]?.deliver(without: state.cut) }
      return state.connections[host]
    }?.yield(true)
  }

  /// Appends the next entry, and does not say so.
  package func loseNextAnswer() { state.withLock { $0.losesNextAnswer = true } }

  /// Lets appends wait until they are let go on.
  package func setHeld(_ isHeld: Bool) { self.isHeld.change { $0 = isHeld } }

  /// The number of appends that were asked for.
  package var appends: Int { state.withLock(\.appends) }

  /// Drops the oldest orders, up to a sequence.
  package func drop(through sequence: UInt64) {
    state.withLock { state in
      var log = state.logs[.orders] ?? Log()
      let count = Int(min(sequence, log.last) + 1 - log.first)
      log.entries.removeFirst(count)
      log.first += UInt64(count)
      state.logs[.orders] = log
    }
  }

  /// Makes another log of orders under the same name.
  package func replace() {
    change { log in
      log = Log(made: log.made + 1, followers: log.followers)
    }
  }

  /// Restores the log of orders to an earlier state.
  package func restore(through sequence: UInt64) {
    change { log in
      log.entries.removeLast(Int(log.last - sequence))
      log.ids = log.ids.filter { $0.value <= sequence }
    }
  }

  /// Changes the log of orders, which ends what is followed.
  private func change(_ body: (inout Log) -> Void) {
    let followers = state.withLock { state in
      var log = state.logs[.orders] ?? Log()
      body(&log)
      defer { state.logs[.orders] = log }
      defer { log.followers = [:] }
      return Array(log.followers.values)
    }
    for follower in followers { follower.continuation.finish() }
  }

  package func append(_ order: FleetOrder) { _ = append(order.bytes, id: order.id, to: .orders) }

  @discardableResult
  private func append(_ bytes: [UInt8], id: String, to name: FleetLog) -> UInt64 {
    state.withLock { state in
      var log = state.logs[name] ?? Log()
      if let known = log.ids[id] { return known }
      state.lastTime += 1
      log.entries.append(JournalEntry(sequence: log.last + 1, time: state.lastTime, bytes: bytes))
      log.ids[id] = log.last
      log.deliver(without: state.cut)
      state.logs[name] = log
      return log.last
    }
  }

  package var orders: [FleetOrder] { entries(of: .orders).map { FleetOrder(reading: $0) } }

  /// The batches of reports.
  package var reports: [[FleetOrder.Report]] { entries(of: .reports).map { [FleetOrder.Report](readingEntry: $0) } }

  private func entries(of log: FleetLog) -> [[UInt8]] {
    state.withLock { $0.logs[log]?.entries.map(\.bytes) ?? [] }
  }

  package struct Connection: FleetJournal {
    fileprivate let host: String
    fileprivate let journal: TestJournal
    package let connections: AsyncStream<Bool>

    fileprivate init(host: String, journal: TestJournal) {
      (self.host, self.journal) = (host, journal)
      let (connections, changes) = AsyncStream<Bool>.makeStream(bufferingPolicy: .bufferingNewest(16))
      self.connections = connections
      journal.state.withLock { $0.connections[host] = changes }
    }

    private func check() throws {
      if journal.state.withLock({ $0.cut.contains(host) }) { throw JournalError.away("it is cut") }
    }

    package func append(_ bytes: [UInt8], id: String, to log: FleetLog) async throws -> UInt64 {
      try check()
      journal.state.withLock { $0.appends += 1 }
      try await journal.isHeld.wait(within: .seconds(60)) { !$0 }
      let sequence = journal.append(bytes, id: id, to: log)
      let isLost = journal.state.withLock { state in
        defer { state.losesNextAnswer = false }
        return state.losesNextAnswer
      }
      if isLost { throw JournalError.away("the answer was lost") }
      return sequence
    }

    package func span(of name: FleetLog) async throws -> JournalSpan {
      try check()
      return journal.state.withLock { state in
        let log = state.logs[name] ?? Log()
        return JournalSpan(journal: log.made, first: log.first, last: log.last, time: log.entries.last?.time)
      }
    }

    package func entries(after sequence: UInt64, of log: FleetLog) async throws -> AsyncStream<JournalEntry> {
      try check()
      let (stream, continuation) = AsyncStream<JournalEntry>.makeStream()
      let id = journal.state.withLock { state in
        state.lastFollower += 1
        let follower = Follower(host: host, next: sequence + 1, continuation: continuation)
        state.logs[log, default: Log()].followers[state.lastFollower] = follower
        state.logs[log]?.deliver(without: state.cut)
        return state.lastFollower
      }
      continuation.onTermination = { [journal] _ in
        journal.state.withLock { _ = $0.logs[log]?.followers.removeValue(forKey: id) }
      }
      return stream
    }

    package func value(of key: String) async throws -> (bytes: [UInt8], revision: UInt64)? {
      try check()
      return journal.state.withLock { $0.values[key] }
    }

    package func replace(_ key: String, _ revision: UInt64?, with bytes: [UInt8]) async throws -> UInt64? {
      try check()
      return journal.state.withLock { state in
        guard state.values[key]?.revision == revision else { return nil }
        let next = (revision ?? 0) + 1
        state.values[key] = (bytes, next)
        return next
      }
    }

    package func send(_ bytes: [UInt8], to receiver: String?) async throws {
      try check()
      let listeners = journal.state.withLock { state in
        state.listeners.filter { !state.cut.contains($0.key) && (receiver == nil || receiver == $0.key) }.values
      }
      for listener in listeners { listener.yield(bytes) }
    }

    package func messages() async throws -> AsyncStream<[UInt8]> {
      let (stream, continuation) = AsyncStream<[UInt8]>.makeStream()
      journal.state.withLock { $0.listeners[host] = continuation }
      return stream
    }
  }
}
