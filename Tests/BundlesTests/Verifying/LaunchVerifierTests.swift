import Bundles
import HTTPTransport
import HTTPTypes
import PageTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2)))
struct LaunchVerifierTests {
  private static let scripts = ["a": "var a = 1"]

  @Test func aThousandPagesThatOpenAtOnceCauseOneRequest() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let verifier = try fixture.verifier()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<1000 { group.addTask { _ = try await verifier.verified() } }
        try await group.waitForAll()
      }
      #expect(fixture.origin.requests.count == 1)
    }
  }

  @Test func aLaterOpenInTheSameLaunchAsksTheServerNothing() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let verifier = try fixture.verifier()
      let first = try await verifier.verified()
      try fixture.publish(["a": "var a = 2"], release: "r2")
      #expect(try await verifier.verified().release == first.release)
      #expect(fixture.origin.requests.count == 1)
    }
  }

  @Test func aRelaunchAsksAgain() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let verifier = try fixture.verifier()
      _ = try await verifier.verified()
      try fixture.publish(["a": "var a = 2"], release: "r2")
      await verifier.relaunch()
      #expect(try await verifier.verified().release.name == "r2")
      #expect(fixture.origin.requests.map { $0.headers[.ifNoneMatch] } == [nil, "\"r1\""])
      #expect(fixture.origin.requests.allSatisfy { $0.headers[.cacheControl] == "no-cache" })
    }
  }

  @Test("a refresh begins a new launch only if the server answers")
  func refresh() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let verifier = try fixture.verifier()
      let first = try await verifier.verified()
      fixture.origin.always("/manifest.json", .status(404))
      await #expect(throws: SourceError.self) { try await verifier.refresh() }
      #expect(try await verifier.verified().release == first.release)
      fixture.origin.always("/manifest.json", .normal)
      try fixture.publish(["a": "var a = 2"], release: "r2")
      #expect(try await verifier.refresh().release.name == "r2")
      let asked = fixture.origin.requests.count
      #expect(try await verifier.verified().release.name == "r2")
      #expect(fixture.origin.requests.count == asked)
    }
  }

  @Test func everyOpenAsksEachTime() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let verifier = try fixture.verifier(.everyOpen)
      for _ in 0..<3 { _ = try await verifier.verified() }
      #expect(fixture.origin.requests.count == 3)
    }
  }

  @Test("the server is asked again after the interval")
  func interval() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let clock = Mutex(ContinuousClock.now)
      let verifier = try fixture.verifier(.every(.seconds(60))) { clock.withLock { $0 } }
      _ = try await verifier.verified()
      clock.withLock { $0 += .seconds(59) }
      _ = try await verifier.verified()
      #expect(fixture.origin.requests.count == 1)
      clock.withLock { $0 += .seconds(2) }
      _ = try await verifier.verified()
      #expect(fixture.origin.requests.count == 2)
    }
  }

  @Test("a 304 confirms every bundle of the manifest")
  func unchangedManifest() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      let verified = try await fixture.verifier().verified()
      #expect(verified.isUnchanged)
      let store = fixture.store
      #expect(try await store.bundle(at: try fixture.url("/b/a.js"), in: verified.release)?.bundle.name == "a")
      #expect(try await store.bundle(at: try fixture.url("/b/none.js"), in: verified.release) == nil)
    }
  }

  @Test("after a failure the server is not asked for a while, and then again")
  func pauseAfterFailure() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      fixture.origin.script("/manifest.json", [.status(503)])
      let clock = Mutex(ContinuousClock.now)
      let verifier = try fixture.verifier { clock.withLock { $0 } }
      await #expect(throws: SourceError.self) { try await verifier.verified() }
      await #expect(throws: SourceError.self) { try await verifier.verified() }
      #expect(fixture.origin.requests.count == 1)
      clock.withLock { $0 += .seconds(31) }
      #expect(try await verifier.verified().release.name == "r1")
    }
  }

  @Test("a transient failure is retried after the server's Retry-After")
  func retryAfter() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      fixture.origin.script("/manifest.json", [.status(503, retryAfter: "4"), .closeBeforeHead])
      #expect(try await fixture.verifier(attempts: 3).verified().release.name == "r1")
      #expect(fixture.waits.all.first == .seconds(4))
      #expect(fixture.origin.requests.count == 3)
    }
  }

  @Test("a cancelled caller does not end the request for the others")
  func cancelledCaller() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      fixture.origin.hold("/manifest.json")
      let verifier = try fixture.verifier()
      let impatient = Task { try await verifier.verified() }
      let patient = Task { try await verifier.verified() }
      try await fixture.origin.waitForRequests(1, to: "/manifest.json")
      impatient.cancel()
      await #expect(throws: CancellationError.self) { try await impatient.value }
      fixture.origin.release("/manifest.json")
      #expect(try await patient.value.release.name == "r1")
      #expect(fixture.origin.requests.count == 1)
    }
  }

  // MARK: Older and newer answers

  /// A server whose first answer is the release `r1`, which it sends when the signal comes; its others are `r2`.
  private static func withSlowAnswer(
    _ body: (LoadingFixture, _ firstAnswer: Signal) async throws -> Void
  ) async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      let first = try fixture.publish(scripts, release: "r1").fileBytes()
      let second = try fixture.publish(["a": "var a = 2"], release: "r2").fileBytes()
      let signal = Signal()
      let isFirst = Mutex(true)
      fixture.origin.respond("/manifest.json") { _ in
        let isSlow = isFirst.withLock { isFirst in
          defer { isFirst = false }
          return isFirst
        }
        if isSlow { await signal.wait(beyond: 0) }
        return OriginResponse(headers: [.contentType: "application/json"], body: isSlow ? first : second)
      }
      try await body(fixture, signal)
      signal.send()
    }
  }

  @Test("an answer that comes later than that of a newer question is not registered, and its callers get the newer one")
  func lateAnswer() async throws {
    try await Self.withSlowAnswer { fixture, firstAnswer in
      let verifier = try fixture.verifier()
      let asked = Task { try await verifier.verified() }
      try await fixture.origin.waitForRequests(1, to: "/manifest.json")
      let refreshed = try await verifier.refresh()
      firstAnswer.send()
      #expect(refreshed.release.name == "r2")
      #expect(try await asked.value.release == refreshed.release)
      #expect(try await verifier.verified().release == refreshed.release)
      #expect(try await fixture.store.source(fixture.source)?.latest == refreshed.release)
      #expect(fixture.origin.requestCount(path: "/manifest.json") == 2)
    }
  }

  @Test("the question of an earlier launch does not register its answer after that of a later one")
  func earlierLaunch() async throws {
    try await Self.withSlowAnswer { fixture, firstAnswer in
      let verifier = try fixture.verifier()
      let asked = Task { try await verifier.verified() }
      try await fixture.origin.waitForRequests(1, to: "/manifest.json")
      await verifier.relaunch()
      let second = try await verifier.verified()
      firstAnswer.send()
      #expect(second.release.name == "r2")
      #expect(try await asked.value.release == second.release)
      #expect(try await fixture.store.source(fixture.source)?.latest == second.release)
    }
  }

  @Test("those who ask while a newer question is under way share it, also once the older one has ended")
  func sharedNewest() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      try fixture.publish(Self.scripts)
      let clock = Mutex(ContinuousClock.now)
      let looks = Monitor(0)
      let verifier = try fixture.verifier(.every(.seconds(60))) {
        looks.change { $0 += 1 }
        return clock.withLock(\.self)
      }
      _ = try await verifier.verified()
      clock.withLock { $0 += .seconds(61) }
      fixture.origin.hold("/manifest.json")
      let first = Task { try await verifier.verified() }
      try await fixture.origin.waitForRequests(2, to: "/manifest.json")
      // It asks once the first question has ended.
      let refresh = Task { try await verifier.refresh() }
      try await fixture.origin.waitForRequests(3, to: "/manifest.json")
      let before = looks.read(\.self)
      let later = Task { try await verifier.verified() }
      // It has seen that the stored answer is too old, and joins a question in the same step.
      try await looks.wait(within: .seconds(60)) { $0 > before }
      _ = await verifier.known
      fixture.origin.release("/manifest.json")
      let answers = [try await first.value.release, try await refresh.value.release, try await later.value.release]
      #expect(Set(answers.map(\.name)) == ["r1"])
      #expect(fixture.origin.requestCount(path: "/manifest.json") == 3)
    }
  }

  /// The beginning of the question that is under way while its launch ends.
  enum Beginning: CaseIterable { case opening, refresh }

  @Test(
    "after a launch has ended, the answer to an opening in it is forgotten, and that to a refresh begins another launch",
    arguments: Beginning.allCases)
  func launchThatEnds(_ beginning: Beginning) async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      try fixture.publish(Self.scripts)
      fixture.origin.hold("/manifest.json")
      let verifier = try fixture.verifier()
      let asked = Task {
        try await beginning == .refresh ? verifier.refresh() : verifier.verified()
      }
      try await fixture.origin.waitForRequests(1, to: "/manifest.json")
      await verifier.relaunch()
      fixture.origin.release("/manifest.json")
      #expect(try await asked.value.release.name == "r1")
      #expect((await verifier.validAnswer != nil) == (beginning == .refresh))
      #expect(await verifier.known?.release.name == (beginning == .refresh ? "r1" : nil))
      try fixture.publish(["a": "var a = 2"], release: "r2")
      #expect(try await verifier.verified().release.name == (beginning == .refresh ? "r1" : "r2"))
      #expect(fixture.origin.requestCount(path: "/manifest.json") == (beginning == .refresh ? 1 : 2))
    }
  }

  @Test("bytes may have the server asked without conditions once in a launch, and once more after a refresh")
  func unconditionalQuestions() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      try fixture.publish(Self.scripts)
      let verifier = try fixture.verifier()
      _ = try await verifier.verified()
      for _ in 0..<2 { _ = try await verifier.verifiedUnconditionally() }
      try await verifier.refresh()
      for _ in 0..<2 { _ = try await verifier.verifiedUnconditionally() }
      #expect(
        fixture.origin.requests(to: "/manifest.json").map { $0.headers[.ifNoneMatch] } == [
          nil, nil, "\"r1\"", nil,
        ])
    }
  }

  @Test("a question that takes the place of one without conditions has none either")
  func unconditionalSuccessor() async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      try fixture.publish(Self.scripts)
      let verifier = try fixture.verifier()
      _ = try await verifier.verified()
      fixture.origin.hold("/manifest.json")
      let asked = Task { try await verifier.verifiedUnconditionally() }
      try await fixture.origin.waitForRequests(2, to: "/manifest.json")
      let refresh = Task { try await verifier.refresh() }
      try await fixture.origin.waitForRequests(3, to: "/manifest.json")
      fixture.origin.release("/manifest.json")
      _ = try await (asked.value, refresh.value)
      #expect(fixture.origin.requests(to: "/manifest.json").last?.headers[.ifNoneMatch] == nil)
    }
  }

  @Test(
    "after a refresh without an answer the server is asked at the usual time, or after a pause if it has never answered",
    arguments: [true, false])
  func failedRefresh(_ hasAnswered: Bool) async throws {
    try await LoadingFixture.running { (fixture: LoadingFixture) async throws in
      try fixture.publish(Self.scripts)
      let clock = Mutex(ContinuousClock.now)
      let verifier = try fixture.verifier(.every(.seconds(60))) { clock.withLock(\.self) }
      if hasAnswered { _ = try await verifier.verified() }
      clock.withLock { $0 += .seconds(59) }
      fixture.origin.script("/manifest.json", [.status(503)])
      await #expect(throws: SourceError.self) { try await verifier.refresh() }
      let asked = fixture.origin.requests.count
      clock.withLock { $0 += .seconds(2) }
      if hasAnswered {
        #expect(try await verifier.verified().release.name == "r1")
      } else {
        await #expect(throws: SourceError.self) { try await verifier.verified() }
      }
      #expect(fixture.origin.requests.count == asked + (hasAnswered ? 1 : 0))
    }
  }

  @Test("a refresh that is cancelled ends, and those who wait with it ask again")
  func cancelledRefresh() async throws {
    try await Self.withSlowAnswer { fixture, firstAnswer in
      let verifier = try fixture.verifier()
      let refresh = Task { try await verifier.refresh() }
      try await fixture.origin.waitForRequests(1, to: "/manifest.json")
      let asked = Task { try await verifier.verified() }
      refresh.cancel()
      await #expect(throws: CancellationError.self) { try await refresh.value }
      #expect(try await asked.value.release.name == "r2")
      firstAnswer.send()
    }
  }

  @Test("a shut down cancels the questions that are under way, and nothing is asked afterwards")
  func shutDown() async throws {
    try await Self.withSlowAnswer { fixture, firstAnswer in
      let verifier = try fixture.verifier()
      let asked = Task { try await verifier.verified() }
      try await fixture.origin.waitForRequests(1, to: "/manifest.json")
      await verifier.shutDown()
      await #expect(throws: CancellationError.self) { try await asked.value }
      await #expect(throws: CancellationError.self) { try await verifier.refresh() }
      #expect(fixture.origin.requests.count == 1)
      firstAnswer.send()
    }
  }

  @Test(
    "an invalid manifest is refused with its reason and changes nothing",
    arguments: [
      ("not json", "begins with"), ("<html>", "HTML"),
      ("{\"schema\":1,\"release\":\"r\",\"bundles\":[{}]}", "bundles[0]"),
    ])
  func invalidManifest(_ text: String, _ reason: String) async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      _ = try await fixture.preload()
      fixture.origin.serve("/manifest.json", Array(text.utf8), etag: "\"bad\"")
      await #expect {
        try await fixture.verifier().verified()
      } throws: { error in
        "\(error)".contains(reason) && "\(error)".contains("/manifest.json")
      }
      #expect(try await fixture.stored == Self.scripts)
      #expect(try await fixture.store.source(fixture.source)?.incoming == nil)
    }
  }

  @Test func aManifestMayBeEncoded() async throws {
    try await LoadingFixture.running { fixture in
      let manifest = try fixture.publish(Self.scripts)
      fixture.origin.always(
        "/manifest.json", .encoded("gzip", try Gzip.encode(String(decoding: JSON.encode(manifest), as: UTF8.self))))
      #expect(try await fixture.verifier().verified().release.name == "r1")
    }
  }
}
