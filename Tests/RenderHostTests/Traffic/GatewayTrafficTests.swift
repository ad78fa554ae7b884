import CurlTransport
import Foundation
import PageTesting
import Testing

@testable import CacheGateway
@testable import RenderHost

/// All faults at once for a while: an origin that stops, returns, is slow and cuts its answers, while items are changed
/// and purged and many clients send requests. No answer mixes two versions, and every stale one was permitted.
struct GatewayTrafficTests {
  private static let clients = 32

  @Test(
    "no answer mixes two versions, and every stale one was permitted",
    .enabled(if: Traffic.isWanted, "set \(Traffic.variable)"))
  func consistentAnswers() async throws {
    try await GatewayFixture.running({ settings in
      settings.limits.connectionsPerAddress = 1_000
      settings.gateway.origins[0].idleTime = .seconds(2)
      settings.gateway.origins[0].patience = .init(
        failures: 2, rest: .milliseconds(100), longestRest: .milliseconds(400))
    }) { fixture in
      let (clock, tally) = (TrafficClock(), TrafficTally())
      fixture.origin.respond("/item/*") { clock.answer($0) }
      let transport = try CurlTransport(.init(connectionsPerHost: Self.clients, connections: Self.clients))
      let end = ContinuousClock.now + Traffic.duration
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<Self.clients {
          let client = TrafficClient(
            name: "client\(number)", base: "http://127.0.0.1:\(fixture.port)", clock: clock, tally: tally,
            transport: transport)
          group.addTask { try await client.run(until: end) }
        }
        group.addTask { try await Self.trouble(fixture.origin, until: end) }
        group.addTask { try await Self.purge(fixture, clock, tally, until: end) }
        try await group.waitForAll()
      }
      let counts = tally.counts
      #expect(counts.wrong == [])
      for status in ["200", "206", "304", "502", "cut"] { #expect(counts.answers[status, default: 0] > 0, "\(status)") }
      for result in [GatewayResult.hit, .stale, .revalidated, .collapsed, .miss, .pass, .fault] {
        #expect(fixture.answers(result) > 0, "\(result)")
      }
      // The origin works normally again.
      fixture.origin.always("/item/*", .normal)
      try await eventually("it answers") { try await fixture.get("/item/0").status == 200 }
    }
  }

  private static let faults: [Fault] = [
    .normal, .normal, .chunked, .resetAfter(bytes: 3_000), .contentLengthTooLong(by: 100), .cutChunked(after: 2_000),
    .delay(.milliseconds(150)), .drip(bytesPerSecond: 400_000), .closeBeforeHead, .status(503), .stall(afterBytes: 500),
    .closeDelimited(),
  ]

  private static func trouble(_ origin: FaultOrigin, until end: ContinuousClock.Instant) async throws {
    while .now < end {
      for fault in faults.shuffled() where .now < end {
        origin.always("/item/*", fault)
        try await Task.sleep(for: .milliseconds(300))
      }
      origin.always("/item/*", .normal)
      try await origin.refuseConnections()
      try await Task.sleep(for: .milliseconds(500))
      try await origin.acceptConnections()
    }
  }

  private static func purge(
    _ fixture: GatewayFixture, _ clock: TrafficClock, _ tally: TrafficTally, until end: ContinuousClock.Instant
  ) async throws {
    while .now < end {
      let item = TrafficItem(number: .random(in: 0..<TrafficClient.items))
      let started = clock.now
      _ = try await fixture.purge(PurgeOrder(.url(item.path)))
      tally.raiseFloor(of: item, to: started)
      try await Task.sleep(for: .milliseconds(20))
    }
  }
}
