import Containers
import HTTPTransport

/// Asks the server once per launch for the checksum of each page that no manifest lists.
actor PageChecksums {
  private let lookup: ChecksumLookup
  private let verification: Verification
  private let now: @Sendable () -> Duration
  private let flights = SingleFlight<PageURL, ServerChecksum?>()
  private var answers: [PageURL: (checksum: ServerChecksum?, at: Duration)] = [:]
  private var launch = 0

  /// The number of pages whose answers are remembered.
  private static let limit = 10_000

  init(lookup: ChecksumLookup, verification: Verification, time: TimeSource) {
    self.lookup = lookup
    self.verification = verification
    now = time.now
  }

  /// Begins a new launch: the server is asked again.
  func relaunch() {
    launch += 1
    answers = [:]
  }

  /// Remembers the MD5 of the bytes that the server sent as its checksum for this launch, if it gives none itself.
  func note(_ md5: MD5Digest, of url: PageURL) {
    guard let answer = answers[url], answer.checksum == nil else { return }
    answers[url] = (.hinted(md5), answer.at)
  }

  /// - Returns: `nil` if the server gives no checksum for this page.
  /// - Throws: only if the server cannot be reached.
  func checksum(of url: PageURL) async throws -> ServerChecksum? {
    if let answer = answers[url], verification.holds(for: now() - answer.at) { return answer.checksum }
    let asked = launch
    let found = try await flights.value(for: url) { [lookup] in try await lookup.checksum(of: url) }
    if asked == launch {
      if answers.count >= Self.limit { answers = [:] }
      answers[url] = (found, now())
    }
    return found
  }
}
