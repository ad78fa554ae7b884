import ArgumentParser
import Fleet
import Foundation
import PageKit
import Publishing

/// The journal of the hosts that are to follow a release at once.
struct JournalOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "A NATS server with the journal of the hosts: they switch at once; may be repeated.",
      discussion: "As for renderhost. It also keeps the pointer for a store that does not know conditions.",
      valueName: "url"))
  var journal: [String] = []

  @Option(
    name: .long,
    help: ArgumentHelp("A file with the credentials of the journal's user.", valueName: "file"), completion: .file())
  var journalCredentials: String?

  @Option(
    name: .long, help: ArgumentHelp("PEM file of the authorities to trust for tls://.", valueName: "file"),
    completion: .file())
  var journalCA: String?

  @Option(name: .long, help: ArgumentHelp("The name of the hosts' fleet.", valueName: "name"))
  var fleet = "pagekit"

  mutating func validate() throws {
    if !journal.isEmpty, NATSServers(journal) == nil {
      throw ValidationError("--journal must be \(NATSServers.expected).")
    }
    if FleetName(fleet) == nil { throw ValidationError("--fleet must be \(FleetName.expected).") }
  }

  /// - Returns: `nil` if no server is named.
  /// - Throws: ``JournalError``.
  func open() throws -> NATSJournal? {
    guard var servers = NATSServers(journal), let fleet = FleetName(fleet) else { return nil }
    (servers.credentials, servers.authorities) = (journalCredentials, journalCA)
    return try NATSJournal(servers, fleet: fleet, host: .ofThisMachine)
  }

  /// Tells the hosts that a release is current. They would find it by themselves within a minute, so that a journal that
  /// is away is no error.
  ///
  /// - Returns: `false` if they could not be told, which was said then.
  @discardableResult
  static func announce(_ release: String, in journal: NATSJournal?) async -> Bool {
    guard let journal else { return true }
    let order = FleetOrder(.release(release), id: UUID().uuidString)
    do {
      _ = try await persistently { try await journal.append(order.bytes, id: order.id) }
      return true
    } catch {
      Terminal.error.line("bundlectl: the hosts are not told, and look by themselves: \(error)")
      return false
    }
  }

  /// Repeats an operation until the journal's servers answer, for five seconds.
  fileprivate static func persistently<Value>(_ work: () async throws -> Value) async throws -> Value {
    let deadline = ContinuousClock.now + .seconds(5)
    while true {
      do { return try await work() } catch JournalError.away(let reason) {
        guard ContinuousClock.now < deadline else { throw JournalError.away(reason) }
        try await Task.sleep(for: .milliseconds(50))
      }
    }
  }
}

/// Keeps the pointer of a location in the journal's servers.
struct JournalPointer: PointerKeeping {
  let journal: NATSJournal
  private let key: String

  /// - Throws: an error if the location's digest cannot be computed.
  init(_ journal: NATSJournal, of location: String) throws {
    self.journal = journal
    key = "pointer_" + (try SHA256Digest(of: Array(location.utf8))).hex
  }

  func pointer() async throws -> KeptPointer? {
    try await JournalOptions.persistently { try await journal.value(of: key) }
      .map { KeptPointer(bytes: $0.bytes, revision: $0.revision) }
  }

  func replacePointer(_ revision: UInt64?, with bytes: [UInt8]) async throws -> Bool {
    try await journal.replace(key, revision, with: bytes) != nil
  }
}
