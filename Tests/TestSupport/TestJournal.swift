import Fleet
import Synchronization

/// A journal in memory, and the connections of hosts to it, which can be cut.
package final class TestJournal: Sendable {
  private struct Follower {
    let host: String
    var next: UInt64
    let continuation: AsyncStream<JournalEntry>.Continuation
  }

  private struct State {
    var journal: Int64 = 1
    var first: UInt64 = 1
    var entries: [[UInt8]] = []
    var ids: [String: UInt64] = [:]
    var followers: [Int: Follower] = [:]
    var listeners: [String: AsyncStream<[UInt8]>.Continuation] = [:]
    var connections: [String: AsyncStream<Bool>.Continuation] = [:]
    var lastFollower = 0
    var cut: Set<String> = []
    var losesNextAnswer = false

    var last: UInt64 { first - 1 + UInt64(entries.count) }

    mutating func deliver() {
      for (id, follower) in followers where !cut.contains(follower.host) {
        var next = max(follower.next, first)
        while next <= last {
          follower.continuation.yield(JournalEntry(sequence: next, bytes: entries[Int(next - first)]))
          next += 1
        }
        followers[id]?.next = next
      }
    }
  }

  private let state = Mutex(State())

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
      state.deliver()
      return state.connections[host]
    }?.yield(true)
  }

  /// Appends the next entry, and does not say so.
  package func loseNextAnswer() { state.withLock { $0.losesNextAnswer = true } }

  /// Drops the oldest entries, up to a sequence.
  package func drop(through sequence: UInt64) {
    state.withLock { state in
      let count = Int(min(sequence, state.last) + 1 - state.first)
      state.entries.removeFirst(count)
      state.first += UInt64(count)
    }
  }

  /// Makes another journal under the same name.
  package func replace() {
    let followers = state.withLock { state in
      (state.journal, state.first, state.entries, state.ids) = (state.journal + 1, 1, [], [:])
      defer { state.followers = [:] }
      return state.followers.values
    }
    for follower in followers { follower.continuation.finish() }
  }

  package func append(_ order: FleetOrder) { _ = append(order.bytes, id: order.id) }

  @discardableResult
  private func append(_ bytes: [UInt8], id: String) -> UInt64 {
    state.withLock { state in
      if let known = state.ids[id] { return known }
      state.entries.append(bytes)
      state.ids[id] = state.last
      state.deliver()
      return state.last
    }
  }

  package var orders: [FleetOrder] { state.withLock { $0.entries.map { FleetOrder(reading: $0) } } }

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

    package func append(_ bytes: [UInt8], id: String) async throws -> UInt64 {
      try check()
      let sequence = journal.append(bytes, id: id)
      let isLost = journal.state.withLock { state in
        defer { state.losesNextAnswer = false }
        return state.losesNextAnswer
      }
      if isLost { throw JournalError.away("the answer was lost") }
      return sequence
    }

    package func span() async throws -> JournalSpan {
      try check()
      return journal.state.withLock { JournalSpan(journal: $0.journal, first: $0.first, last: $0.last) }
    }

    package func entries(after sequence: UInt64) async throws -> AsyncStream<JournalEntry> {
      try check()
      let (stream, continuation) = AsyncStream<JournalEntry>.makeStream()
      let id = journal.state.withLock { state in
        state.lastFollower += 1
        state.followers[state.lastFollower] = Follower(host: host, next: sequence + 1, continuation: continuation)
        state.deliver()
        return state.lastFollower
      }
      continuation.onTermination = { [journal] _ in
        journal.state.withLock { _ = $0.followers.removeValue(forKey: id) }
      }
      return stream
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
