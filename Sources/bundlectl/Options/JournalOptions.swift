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
    guard let servers = NATSServers(journal, credentials: journalCredentials, authorities: journalCA),
      let fleet = FleetName(fleet)
    else { return nil }
    return try NATSJournal(servers, fleet: fleet, host: .ofThisMachine)
  }

  /// Tells the hosts that a release is current. They would find it by themselves within a minute, so that a journal that
  /// is away is no error.
  static func announce(_ release: String, in journal: NATSJournal?) async {
    guard let journal else { return }
    let order = FleetOrder(.release(release), id: UUID().uuidString)
    do {
      _ = try await JournalError.retryingWhileAway(for: patience) {
        try await journal.append(order.bytes, id: order.id, to: .orders)
      }
    } catch {
      Terminal.error.line("bundlectl: the hosts are not told, and look by themselves: \(error.sentence)")
    }
  }

  /// The longest wait for an answer of the journal.
  fileprivate static let patience: Duration = .seconds(5)
}

extension PointerKeeper {
  /// Keeps the pointer of a location in the journal's servers.
  ///
  /// - Throws: an error if the location's digest cannot be computed.
  init(in journal: NATSJournal, of location: String) throws {
    let key = "pointer_" + (try SHA256Digest(of: Array(location.utf8))).hex
    self.init(
      pointer: {
        try await JournalError.retryingWhileAway(for: JournalOptions.patience) { try await journal.value(of: key) }
          .map { ($0.bytes, $0.revision) }
      }, replace: { revision, bytes in try await journal.replace(key, revision, with: bytes) != nil })
  }
}
