import HTTPCaching
import HTTPTypes
import PageTesting
import TestSupport
import Testing

@testable import Blobs
@testable import Bundles
@testable import HTTPTransport

/// The reports of an install about its releases.
struct ReportSenderTests {
  private static let page = ContentDigests.filled(1).md5

  /// Ends the trial of a release, and keeps a report of it.
  private static func end(_ release: StoredRelease, _ standing: ReleaseStanding, in fixture: LoadingFixture)
    async throws
  {
    let failure = TrialFailure(.exception, page: "http://h/a.js", message: "x is not defined")
    var options = ReleaseTrial()
    options.failures = 1
    let effect = try await fixture.store.record(
      standing == .good ? .ready : .failed(failure), of: release.id, page: page, opening: "1", options: options,
      reports: true)
    #expect(effect != .none)
  }

  private static func sender(
    _ fixture: LoadingFixture, clock: ManualClock = ManualClock(),
    authorization: @escaping @Sendable () async throws -> String? = { "Bearer token" }
  ) throws -> ReportSender {
    ReportSender(
      ReleaseReports(to: try fixture.url("/reports"), authorization: authorization), of: try fixture.source,
      store: fixture.store, client: OriginClient(fixture.transport), time: TimeSource(clock))
  }

  private static func kept(_ fixture: LoadingFixture) async throws -> Int {
    try await fixture.store.keptReports(of: fixture.source).count
  }

  @Test("the end of a trial is reported once, with what the publisher counts", arguments: [ReleaseStanding.good, .bad])
  func once(_ standing: ReleaseStanding) async throws {
    try await LoadingFixture.onTrial { (fixture: LoadingFixture, release: StoredRelease) async throws in
      try await Self.end(release, standing, in: fixture)
      fixture.origin.script("/reports", [.status(202)])
      let sender = try Self.sender(fixture)
      sender.send()
      await sender.finish()
      sender.send()
      await sender.finish()
      let requests = fixture.origin.requests(to: "/reports")
      #expect(requests.map(\.method) == [.post])
      let request = try #require(requests.first)
      #expect(request.headers[.authorization] == "Bearer token")
      #expect(request.headers[.contentType] == "application/json")
      let report = try ReleaseReport(reading: request.body)
      #expect((report.release, report.sequence, report.standing) == ("r2", 1, standing))
      #expect(report.failures == (standing == .good ? 0 : 1))
      #expect(report.failure?.message == (standing == .good ? nil : "x is not defined"))
      let md5 = try ContentDigests(of: Array("2".utf8)).md5
      #expect(try report.contents == SHA256Digest(ofContents: [("bundle", "a", md5)]))
      #expect(try await Self.kept(fixture) == 0)
    }
  }

  @Test("a host without reports keeps none")
  func silent() async throws {
    try await LoadingFixture.onTrial { (fixture: LoadingFixture, release: StoredRelease) async throws in
      _ = try await fixture.store.record(
        .ready, of: release.id, page: Self.page, opening: "1", options: ReleaseTrial())
      #expect(try await Self.kept(fixture) == 0)
    }
  }

  @Test("a server that fails is asked again later, and one that is away too")
  func again() async throws {
    try await LoadingFixture.onTrial { (fixture: LoadingFixture, release: StoredRelease) async throws in
      try await Self.end(release, .bad, in: fixture)
      fixture.origin.script(
        "/reports", [.status(503, retryAfter: "7200"), .status(401), .resetBeforeHead, .status(404), .status(200)])
      let clock = ManualClock()
      let sender = try Self.sender(fixture, clock: clock)
      sender.send()
      try await clock.waitForSleepers()
      clock.advance(by: .seconds(7199))
      #expect(fixture.origin.requestCount(path: "/reports") == 1)
      clock.advance(by: .seconds(1))
      for count in 2...4 {
        try await fixture.origin.waitForRequests(count, to: "/reports")
        try await clock.waitForSleepers()
        clock.advance(by: .seconds(3600))
      }
      await sender.finish()
      #expect(fixture.origin.requestCount(path: "/reports") == 5)
      #expect(try await Self.kept(fixture) == 0)
    }
  }

  @Test("a report that is not sent is kept for the next process")
  func nextProcess() async throws {
    try await LoadingFixture.onTrial { (fixture: LoadingFixture, release: StoredRelease) async throws in
      try await Self.end(release, .bad, in: fixture)
      struct NoToken: Error {}
      let clock = ManualClock()
      let sender = try Self.sender(fixture, clock: clock) { throw NoToken() }
      sender.send()
      try await clock.waitForSleepers()
      await sender.shutDown()
      sender.send()
      await sender.finish()
      #expect(fixture.origin.requestCount(path: "/reports") == 0)
      let next = try fixture.anotherProcess()
      fixture.origin.script("/reports", [.status(202)])
      // A host asks for what earlier processes left at its start.
      let trials = ReleaseTrials(store: next.store, news: Broadcast(), sender: try Self.sender(next))
      await trials.recordEndedProcesses()
      try await fixture.origin.waitForRequests(1, to: "/reports")
      await trials.shutDown()
      let report = try ReleaseReport(reading: try #require(fixture.origin.requests(to: "/reports").first).body)
      #expect(report.standing == .bad)
    }
  }

  @Test("a report that can never be accepted is forgotten", arguments: [400, 410, 413])
  func refused(_ status: Int) async throws {
    try await LoadingFixture.onTrial { (fixture: LoadingFixture, release: StoredRelease) async throws in
      try await Self.end(release, .bad, in: fixture)
      fixture.origin.script("/reports", [.status(status)])
      let sender = try Self.sender(fixture)
      sender.send()
      await sender.finish()
      #expect(fixture.origin.requestCount(path: "/reports") == 1)
      #expect(try await Self.kept(fixture) == 0)
    }
  }

  @Test("a redirect is not followed: the token goes to nobody else", arguments: [302, 307])
  func redirect(_ status: Int) async throws {
    try await LoadingFixture.onTrial { (fixture: LoadingFixture, release: StoredRelease) async throws in
      try await Self.end(release, .bad, in: fixture)
      fixture.origin.serve("/other", [])
      fixture.origin.script("/reports", [.redirect(to: "/other", status: status)])
      let clock = ManualClock()
      let sender = try Self.sender(fixture, clock: clock)
      sender.send()
      try await clock.waitForSleepers()
      await sender.shutDown()
      #expect(fixture.origin.requestCount(path: "/other") == 0)
      #expect(try await Self.kept(fixture) == 1)
    }
  }

  @Test("a failure in a report has no query of the page's URL, and a long text is cut")
  func contents() throws {
    let failure = TrialFailure(.exception, page: "https://h/a.js?user=7#x", message: "m")
    let report = ReleaseReport(
      release: "r", sequence: 1, contents: ContentDigests.filled(1).sha256, standing: .bad, failure: failure)
    #expect(report.failure?.page == "https://h/a.js")
    let text = String(decoding: try report.encoded(), as: UTF8.self)
    let long = text.replacing("\"m\"", with: "\"\(String(repeating: "m", count: 5_000))\"")
    #expect(try ReleaseReport(reading: Array(long.utf8)).failure?.message.count == 1_000)
    for (wrong, reason) in [
      (text.replacing("exception", with: "bang"), "failure.kind: \"bang\" is no kind of failure"),
      (text.replacing("\"bad\"", with: "\"trial\""), "standing: expected \"good\" or \"bad\", found \"trial\""),
      (text.replacing("\"bad\"", with: "\"ok\""), "standing: expected \"good\" or \"bad\", found \"ok\""),
    ] {
      #expect(throws: DescribedError("this is no report of a release: \(reason)")) {
        try ReleaseReport(reading: Array(wrong.utf8))
      }
    }
  }

  @Test("the reports of the latest releases are kept")
  func limit() async throws {
    let fixture = try StoreFixture()
    _ = try await fixture.activated(["a": "0"], named: "r0")
    try await fixture.store.mark(try #require(try await fixture.store.source(fixture.source)?.current), as: .good)
    for number in 1...20 {
      let release = try await fixture.activated(["a": "\(number)"], named: "r\(number)")
      let effect = try await fixture.store.record(
        .ready, of: release.id, page: Self.page, opening: "\(number)", options: ReleaseTrial(), reports: true)
      #expect(effect == .good)
    }
    let kept = try await fixture.store.keptReports(of: fixture.source).map { try ReleaseReport(reading: $0.body) }
    #expect(kept.count == 16 && kept.contains { $0.release == "r20" })
  }

  /// The status of an answer, its `Retry-After`, the failed attempts before, and what follows.
  private static let table: [(status: Int, retryAfter: String?, attempts: Int, fate: ReportFate)] = [
    (200, nil, 0, .sent), (202, nil, 9, .sent), (204, "60", 0, .sent),
    (400, nil, 0, .refused(400)), (413, nil, 0, .refused(413)), (302, nil, 0, .again(after: .seconds(60))),
    (500, nil, 0, .again(after: .seconds(60))),
    (503, "5", 0, .again(after: .seconds(60))),
    (503, "90", 0, .again(after: .seconds(90))),
    (429, "99999999999999999999", 0, .again(after: .seconds(86_400))),
    (429, "-1", 1, .again(after: .seconds(120))),
    (401, nil, 3, .again(after: .seconds(480))),
    (599, nil, 100, .again(after: .seconds(3600))),
  ]

  @Test("every row of the table is decided as it says", arguments: table.indices)
  func fate(_ index: Int) {
    let row = Self.table[index]
    var answer = HTTPResponse(status: .init(code: row.status))
    answer.headerFields[.retryAfter] = row.retryAfter
    #expect(ReportFate(of: answer, attempts: row.attempts, jitter: 1, now: .now) == row.fate)
  }

  @Test("installs that fail at the same time do not come back at the same time")
  func jitter() {
    #expect(ReportFate.wait(attempts: 0, jitter: 0) == .seconds(30))
    #expect(ReportFate.wait(attempts: 20, jitter: 0) == .seconds(1800))
  }
}
