/// The ordered, durable log of a fleet: what all its hosts must learn, each thing once and in one order.
package protocol FleetJournal: Sendable {
  /// Appends an entry, and returns when the journal has it for certain.
  ///
  /// - Parameter id: lets the journal drop an entry that it has already: after an error the entry may have been appended,
  ///   and is appended again under the same id.
  /// - Returns: its sequence.
  /// - Throws: ``JournalError``.
  func append(_ bytes: [UInt8], id: String) async throws -> UInt64

  /// The sequences of the entries that the journal has now.
  ///
  /// - Throws: ``JournalError``.
  func span() async throws -> JournalSpan

  /// The entries after a sequence, in their order, and those that come. The stream ends if one was lost on the way.
  ///
  /// - Throws: ``JournalError``.
  func entries(after sequence: UInt64) async throws -> AsyncStream<JournalEntry>

  /// Sends a message that is not kept to the hosts that listen.
  ///
  /// - Parameter host: the name of the host that gets it; `nil` for all.
  /// - Throws: ``JournalError``.
  func send(_ bytes: [UInt8], to host: String?) async throws

  /// The messages to this host and to all, also its own. Those that nobody reads in time are dropped.
  ///
  /// - Throws: ``JournalError``.
  func messages() async throws -> AsyncStream<[UInt8]>

  /// The changes of the connection: `true` when a server answers, `false` when it is lost. It has one reader.
  var connections: AsyncStream<Bool> { get }
}

/// An entry of a journal.
package struct JournalEntry: Hashable, Sendable {
  package let sequence: UInt64
  package let bytes: [UInt8]

  package init(sequence: UInt64, bytes: [UInt8]) { (self.sequence, self.bytes) = (sequence, bytes) }
}

/// The sequences that a journal has. An empty one has a `first` above its `last`.
package struct JournalSpan: Hashable, Sendable {
  /// Tells a journal from one that was made later under the same name.
  package let journal: Int64
  package let first: UInt64
  package let last: UInt64

  package init(journal: Int64, first: UInt64, last: UInt64) {
    (self.journal, self.first, self.last) = (journal, first, last)
  }
}

/// The reason why a journal cannot be used.
package enum JournalError: Error, Hashable, CustomStringConvertible {
  /// No server answers, or none in time.
  case away(String)
  /// The library that connects to it is missing.
  case unavailable(String)
  /// Too many entries wait to be appended.
  case busy
  case failed(String)

  /// Repeats an operation until the journal answers.
  ///
  /// - Parameter patience: the time after which the error is thrown.
  package static func retryingWhileAway<Value>(
    for patience: Duration, _ work: () async throws -> Value
  ) async throws -> Value {
    let deadline = ContinuousClock.now + patience
    while true {
      do { return try await work() } catch JournalError.away(let reason) {
        guard ContinuousClock.now < deadline else { throw JournalError.away(reason) }
        try await Task.sleep(for: .milliseconds(50))
      }
    }
  }

  package var description: String {
    switch self {
    case .away(let reason): "the journal is away: \(reason)"
    case .unavailable(let reason): "the journal cannot be used: \(reason)"
    case .busy: "too many orders wait for the journal: give this one again later"
    case .failed(let reason): "the journal refuses: \(reason)"
    }
  }
}
