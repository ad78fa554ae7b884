import Containers
import HTTPTransport
import HTTPTypes

/// Asks the server once per launch for the checksum of each page that no manifest lists.
actor PageChecksums {
  private let client: OriginClient
  private let verification: Verification
  private let now: @Sendable () -> Duration
  private let flights = SingleFlight<PageURL, ResponseDigest?>()
  private var answers: [PageURL: (checksum: ResponseDigest?, at: Duration)] = [:]
  private var launch = 0

  /// The number of pages whose answers are remembered.
  private static let limit = 10_000

  init(client: OriginClient, verification: Verification, time: TimeSource) {
    self.client = client
    self.verification = verification
    now = time.now
  }

  /// Begins a new launch: the server is asked again.
  func relaunch() {
    launch += 1
    answers = [:]
  }

  /// Remembers the MD5 of the bytes that the server sent as its checksum for this launch, if it gives none itself.
  func record(_ md5: MD5Digest, of url: PageURL) {
    guard let answer = answers[url], answer.checksum == nil else { return }
    answers[url] = (.hinted(md5), answer.at)
  }

  /// - Returns: `nil` if the server gives no checksum for this page.
  /// - Throws: only if the server cannot be reached.
  func checksum(of url: PageURL) async throws -> ResponseDigest? {
    if let answer = answers[url], verification.isValid(for: now() - answer.at) { return answer.checksum }
    let asked = launch
    let found = try await flights.value(for: url) { [client] in try await client.checksum(of: url) }
    if asked == launch {
      if answers.count >= Self.limit { answers = [:] }
      answers[url] = (found, now())
    }
    return found
  }
}

/// Asks the server for the MD5 of a bundle that no manifest lists: first for the file beside it, `home.js.md5` as `md5sum`
/// writes it, then with a HEAD, whose response may have it in `Content-MD5` (RFC 1864), `Repr-Digest` (RFC 9530) or an
/// `ETag` that looks like an MD5.
extension OriginClient {
  /// The size limit of an MD5 file, which is an MD5 followed by a file name; in bytes.
  private static let md5FileLimit: Int64 = 8 << 10

  /// - Returns: `nil` if neither gives a checksum.
  /// - Throws: only if the server cannot be reached.
  func checksum(of url: PageURL) async throws -> ResponseDigest? {
    if let found = try await md5File(of: url) { return found }
    return try await checksumInHead(of: url)
  }

  private func md5File(of url: PageURL) async throws -> ResponseDigest? {
    guard let file = Self.md5FileURL(for: url) else { return nil }
    let response = try await send(.get, file, fields: [.cacheControl: "no-cache"], bodyLimit: Self.md5FileLimit)
    guard response.head.status == .ok,
      let bytes = try? await response.body.collect(upTo: Self.md5FileLimit)
    else { return nil }
    return Self.md5(inFile: String(decoding: bytes, as: UTF8.self)).map { .promised(ExpectedContent(md5: $0)) }
  }

  private func checksumInHead(of url: PageURL) async throws -> ResponseDigest? {
    let fields: HTTPFields = [.acceptEncoding: "identity", .cacheControl: "no-cache"]
    let response = try await send(.head, url, fields: fields)
    if [404, 410].contains(response.head.status.code) { return .gone(status: response.head.status.code) }
    guard response.head.status == .ok else { return nil }
    return ResponseDigest(
      response.head.headerFields, isEncoded: response.head.headerFields[.contentEncoding] != nil)
  }

  /// The URL of the MD5 file; the query follows the file's name.
  static func md5FileURL(for url: PageURL) -> PageURL? { url.appendingToPath(".md5") }

  /// The MD5 in the first line: its first word, as `md5sum` writes it, or its last one after `MD5 (name) =`, as BSD
  /// does.
  static func md5(inFile text: String) -> MD5Digest? {
    guard let line = text.split(whereSeparator: \.isNewline).first else { return nil }
    let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
    return words.first.flatMap { MD5Digest(hex: $0.drop { $0 == "\\" }) } ?? words.last.flatMap { MD5Digest(hex: $0) }
  }
}
