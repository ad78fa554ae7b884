import ArgumentParser
import Fleet
import Foundation
import ObjectStorage
import PageKit
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
  /// - Throws: ``S3AccessError``, and what the body throws.
  func using<Value: Sendable>(
    _ journal: NATSJournal? = nil, _ body: @Sendable (PublishedReleases) async throws -> Value
  ) async throws -> Value {
    try await Self.using(location, caFile: caFile, journal, body)
  }

  /// - Throws: ``CommandError`` for a text that is no location, and as ``using(_:)``.
  static func using<Value: Sendable>(
    _ location: String, caFile: String?, _ journal: NATSJournal? = nil,
    _ body: @Sendable (PublishedReleases) async throws -> Value
  ) async throws -> Value {
    guard let place = S3Location(location) else { throw CommandError(noPlace(location)) }
    let access = try S3Access(environment: ProcessInfo.processInfo.environment)
    return try await CurlTransport.using(.init(certificateAuthorities: caFile)) { transport in
      let store = try S3Store(place, access: access, transport: transport)
      var keeper: PointerKeeper?
      if let journal, try await !store.supportsConditions() {
        keeper = try PointerKeeper(in: journal, of: place.description)
      }
      return try await body(PublishedReleases(store, keeper: keeper))
    }
  }
}

/// The option of commands that switch the pointer.
struct AloneOption: ParsableArguments {
  @Flag(
    name: .long,
    help: ArgumentHelp(
      "Write without conditions, to a store that does not know them.",
      discussion: "Nobody else may publish at the same time: it would not be noticed."))
  var alone = false
}
