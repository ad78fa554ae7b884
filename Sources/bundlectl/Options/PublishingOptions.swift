import ArgumentParser
import Fleet
import Foundation
import PageKit
import PageWorkers
import Publishing

/// The place of published releases in an object store.
struct LocationOptions: ParsableArguments {
  /// The discussion of commands with these options.
  static let discussion = """
    The store's key is that of Amazon's own tools: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and \
    AWS_REGION. AWS_ENDPOINT_URL is the URL of a store other than Amazon S3.
    """

  @Argument(help: ArgumentHelp("The place of the releases: s3://BUCKET/PREFIX.", valueName: "location"))
  var location: String

  @Option(
    name: .long, help: ArgumentHelp("PEM file of the certificate authorities to trust.", valueName: "file"),
    completion: .file())
  var caFile: String?

  @Flag(name: .long, help: "Print one JSON object on standard output.")
  var json = false

  mutating func validate() throws {
    if S3Location(location) == nil { throw ValidationError(Self.noPlace(location)) }
  }

  private static func noPlace(_ text: String) -> String {
    "\(text) is no place in an object store: write s3://BUCKET/PREFIX, where BUCKET has 3 to 63 small letters, digits, hyphens and dots."
  }

  /// Runs a body with the releases of the location.
  ///
  /// - Parameter journal: keeps the pointer if the store does not know conditions; `nil` for none.
  /// - Throws: ``DescribedError``, and what the body throws.
  func using<Value: Sendable>(
    _ journal: NATSJournal? = nil, _ body: @Sendable (PublishedReleases) async throws -> Value
  ) async throws -> Value {
    try await Self.using(location, caFile: caFile, journal, body)
  }

  /// - Throws: ``DescribedError`` if the text is not a location, and as ``using(_:)``.
  static func using<Value: Sendable>(
    _ location: String, caFile: String?, _ journal: NATSJournal? = nil,
    _ body: @Sendable (PublishedReleases) async throws -> Value
  ) async throws -> Value {
    guard let place = S3Location(location) else { throw DescribedError(noPlace(location)) }
    let access = try S3Access(environment: ProcessInfo.processInfo.environment)
    return try await CurlTransport.using(.init(certificateAuthorities: caFile)) { transport in
      let store = try S3Store(place, access: access, transport: transport)
      var keeper: PointerKeeper?
      if let journal, try await !store.supportsConditions() {
        keeper = try PointerKeeper(in: journal, of: place.description)
      }
      do {
        return try await body(PublishedReleases(store, keeper: keeper))
      } catch let error as PublishError {
        throw error.helpfulCommand.map { DescribedError(error.description + $0) as any Error } ?? error
      }
    }
  }
}

extension PublishError {
  /// The end of the sentence, which names the command that helps; `nil` if there is none.
  fileprivate var helpfulCommand: String? {
    switch self {
    case .nothingPublished(let location): ": run \"bundlectl publish DIR \(location)\" first"
    case .noRelease(let location, _): ": \"bundlectl releases \(location)\" shows what it has"
    default: nil
    }
  }
}

/// The options of commands that switch the pointer: how it is written, and the journal of the hosts that follow at once.
struct PointerOptions: ParsableArguments {
  @Flag(
    name: .long,
    help: ArgumentHelp(
      "Write without conditions, to a store that does not know them.",
      discussion: "Nobody else may publish at the same time: it would not be noticed."))
  var alone = false

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
  func openJournal() throws -> NATSJournal? {
    guard let servers = NATSServers(journal, credentials: journalCredentials, authorities: journalCA),
      let fleet = FleetName(fleet)
    else { return nil }
    return try NATSJournal(servers, fleet: fleet, host: .ofThisMachine)
  }

  /// Tells the hosts that a release is current. They would find it by themselves within a minute, so a journal that
  /// cannot be reached is only reported.
  static func announce(_ release: String, in journal: NATSJournal?) async {
    guard let journal else { return }
    let order = FleetOrder(.release(release), id: UUID().uuidString)
    do {
      _ = try await JournalError.retryingWhileAway(for: patience) {
        try await journal.append(order.bytes, id: order.id, to: .orders)
      }
    } catch {
      Terminal.report("the hosts are not told, and look by themselves: \(error.message)")
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
        try await JournalError.retryingWhileAway(for: PointerOptions.patience) { try await journal.value(of: key) }
          .map { ($0.bytes, $0.revision) }
      }, replace: { revision, bytes in try await journal.replace(key, revision, with: bytes) != nil })
  }
}
