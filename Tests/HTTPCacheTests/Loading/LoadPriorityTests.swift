import HTTPTransport
import PageTesting
import TestSupport
import Testing

@testable import HTTPCache

/// Which of the requests that wait for a transfer goes first.
struct LoadPriorityTests {
  @Test("a more urgent request for the same response raises the one that waits")
  func raising() async throws {
    try await ResourceFixture.running { configuration, _ in
      configuration.transfers = 1
    } _: { fixture in
      for path in ["/first", "/other", "/wanted"] { fixture.serve(path, "text") }
      fixture.origin.hold("/first")
      var tasks = [Task { try await fixture.load("/first").text }]
      try await fixture.origin.waitForRequests(1, to: "/first")
      for (path, priority) in [("/other", LoadPriority.normal), ("/wanted", .low), ("/wanted", .high)] {
        let request = fixture.request(path, priority: priority)
        let before = fixture.loader.inFlight.passengers(
          of: FlightKey(try fixture.outgoing(request), try fixture.outgoing(request).head))
        tasks.append(Task { try await fixture.load(request).text })
        try await fixture.waitForPassengers(before + 1, request)
        try await eventually("it waits") { fixture.loader.gate.counts.waiting == (path == "/other" ? 1 : 2) }
      }
      // The second request for it has been seen by the gate when its ticket is there.
      try await eventually("it was raised") { fixture.loader.gate.counts.tickets == 3 }
      fixture.origin.release("/first")
      for task in tasks { #expect(try await task.value == "text") }
      #expect(fixture.origin.requests.map(\.path) == ["/first", "/wanted", "/other"])
    }
  }

  @Test("a request that a handler answers leaves no number at the gate")
  func handlers() async throws {
    try await ResourceFixture.running { fixture in
      let updates = fixture.loader.updates(for: fixture.request("/a"), from: "handler") { _ in
        HandledResponse(bytes: Array("answer".utf8))
      }
      for await update in updates {
        #expect(try await update.line == "network: answer")
      }
      try await fixture.waitUntilIdle()
    }
  }
}
