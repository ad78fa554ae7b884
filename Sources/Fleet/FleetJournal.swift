import Foundation

/// The storage that the hosts of a fleet share: ordered, durable logs of entries, and values by key.
package protocol FleetJournal: Sendable {
  /// Appends an entry, and returns when the log has it for certain.
  ///
  /// - Parameter id: lets the log drop an entry that it has already: after an error the entry may have been appended,
  ///   and is appended again under the same id.
  /// - Returns: its sequence.
  /// - Throws: ``JournalError``.
  func append(_ bytes: [UInt8], id: String, to log: FleetLog) async throws -> UInt64

  /// The sequences of the entries that a log has now.
  ///
  /// - Throws: ``JournalError``.
  func span(of log: FleetLog) async throws -> JournalSpan

  /// The entries after a sequence, in their order, and those that come. The stream ends if one was lost on the way, or
  /// may have been.
  ///
  /// - Throws: ``JournalError``.
  func entries(after sequence: UInt64, of log: FleetLog) async throws -> AsyncStream<JournalEntry>

  /// - Parameter key: letters, digits, hyphens and underscores.
  /// - Returns: the value, and the revision that it is replaced by; `nil` if there is no such key.
  /// - Throws: ``JournalError``.
  func value(of key: String) async throws -> (bytes: [UInt8], revision: UInt64)?

  /// Replaces the value of a key.
  ///
  /// - Parameter revision: the value's revision; `nil` for a key that is not there.
  /// - Returns: the new revision; `nil` if the key has another one.
  /// - Throws: ``JournalError``; the value may have been replaced even so.
  func replace(_ key: String, _ revision: UInt64?, with bytes: [UInt8]) async throws -> UInt64?

  /// Sends a message that is not kept to the hosts that listen.
  ///
  /// - Parameter host: the name of the host that gets it; `nil` for all.
  /// - Throws: ``JournalError``.
  func send(_ bytes: [UInt8], to host: String?) async throws

  /// The messages to this host and to all, also its own. Those that are not read in time are dropped.
  ///
  /// - Throws: ``JournalError``.
  func messages() async throws -> AsyncStream<[UInt8]>

  /// The changes of the connection: `true` when a server answers, `false` when it is lost. It has one reader.
  var connections: AsyncStream<Bool> { get }
}

/// A log of a journal.
package enum FleetLog: String, Hashable, Sendable, CaseIterable {
  /// The orders, which all hosts carry out in one order: ``FleetOrder``.
  case orders
  /// Reports of installs, in batches. No order is behind them.
  case reports
}

/// An entry of a log.
package struct JournalEntry: Hashable, Sendable {
  package let sequence: UInt64
  /// When the log got it, in nanoseconds since 1970. With the sequence it tells an entry from one that has its place in a
  /// log which was restored to an earlier state.
  package let time: Int64
  package let bytes: [UInt8]

  package init(sequence: UInt64, time: Int64, bytes: [UInt8]) {
    (self.sequence, self.time, self.bytes) = (sequence, time, bytes)
  }
}

/// The sequences that a log has. An empty one has a `first` above its `last`.
package struct JournalSpan: Hashable, Sendable {
  /// When the log was made, in nanoseconds since 1970: tells it from one that was made later under the same name.
  package let journal: Int64
  package let first: UInt64
  package let last: UInt64
  /// ``JournalEntry/time`` of the last entry; `nil` if there is none.
  package let time: Int64?

  package init(journal: Int64, first: UInt64, last: UInt64, time: Int64?) {
    (self.journal, self.first, self.last) = (journal, first, last)
    self.time = first <= last ? time : nil
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

/// The servers of a fleet's journal, a NATS cluster, and how to connect to them.
package struct NATSServers: Hashable, Sendable {
  /// The URLs, such as `nats://10.0.0.1:4222` or, for TLS, `tls://…`. One may have a user and a password, or a token.
  package let urls: [String]
  /// A file with the user's credentials, as `nsc` writes them; `nil` for none.
  package let credentials: String?
  /// The PEM file of the authorities whose certificates are trusted, for TLS; `nil` for the system's.
  package let authorities: String?

  /// The most servers of a cluster.
  package static let limit = 64

  package static let expected = "the URL of a NATS server, such as nats://10.0.0.1:4222"

  /// - Returns: `nil` if one of the texts is no URL of a server.
  package init?(_ urls: [String], credentials: String? = nil, authorities: String? = nil) {
    guard (1...Self.limit).contains(urls.count), urls.allSatisfy(Self.isServer) else { return nil }
    (self.urls, self.credentials, self.authorities) = (urls, credentials, authorities)
  }

  private static func isServer(_ text: String) -> Bool {
    guard let parts = URLComponents(string: text), let scheme = parts.scheme, ["nats", "tls"].contains(scheme) else {
      return false
    }
    return parts.host?.isEmpty == false && ["", "/"].contains(parts.path) && parts.query == nil && parts.fragment == nil
  }

  /// The URLs without users, passwords and tokens, for people.
  package var places: [String] {
    urls.map { url in
      guard var parts = URLComponents(string: url) else { return "" }
      (parts.user, parts.password) = (nil, nil)
      return parts.string ?? ""
    }
  }
}

/// The name of a fleet or of a host: 1 to 32 letters, digits, hyphens and underscores.
package struct FleetName: Hashable, Sendable, CustomStringConvertible {
  package let text: String
  package var description: String { text }

  package static let expected = "1 to 32 letters, digits, hyphens and underscores"

  /// - Returns: `nil` for a text that is no such name.
  package init?(_ text: String) {
    let bytes = text.utf8
    guard (1...32).contains(bytes.count), bytes.allSatisfy(Self.isAllowed) else { return nil }
    self.text = text
  }

  /// The name of this machine, with hyphens for what a name may not have.
  package static var ofThisMachine: FleetName {
    let first = ProcessInfo.processInfo.hostName.utf8.prefix { $0 != UInt8(ascii: ".") }.prefix(32)
    let text = String(decoding: first.map { isAllowed($0) ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
    return FleetName(text) ?? FleetName(checked: "host")
  }

  private init(checked text: String) { self.text = text }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
