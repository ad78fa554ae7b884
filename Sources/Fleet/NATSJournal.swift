import CNATS
import Foundation
import HTTPTransport
import Synchronization

/// A journal in streams of NATS JetStream, which are made when they are first used.
///
/// libnats keeps the connection, also to the other servers of a cluster, and delivers in order. Its functions wait, so
/// that they run on queues of their own.
package final class NATSJournal: FleetJournal {
  package let connections: AsyncStream<Bool>
  private let connected: Mutex<(connection: Connection, since: ContinuousClock.Instant)>
  private let open: @Sendable (_ refusal: String?) throws -> Connection
  private let fleet: FleetName
  private let host: FleetName
  private let replicas: Int64
  /// The logs whose streams are known to be there.
  private let made = Mutex<Set<FleetLog>>([])
  private let questions = DispatchQueue(label: "pagekit.journal.questions")
  /// Work that may wait, so that no question about orders waits behind it.
  private let others = DispatchQueue(label: "pagekit.journal.others")
  private let appends: [DispatchQueue]
  private let gate: FairGate<Int>

  /// The time between two attempts to connect to servers that refuse the connection.
  private static let pause: Duration = .seconds(1)
  /// The entries and messages that wait for a reader.
  private static let bufferLimit = 8_192
  /// The entries that are appended at once, and those that wait for their turn.
  private static let (width, waitingLimit) = (4, 256)
  /// The longest wait for an answer.
  private static let patience: Duration = .seconds(2)
  /// The time that a new stream keeps its entries for.
  private static let keptTime: Duration = .seconds(7 * 86_400)
  /// The servers that have an entry before it counts as appended, at most.
  private static let replicaLimit = 3

  private func stream(of log: FleetLog) -> String {
    switch log {
    case .orders: "PAGEKIT_\(fleet)"
    // A fleet may be called a_REPORTS.
    case .reports: "PAGEKIT-REPORTS_\(fleet)"
    }
  }

  private func subject(of log: FleetLog) -> String { "pagekit.\(fleet).\(log.rawValue)" }

  /// The bytes that a new stream keeps; beyond them, or when they are too old, the oldest entries go.
  private func keptBytes(of log: FleetLog) -> Int64 {
    switch log {
    case .orders: 256 << 20
    case .reports: 64 << 20
    }
  }

  private var messagesToAll: String { "pagekit-messages.\(fleet).all" }
  private func messages(to host: String) -> String { "pagekit-messages.\(fleet).to.\(host)" }

  /// - Throws: ``JournalError/unavailable(_:)``, ``JournalError/failed(_:)``. Servers that do not answer are asked again
  ///   until one does.
  package init(_ servers: NATSServers, fleet: FleetName, host: FleetName) throws {
    (self.fleet, self.host) = (fleet, host)
    replicas = servers.urls.count < Self.replicaLimit ? 1 : Int64(Self.replicaLimit)
    appends = (0..<Self.width).map { DispatchQueue(label: "pagekit.journal.appends.\($0)") }
    gate = FairGate(width: Self.width, limit: Self.waitingLimit)
    let (connections, changed) = AsyncStream<Bool>.makeStream(bufferingPolicy: .bufferingNewest(16))
    self.connections = connections
    let name = "renderhost \(host)"
    let open = { @Sendable in try Connection(servers, name: name, refusal: $0, changed) }
    connected = Mutex((try open(nil), .now))
    self.open = open
  }

  /// The connection; a new one if the servers have refused it, as for a password or a certificate that they may accept
  /// later.
  private var connection: Connection {
    get throws {
      try connected.withLock { connected in
        if connected.connection.isClosed, ContinuousClock.now - connected.since > Self.pause {
          connected = (try open(connected.connection.refusal), .now)
        }
        return connected.connection
      }
    }
  }

  // MARK: Entries

  package func append(_ bytes: [UInt8], id: String, to log: FleetLog) async throws -> UInt64 {
    let pass: FairGate<Int>.Pass
    do {
      pass = try await gate.enter(for: 0, until: .now + Self.patience)
    } catch is FairGate<Int>.Refusal {
      throw JournalError.busy
    }
    defer { gate.leave(pass) }
    let queue = appends[Int(UniqueNumber.next() % UInt64(Self.width))]
    return try await queue.result { [self] in
      try makeStream(log)
      var sequence: UInt64 = 0
      let subject = subject(of: log)
      do {
        try connection.call { nats, error, room in
          pk_nats_append(
            nats, subject, id, Int64(Self.patience.milliseconds), bytes, Int32(bytes.count), &sequence, error, room)
        }
      } catch {
        // The stream may have been removed: no server answers then.
        made.withLock { _ = $0.remove(log) }
        throw error
      }
      return sequence
    }
  }

  private func queue(of log: FleetLog) -> DispatchQueue { log == .orders ? questions : others }

  package func span(of log: FleetLog) async throws -> JournalSpan {
    try await queue(of: log).result { [self] in
      try makeStream(log)
      do {
        return try spanOfStream(log)
      } catch StreamFault.missing {
        // Somebody has removed it.
        made.withLock { _ = $0.remove(log) }
        try makeStream(log)
        return try spanOfStream(log)
      }
    }
  }

  private func spanOfStream(_ log: FleetLog) throws -> JournalSpan {
    var span = pk_nats_span()
    let stream = stream(of: log)
    try connection.call { nats, error, room in
      pk_nats_get_span(nats, stream, Int64(Self.patience.milliseconds), &span, error, room)
    }
    return JournalSpan(journal: span.made, first: span.first, last: span.last, time: span.time)
  }

  private func makeStream(_ log: FleetLog) throws {
    guard !made.withLock({ $0.contains(log) }) else { return }
    try stream(of: log).withCString { name in
      try subject(of: log).withCString { subject in
        var stream = pk_nats_stream()
        (stream.name, stream.subject, stream.replicas) = (name, subject, replicas)
        (stream.bytes, stream.age) = (keptBytes(of: log), Int64(Self.keptTime.milliseconds) * 1_000_000)
        try connection.call { nats, error, room in pk_nats_make_stream(nats, &stream, error, room) }
      }
    }
    made.withLock { _ = $0.insert(log) }
  }

  package func entries(after sequence: UInt64, of log: FleetLog) async throws -> AsyncStream<JournalEntry> {
    let (entries, continuation) = AsyncStream<JournalEntry>.makeStream(
      bufferingPolicy: .bufferingOldest(Self.bufferLimit))
    let deliveries = Atomic<UInt64>(0)
    let receiver = Receiver { place, bytes in
      // libnats begins anew by itself where the server has forgotten how far it was, also in a stream that was restored.
      let isNext = place.delivery == deliveries.add(1, ordering: .relaxed).newValue
      guard isNext else { return continuation.finish() }
      let entry = JournalEntry(sequence: place.sequence, time: place.time, bytes: bytes)
      // After a lost one the others would be out of order.
      if case .dropped = continuation.yield(entry) { continuation.finish() }
    } whenEnded: {
      continuation.finish()
    }
    let queue = queue(of: log)
    try await queue.result { [self] in
      let (stream, subject) = (stream(of: log), subject(of: log))
      let subscription = try connection.subscription(receiver) { nats, message, end, context, out, error, room in
        pk_nats_follow(nats, stream, subject, sequence &+ 1, message, end, context, out, error, room)
      }
      continuation.onTermination = { _ in queue.async { subscription.stop() } }
    }
    return entries
  }

  // MARK: Messages

  package func send(_ bytes: [UInt8], to host: String?) async throws {
    let subject = host.map { messages(to: $0) } ?? messagesToAll
    try await questions.result { [self] in
      try connection.call { nats, error, room in
        pk_nats_send(nats, subject, bytes, Int32(bytes.count), error, room)
      }
    }
  }

  package func messages() async throws -> AsyncStream<[UInt8]> {
    let (messages, continuation) = AsyncStream<[UInt8]>.makeStream(bufferingPolicy: .bufferingNewest(Self.bufferLimit))
    try await questions.result { [self] in
      let (connection, subjects) = (try connection, [messagesToAll, self.messages(to: host.text)])
      var subscriptions: [Subscription] = []
      do {
        for subject in subjects {
          let receiver = Receiver { _, bytes in
            continuation.yield(bytes)
          } whenEnded: {
            continuation.finish()
          }
          subscriptions.append(
            try connection.subscription(receiver) { nats, message, end, context, out, error, room in
              pk_nats_listen(nats, subject, message, end, context, out, error, room)
            })
        }
      } catch {
        for subscription in subscriptions { subscription.stop() }
        throw error
      }
      continuation.onTermination = { [questions, subscriptions] _ in
        questions.async { for subscription in subscriptions { subscription.stop() } }
      }
    }
    return messages
  }
}

// MARK: - Keys

extension NATSJournal {
  private var bucket: String { "pagekit_\(fleet)" }

  package func value(of key: String) async throws -> (bytes: [UInt8], revision: UInt64)? {
    try await others.result { [self] in
      var (revision, bytes, count): (UInt64, UnsafeMutableRawPointer?, Int32) = (0, nil, 0)
      do {
        try connection.call { nats, error, room in
          pk_nats_get_key(nats, bucket, key, &revision, &bytes, &count, error, room)
        }
      } catch StreamFault.missing {
        return nil
      }
      defer { free(bytes) }
      return (Array(UnsafeRawBufferPointer(start: bytes, count: Int(count))), revision)
    }
  }

  package func replace(_ key: String, _ revision: UInt64?, with bytes: [UInt8]) async throws -> UInt64? {
    try await others.result { [self] in
      var revision = revision ?? 0
      do {
        try connection.call { nats, error, room in
          pk_nats_replace_key(
            nats, bucket, Int32(replicas), key, &revision, bytes, Int32(bytes.count), error, room)
        }
      } catch StreamFault.conflict {
        return nil
      }
      return revision
    }
  }
}

// MARK: - libnats

private enum StreamFault: Error, CustomStringConvertible {
  /// There is no such stream, or no such key.
  case missing
  /// The key has another revision.
  case conflict

  var description: String {
    switch self {
    case .missing: "the journal has lost its stream"
    case .conflict: "the journal has another value"
    }
  }
}

/// The receiver of a subscription's messages. libnats calls it on a thread of its own.
private final class Receiver: Sendable {
  let receive: @Sendable (_ place: pk_nats_place, _ bytes: [UInt8]) -> Void
  let end: @Sendable () -> Void

  init(
    _ receive: @escaping @Sendable (_ place: pk_nats_place, _ bytes: [UInt8]) -> Void,
    whenEnded end: @escaping @Sendable () -> Void
  ) {
    (self.receive, self.end) = (receive, end)
  }
}

/// `@unchecked Sendable`: libnats has locks of its own.
private struct Subscription: @unchecked Sendable {
  fileprivate let pointer: OpaquePointer
  /// Its connection must outlive it.
  fileprivate let connection: Connection

  /// Ends it. It is to be called once.
  func stop() { pk_nats_stop(pointer) }
}

/// A connection of libnats, which is closed with the last reference to it.
///
/// `@unchecked Sendable`: libnats has locks of its own, and the pointer never changes.
private final class Connection: @unchecked Sendable {
  private let pointer: OpaquePointer
  private let state: Unmanaged<StateReceiver>
  /// The reasons why there is no connection, since a server has answered: the last one of the connection before, and
  /// its own.
  private let reasons: Mutex<(former: String?, own: String?)>

  private final class StateReceiver: Sendable {
    let changed: AsyncStream<Bool>.Continuation
    init(_ changed: AsyncStream<Bool>.Continuation) { self.changed = changed }
  }

  /// The bytes of an error's text.
  private static let errorRoom = 512

  /// - Parameter refusal: the reason for which servers have refused the connection before.
  init(
    _ servers: NATSServers, name: String, refusal: String?, _ changed: AsyncStream<Bool>.Continuation
  ) throws {
    reasons = Mutex((refusal, nil))
    let state = Unmanaged.passRetained(StateReceiver(changed))
    let texts = [servers.urls.joined(separator: ","), name, servers.credentials, servers.authorities].map { text in
      text.map { strdup($0) }
    }
    defer { for text in texts { free(text ?? nil) } }
    func text(_ index: Int) -> UnsafePointer<CChar>? { (texts[index] ?? nil).map { UnsafePointer($0) } }
    var settings = pk_nats_settings()
    (settings.servers, settings.name) = (text(0), text(1))
    (settings.credentials, settings.authorities) = (text(2), text(3))
    var opened: OpaquePointer?
    do {
      try Self.call { error, room in
        pk_nats_open(
          &opened, &settings,
          { context, isConnected in
            guard let context else { return }
            Unmanaged<StateReceiver>.fromOpaque(context).takeUnretainedValue().changed.yield(isConnected)
          }, state.toOpaque(), error, room)
      }
      guard let opened else { throw JournalError.failed("there is no connection") }
      (pointer, self.state) = (opened, state)
    } catch {
      state.release()
      throw error
    }
  }

  deinit {
    let (pointer, state) = (UInt(bitPattern: pointer), state)
    // It waits for the connection's threads, of which this may be one.
    DispatchQueue(label: "pagekit.journal.end").async {
      if let pointer = OpaquePointer(bitPattern: pointer) { pk_nats_close(pointer) }
      state.release()
    }
  }

  /// `true` if it is not made again by itself.
  var isClosed: Bool { pk_nats_is_closed(pointer) }

  /// The last reason why there was no connection; `nil` since a server has answered.
  var refusal: String? { reasons.withLock { $0.own ?? $0.former } }

  /// - Throws: ``JournalError``, ``StreamFault``.
  func call(_ body: (OpaquePointer, UnsafeMutablePointer<CChar>?, Int) -> pk_nats_result) throws {
    do {
      try Self.call { body(pointer, $0, $1) }
      reasons.withLock { $0 = (nil, nil) }
    } catch JournalError.away(let reason) {
      // While a refused connection is made again, no server has said anything on the new one.
      throw JournalError.away(
        reasons.withLock { reasons in
          if reason != Self.silence { reasons = (nil, reason) }
          return reasons.former ?? reason
        })
    }
  }

  /// The reason if no server has given one.
  private static let silence = "no server answers"

  private static func call(_ body: (UnsafeMutablePointer<CChar>?, Int) -> pk_nats_result) throws {
    var text = [CChar](repeating: 0, count: errorRoom)
    let result = text.withUnsafeMutableBufferPointer { body($0.baseAddress, $0.count) }
    let reason = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    switch result {
    case PK_NATS_OK: return
    case PK_NATS_NONE: throw StreamFault.missing
    case PK_NATS_CONFLICT: throw StreamFault.conflict
    case PK_NATS_AWAY: throw JournalError.away(reason)
    case PK_NATS_UNAVAILABLE: throw JournalError.unavailable(reason)
    default: throw JournalError.failed(reason)
    }
  }

  typealias Subscribing = (
    OpaquePointer, pk_nats_message, pk_nats_end, UnsafeMutableRawPointer, UnsafeMutablePointer<OpaquePointer?>,
    UnsafeMutablePointer<CChar>?, Int
  ) -> pk_nats_result

  /// - Throws: ``JournalError``, ``StreamFault``.
  func subscription(_ receiver: Receiver, _ subscribe: Subscribing) throws -> Subscription {
    var subscription: OpaquePointer?
    // The end releases it, also where this fails.
    let context = Unmanaged.passRetained(receiver).toOpaque()
    try call { nats, error, room in
      subscribe(
        nats,
        { context, place, bytes, count in
          guard let context else { return }
          let bytes = Array(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : Int(count)))
          Unmanaged<Receiver>.fromOpaque(context).takeUnretainedValue().receive(place, bytes)
        },
        { context in
          guard let context else { return }
          Unmanaged<Receiver>.fromOpaque(context).takeRetainedValue().end()
        }, context, &subscription, error, room)
    }
    guard let subscription else { throw JournalError.failed("there is no subscription") }
    return Subscription(pointer: subscription, connection: self)
  }
}
