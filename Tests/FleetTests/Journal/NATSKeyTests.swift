import Fleet
import PageTesting
import TestServers
import Testing

/// Keys with revisions on a real NATS server.
@Suite(.timeLimit(.minutes(2)), .enabled(if: NATSCluster.isInstalled, "nats-server is not installed"))
struct NATSKeyTests {
  @Test("a value is replaced by those who know its revision, and by nobody else")
  func revisions() async throws {
    try await NATSCluster.running { (cluster: NATSCluster) async throws in
      let servers = try #require(NATSServers(cluster.urls))
      let (fleet, host) = (try #require(FleetName("test")), try #require(FleetName("a")))
      let journal = try NATSJournal(servers, fleet: fleet, host: host)
      try await eventually("the server answers") { (try? await journal.span(of: .orders)) != nil }
      #expect(try await journal.value(of: "pointer") == nil)
      let first = try #require(try await journal.replace("pointer", nil, with: [1]))
      #expect(try await journal.replace("pointer", nil, with: [2]) == nil)
      let value = try #require(try await journal.value(of: "pointer"))
      #expect(value.bytes == [1] && value.revision == first)
      let second = try #require(try await journal.replace("pointer", first, with: [2]))
      #expect(try await journal.replace("pointer", first, with: [3]) == nil)
      let next = try #require(try await journal.value(of: "pointer"))
      #expect(next.bytes == [2] && next.revision == second)
      #expect(try await journal.value(of: "other") == nil)
    }
  }
}
