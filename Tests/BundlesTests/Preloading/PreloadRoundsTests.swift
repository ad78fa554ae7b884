import HTTPTypes
import PageTesting
import TestSupport
import Testing

@testable import Bundles
@testable import HTTPTransport

/// Preloads that continue by themselves.
struct PreloadRoundsTests {
  private static let scripts = ["a": "var a = 1", "b": "var b = 2", "c": "var c = 3"]

  /// A preload whose pauses are `sleep`.
  private static func preload(
    _ fixture: LoadingFixture, _ schedule: PreloadSchedule = .standard, jobs: Int = 1,
    reachability: Reachability? = nil,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) throws -> Preload {
    let client = reachability.map { OriginClient(fixture.transport, reachability: $0) }
    return Preloader(
      store: fixture.store, verifier: try fixture.verifier(client: client),
      downloader: try fixture.downloader(client: client), options: .init(jobs: jobs), sleep: sleep
    ).start(schedule)
  }

  @Test("a server that becomes unreachable does not end a preload")
  func unreachableInTheMiddle() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let origin = fixture.origin
      origin.hold("/b/b.js")
      let pauses = Recorder<Duration>()
      let preload = try Self.preload(fixture) { pause in
        pauses.append(pause)
        // Still unreachable in the second round.
        if pauses.all.count == 2 { try await origin.acceptConnections() }
      }
      let seen = Task {
        var pauses: [PreloadUpdate.Pause] = []
        for await update in preload.updates {
          if let pause = update.pause, pause != pauses.last { pauses.append(pause) }
        }
        return pauses
      }
      try await origin.waitForRequests(1, to: "/b/b.js")
      // The rest must not arrive before the server is gone.
      origin.hold("/b/c.js")
      origin.release("/b/b.js")
      try await origin.refuseConnections()
      origin.release("/b/c.js")
      let report = await preload.report()
      #expect(report.failures == [])
      #expect((report.downloaded, report.upToDate, report.activated) == (3, 0, true))
      #expect(try await fixture.stored == Self.scripts)
      // The manifest was requested once.
      #expect(origin.requestCount(path: "/manifest.json") == 1)
      #expect(pauses.all.count == 2)
      // The pause names the failures and the time of the next round.
      let first = try #require(await seen.value.first)
      #expect(first.missing.map(\.name).contains("c") && first.missing.allSatisfy(\.isPassing), "\(first)")
      #expect(first.until != nil)
      // A late reader gets the end.
      var late: [PreloadUpdate] = []
      for await update in preload.updates { late.append(update) }
      #expect(late.map(\.report) == [report] && late.first?.pause == nil)
    }
  }

  @Test("a server that is unreachable at the start is soon asked again")
  func unreachableAtTheStart() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let origin = fixture.origin
      try await origin.refuseConnections()
      let report = try await Self.preload(fixture) { _ in try await origin.acceptConnections() }.report()
      #expect(report.failures == [])
      #expect((report.downloaded, report.activated) == (3, true))
    }
  }

  @Test("a bundle that the server does not have is requested at growing intervals, until a new manifest has it")
  func missingBundle() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let origin = fixture.origin
      origin.always("/b/b.js", .status(404))
      let pauses = Recorder<Duration>()
      let preload = try Self.preload(fixture) { pause in
        pauses.append(pause)
        guard pauses.all.count == 3 else { return }
        origin.always("/b/b.js", .normal)
        try fixture.publish(["a": "var a = 1", "b": "var b = 22", "c": "var c = 3"], release: "r2")
      }
      let report = await preload.report()
      #expect((report.failures, report.release, report.activated) == ([], "r2", true))
      #expect(origin.requestCount(path: "/b/b.js") == 4)
      for (pause, longest) in zip(pauses.all, [60, 120, 240]) {
        #expect(pause >= .seconds(longest / 2) && pause <= .seconds(longest), "\(pauses.all)")
      }
    }
  }

  @Test("a cancelled preload ends its pause, and reports the missing bundles")
  func cancellingAPause() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      fixture.origin.always("/b/b.js", .status(404))
      let preload = try Self.preload(fixture) { try await Task.sleep(for: $0) }
      for await update in preload.updates where update.pause != nil { break }
      preload.cancel()
      let report = await preload.report()
      #expect(report.failures.map(\.name) == ["b"])
      #expect(report.downloaded == 2)
    }
  }

  @Test("with an interval, the server is asked again and newer bundles are fetched")
  func interval() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let looks = Monitor(0)
      let preload = try Self.preload(fixture, .init(every: .seconds(600))) { pause in
        #expect(pause == .seconds(600))
        looks.change { $0 += 1 }
        guard looks.read({ $0 }) < 3 else { return try await Task.sleep(for: pause) }
        try fixture.publish(["a": "var a = 11"], release: "r2")
      }
      try await eventually("a third look") { looks.read { $0 == 3 } }
      #expect(try await fixture.stored == ["a": "var a = 11"])
      // The first manifest, the new one, and a 304.
      #expect(fixture.origin.requestCount(path: "/manifest.json") == 3)
      preload.cancel()
    }
  }

  @Test("a check that does not reach the server is soon repeated")
  func unreachableInterval() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let origin = fixture.origin
      let pauses = Recorder<Duration>()
      let preload = try Self.preload(fixture, .init(every: .seconds(600))) { pause in
        pauses.append(pause)
        switch pauses.all.count {
        case 1:
          try fixture.publish(["a": "var a = 11"], release: "r2")
          try await origin.refuseConnections()
        case 2: try await origin.acceptConnections()
        default: try await Task.sleep(for: pause)
        }
      }
      try await eventually("a third pause") { pauses.all.count == 3 }
      #expect(try await fixture.stored == ["a": "var a = 11"])
      #expect(pauses.all[1] <= .seconds(1) && pauses.all[2] == .seconds(600))
      preload.cancel()
    }
  }

  // MARK: The network

  @Test("while the setting is offline no request is sent, and its end wakes the preload")
  func offlineSetting() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let reachability = Reachability()
      reachability.setting = .offline
      let preload = try Self.preload(fixture, reachability: reachability) { _ in }
      for await update in preload.updates where update.pause != nil {
        #expect(update.pause?.until == nil)
        #expect(update.pause?.missing.first?.error.contains("the network is set to offline") == true)
        break
      }
      #expect(fixture.origin.requests.isEmpty)
      reachability.setting = .observed
      let report = await preload.report()
      #expect((report.failures, report.activated) == ([], true))
    }
  }

  @Test("a success of another request to the origin wakes the preload")
  func returningNetwork() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let reachability = Reachability()
      let client = OriginClient(fixture.transport, reachability: reachability)
      try await fixture.origin.refuseConnections()
      // The first pause lasts until a signal ends it; later ones take no time.
      let pauses = Recorder<Duration>()
      let preload = try Self.preload(fixture, reachability: reachability) { pause in
        pauses.append(pause)
        if pauses.all.count == 1 { try await Task.sleep(for: .seconds(3600)) }
      }
      for await update in preload.updates where update.pause != nil { break }
      for _ in 0..<2 { _ = try? await client.send(.get, try fixture.source) }
      #expect(reachability.isAway(try fixture.source))
      try await fixture.origin.acceptConnections()
      _ = try await client.send(.get, try fixture.source)
      let report = await preload.report()
      #expect((report.failures, report.activated) == ([], true))
    }
  }

  // MARK: Release events

  @Test("a release event wakes a complete preload, and the connection is made again with the last event ID")
  func releaseEvents() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      let origin = fixture.origin
      let ids = Recorder<String?>()
      let isReleased = Monitor(false)
      let lastEventID = try #require(HTTPField.Name("Last-Event-ID"))
      origin.respond("/releases/events") { request in
        ids.append(request.headers[lastEventID])
        // The known release twice, and then the new one.
        var text = "event: release\nid: 1\ndata: {\"release\":\"r1\",\"sequence\":1}\n\n"
        if ids.all.count > 1 {
          try await eventually("the release") { isReleased.read { $0 } }
          text = "event: release\nid: 2\ndata: {\"release\":\"r2\",\"sequence\":1}\n\n"
        }
        return OriginResponse(headers: [.contentType: "text/event-stream; charset=utf-8"], body: Array(text.utf8))
      }
      let preload = try Self.preload(fixture, .init(events: try fixture.url("/releases/events"))) { _ in }
      try await eventually("the first release") { try await fixture.stored == Self.scripts }
      try await eventually("a second connection") { ids.all.count > 1 }
      let before = origin.requestCount(path: "/manifest.json")
      try fixture.publish(["a": "var a = 11"], release: "r2")
      isReleased.change { $0 = true }
      try await eventually("the second release") { try await fixture.stored == ["a": "var a = 11"] }
      #expect(origin.requestCount(path: "/manifest.json") > before)
      #expect(ids.all.prefix(2) == [nil, "1"])
      preload.cancel()
    }
  }

  @Test(
    "events that cannot be had do not keep a preload from its work",
    arguments: [
      Fault.status(404), .html("<p>Sign in</p>"), .status(204), .closeBeforeHead,
    ])
  func eventsThatCannotBeHad(_ fault: Fault) async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(Self.scripts)
      fixture.origin.always("/releases/events", fault)
      let preload = try Self.preload(fixture, .init(events: try fixture.url("/releases/events"))) {
        try await Task.sleep(for: $0)
      }
      try await fixture.origin.waitForRequests(1, to: "/releases/events")
      try await eventually("everything") { try await fixture.stored == Self.scripts }
      preload.cancel()
    }
  }
}
