import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging
import Releases
import Synchronization

/// The result of a release's trial on one install, as it is sent to the publisher.
///
/// ```json
/// { "release": "r5", "sequence": 5, "contents": "SHA-256", "standing": "bad", "failures": 2,
///   "failure": { "kind": "exception", "page": "https://…/home.js", "message": "…" } }
/// ```
package struct ReleaseReport: Hashable, Sendable, Codable {
  /// The release's name in its manifest.
  package let release: String
  package let sequence: Int64
  /// The SHA-256 of the list of its bundles and files with their MD5s: ``SHA256Digest/init(ofContents:)``.
  package let contents: SHA256Digest
  /// Good or bad.
  package let standing: ReleaseStanding
  /// The number of failed openings.
  package let failures: Int
  /// The latest failure; `nil` for a good release.
  package let failure: TrialFailure?

  package init(
    release: String, sequence: Int64, contents: SHA256Digest, standing: ReleaseStanding, failures: Int = 0,
    failure: TrialFailure? = nil
  ) {
    (self.release, self.sequence, self.contents) = (release, sequence, contents)
    (self.standing, self.failures) = (standing, failures)
    // What follows the path may be the user's.
    self.failure = failure.map {
      TrialFailure($0.kind, page: String($0.page.prefix { $0 != "?" && $0 != "#" }), message: $0.message)
    }
  }

  /// The size of a report in bytes; a longer one is refused.
  package static let byteLimit = 32 << 10

  /// Reads a report.
  ///
  /// - Throws: ``DescribedError``.
  package init(reading bytes: [UInt8]) throws {
    let value: JSONValue
    do {
      value = try JSONValue(reading: bytes, limits: .standard)
    } catch {
      throw Self.unreadable(error.jsonReason)
    }
    if case .object(let members) = value, case .string(let name)? = members["standing"],
      !["good", "bad"].contains(name)
    {
      throw Self.unreadable("standing: expected \"good\" or \"bad\", found \(name.quotedForMessage)")
    }
    do {
      self = try value.decoded()
    } catch {
      throw Self.unreadable(error.jsonReason)
    }
  }

  private static func unreadable(_ reason: String) -> DescribedError {
    DescribedError("this is no report of a release: \(reason)")
  }

  /// The report's bytes.
  package func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self))
  }
}

extension SHA256Digest {
  /// The identity of a release: the SHA-256 of a line for each entry, in the order of kinds, names and MD5s as bytes.
  ///
  /// Another name, sequence or signature makes no other release of it.
  package init(ofContents entries: some Sequence<(kind: String, name: String, md5: MD5Digest)>) throws {
    var digester = try Digester.sha256()
    let sorted = entries.sorted { left, right in
      if left.kind != right.kind { return left.kind.utf8.lexicographicallyPrecedes(right.kind.utf8) }
      if !left.name.utf8.elementsEqual(right.name.utf8) {
        return left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
      }
      return left.md5.bytes.lexicographicallyPrecedes(right.md5.bytes)
    }
    for entry in sorted {
      digester.update(Array("\(entry.kind) \(entry.name.utf8.count) \(entry.name) \(entry.md5.hex)\n".utf8))
    }
    self = try digester.finish()
  }
}

/// The place to which an install reports whether releases are good or bad on it: a `renderhost` with `--report-key`, or
/// any server that takes JSON.
///
///     configuration.releases.reports = try ReleaseReports(to: "https://pages.example.com/reports") {
///       "Bearer \(try await session.reportToken())"
///     }
public struct ReleaseReports: Sendable {
  /// The URL to which each report is posted.
  public var url: PageURL
  /// Returns the value of the field `Authorization` for a report, such as `Bearer TOKEN`; `nil` for none.
  ///
  /// A `renderhost` takes a JSON Web Token that the app's server has signed for this install.
  public var authorization: @Sendable () async throws -> String?

  /// Makes the settings of reports to a URL.
  ///
  /// - Parameters:
  ///   - url: the URL to which each report is posted; an `https` one, since the authorization is a secret.
  ///   - authorization: returns the value of the field `Authorization`. An error of it counts as a failed attempt.
  public init(to url: PageURL, authorization: @escaping @Sendable () async throws -> String?) {
    (self.url, self.authorization) = (url, authorization)
  }

  /// Makes the settings of reports to the URL in a text.
  ///
  /// - Parameters:
  ///   - text: the URL to which each report is posted.
  ///   - authorization: returns the value of the field `Authorization`.
  /// - Throws: ``TransportError/invalidURL(_:)``.
  public init(to text: String, authorization: @escaping @Sendable () async throws -> String?) throws {
    guard let url = PageURL(text) else { throw TransportError.invalidURL(text) }
    self.init(to: url, authorization: authorization)
  }
}

/// Sends the reports that the store keeps. One that gets no answer is sent again, also by the next process.
package final class ReportSender: Sendable {
  private let reports: ReleaseReports
  private let source: PageURL
  private let store: BundleStore
  private let client: OriginClient
  private let time: TimeSource
  private let logger: Logger
  private let state = Mutex<State>((nil, false, false))

  /// `isAsked` is `true` if there may be reports that the running task has not seen.
  private typealias State = (running: Task<Void, Never>?, isAsked: Bool, isOver: Bool)

  package init(
    _ reports: ReleaseReports, of source: PageURL, store: BundleStore, client: OriginClient,
    time: TimeSource = .system, logger: Logger = Logger(label: "pagekit.reports")
  ) {
    (self.reports, self.source, self.store, self.client) = (reports, source, store, client)
    (self.time, self.logger) = (time, logger)
  }

  /// Sends the reports that are kept, in the background. The host calls it at its start and after each trial.
  package func send() {
    state.withLock { state in
      guard !state.isOver else { return }
      state.isAsked = true
      guard state.running == nil else { return }
      state.running = Task { await run() }
    }
  }

  /// Waits until the task that is running has ended: until everything is sent.
  package func finish() async { await state.withLock(\.running)?.value }

  /// Ends the attempts of this process. Reports that are not sent stay in the store.
  package func shutDown() async {
    let running = state.withLock { state in
      state.isOver = true
      return state.running
    }
    running?.cancel()
    await running?.value
  }

  private func run() async {
    var failures = 0
    while true {
      let wait = await attempt(after: failures)
      if let wait {
        failures += 1
        guard (try? await time.sleep(wait)) != nil else { break }
      } else {
        failures = 0
        let isDone = state.withLock { state in
          if !state.isAsked { state.running = nil }
          return !state.isAsked
        }
        if isDone { return }
      }
    }
    state.withLock { $0.running = nil }
  }

  /// Sends all that is kept.
  ///
  /// - Returns: the time until the next attempt; `nil` if nothing is left.
  private func attempt(after failures: Int) async -> Duration? {
    state.withLock { $0.isAsked = false }
    var wait: Duration?
    do {
      for report in try await store.keptReports(of: source) {
        let answer = try await post(report)
        switch ReportFate(of: answer, attempts: failures, jitter: .random(in: 0...1), now: .now) {
        case .sent: try await store.forget(report)
        case .refused(let status):
          try await store.forget(report)
          logger.warning("the report of a release is not accepted: \(reports.url) answers \(status)")
        case .again(let asked): wait = max(wait ?? .zero, asked)
        }
      }
      return wait
    } catch {
      if failures == 0 { logger.info("the report of a release is not sent yet: \(error.sentence)") }
      return ReportFate.wait(attempts: failures, jitter: .random(in: 0...1))
    }
  }

  private func post(_ report: BundleStore.KeptReport) async throws -> HTTPResponse {
    var fields: HTTPFields = [.contentType: "application/json"]
    fields[.authorization] = try await reports.authorization()
    return try await client.post(report.body, to: reports.url, fields: fields)
  }
}

/// The fate of a report: sent, refused for good, or to be sent again.
enum ReportFate: Hashable, Sendable {
  case sent
  /// It can never be accepted: it is forgotten.
  case refused(Int)
  case again(after: Duration)

  /// - Parameters:
  ///   - attempts: the number of attempts that have failed before.
  ///   - jitter: a random number from 0 to 1, which spreads installs that report at the same time.
  init(of answer: HTTPResponse, attempts: Int, jitter: Double, now: HTTPDate) {
    switch answer.status.code {
    case 200..<300: self = .sent
    // A redirect may be that of a network which wants a login first. RFC 9110 §15.5.2 and §15.5.4: another token may be
    // accepted. 404 is that of a server which is not set up yet.
    case 300..<400, 401, 403, 404, 408, 425, 429, 500...:
      let asked = answer.headerFields[.retryAfter].flatMap { Duration(retryAfter: $0, now: now) } ?? .zero
      self = .again(after: max(Self.wait(attempts: attempts, jitter: jitter), min(asked, Self.longestAsked)))
    default: self = .refused(answer.status.code)
    }
  }

  /// The longest time that a server may ask for.
  private static let longestAsked: Duration = .seconds(86_400)

  /// The time until the next attempt: from 30 seconds, doubled each time, to an hour.
  static func wait(attempts: Int, jitter: Double) -> Duration {
    Duration.seconds(60).doubled(attempts, atMost: .seconds(3600), jitter: jitter)
  }
}

/// The installs that have reported the end of a release's trial.
package struct ReportTally: Hashable, Sendable {
  package var good: Int
  package var bad: Int
  /// The time at which the release was halted, in seconds since 1970; `nil` if it is not.
  package var haltedAt: Double?
  /// The manifest that takes the place of the halted release, if that is known.
  package var otherwise: ManifestReference?

  package init(
    good: Int = 0, bad: Int = 0, haltedAt: Double? = nil, otherwise: ManifestReference? = nil
  ) {
    (self.good, self.bad, self.haltedAt, self.otherwise) = (good, bad, haltedAt, otherwise)
  }

  /// The share of the bad ones in percent; 0 without reports.
  package var badPercent: Double { good + bad == 0 ? 0 : Double(bad) * 100 / Double(good + bad) }
}

/// The bound of failures at which a publisher halts a release.
package struct HaltBound: Hashable, Sendable {
  /// The share of installs on which the release is bad, in percent.
  package var percent: Double
  /// The least number of installs that have reported: fewer say nothing.
  package var installs: Int

  package init(percent: Double = 5, installs: Int = 200) { (self.percent, self.installs) = (percent, installs) }

  /// Returns `true` if a release with these reports is halted.
  package func isReached(by tally: ReportTally) -> Bool {
    tally.good + tally.bad >= max(1, installs) && tally.bad > 0 && tally.badPercent >= percent
  }
}
