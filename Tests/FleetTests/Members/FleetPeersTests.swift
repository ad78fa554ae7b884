import Fleet
import HTTPCaching
import Testing

struct FleetPeersTests {
  private func at(_ seconds: Int64) -> HTTPDate { HTTPDate(secondsSinceEpoch: seconds) }

  private func message(_ host: String, _ sequence: UInt64, process: String = "1") -> FleetMessage {
    FleetMessage(host: host, process: process, sequence: sequence)
  }

  @Test("hosts that were heard of in the last ten minutes, and have not left, belong to the fleet")
  func presence() {
    var peers = FleetPeers()
    for (host, second) in [("b", Int64(0)), ("a", 100), ("c", 200)] { peers.hear(message(host, 1), at: at(second)) }
    #expect(peers.present(at: at(599)).map(\.name) == ["a", "b", "c"])
    #expect(peers.present(at: at(600)).map(\.name) == ["a", "c"])
    var leaving = message("a", 1)
    leaving.isLeaving = true
    peers.hear(leaving, at: at(601))
    #expect(peers.present(at: at(601)).map(\.name) == ["c"])
  }

  @Test("a host that was started again is not made to leave by the last message of its former process")
  func restart() {
    var peers = FleetPeers()
    peers.hear(message("a", 1, process: "2"), at: at(0))
    var leaving = message("a", 1)
    leaving.isLeaving = true
    peers.hear(leaving, at: at(1))
    #expect(peers.present(at: at(1)).map(\.name) == ["a"])
  }

  @Test("an order is applied by the hosts whose sequence has reached it; messages that arrive late change nothing")
  func sequences() {
    var peers = FleetPeers()
    for (host, sequence) in [("a", UInt64(5)), ("b", 6), ("c", 7), ("c", 3)] {
      peers.hear(message(host, sequence), at: at(0))
    }
    let applied = peers.applied(6, at: at(0))
    #expect(applied.by == ["b", "c"] && applied.notBy == ["a"])
    // Its store was lost.
    peers.hear(message("c", 2, process: "2"), at: at(1))
    #expect(peers.applied(6, at: at(1)).notBy == ["a", "c"])
  }

  @Test("no more than two thousand hosts are remembered, and a hundred messages a second are sent by all together")
  func limits() {
    var peers = FleetPeers()
    #expect(peers.period(at: at(0)) == 1)
    for number in 0..<FleetPeers.limit { peers.hear(message("h\(number)", 1), at: at(0)) }
    let (more, known) = (peers.hear(message("more", 1), at: at(1)), peers.hear(message("h7", 2), at: at(1)))
    #expect(!more && known)
    #expect(peers.present(at: at(1)).count == FleetPeers.limit && peers.period(at: at(1)) == 20)
    let later = peers.hear(message("more", 1), at: at(700))
    #expect(later)
  }

  @Test(
    "bytes that are no message are ignored",
    arguments: [
      "", "[]", "{", #"{"host": "a"}"#, #"{"host": "a b", "process": "1", "sequence": 1}"#,
      #"{"host": "a", "process": "1", "sequence": -1}"#,
      #"{"host": "a", "process": "1", "sequence": 1, "pad": ""# + String(repeating: "x", count: 5000) + #""}"#,
    ])
  func foreignBytes(_ text: String) { #expect(FleetMessage(reading: Array(text.utf8)) == nil) }

  @Test("a message is read as it was written")
  func messages() {
    var written = message("a", 1 << 62)
    written.confirmation = .init(order: "x", purged: 3)
    written.report = .init(release: "r1", isHalted: true, hits: 0.5)
    #expect(FleetMessage(reading: written.bytes) == written)
  }
}
