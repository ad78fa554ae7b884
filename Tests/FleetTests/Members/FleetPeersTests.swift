import Fleet
import Testing

struct FleetPeersTests {
  private func message(_ host: String, _ sequence: UInt64, process: String = "1") -> FleetMessage {
    FleetMessage(host: host, process: process, sequence: sequence)
  }

  @Test("hosts that were heard of in the last ten minutes, and have not left, belong to the fleet")
  func presence() {
    var peers = FleetPeers()
    for (host, second) in [("b", Int64(0)), ("a", 100), ("c", 200)] {
      for later: Int64 in [0, 1] { peers.hear(message(host, 1), at: second - 1 + later) }
    }
    #expect(peers.present(at: 599).map(\.name) == ["a", "b", "c"])
    #expect(peers.present(at: 600).map(\.name) == ["a", "c"])
    var leaving = message("a", 1)
    leaving.isLeaving = true
    peers.hear(leaving, at: 601)
    #expect(peers.present(at: 601).map(\.name) == ["c"])
  }

  @Test("a host that was started again is not made to leave by the last message of its former process")
  func restart() {
    var peers = FleetPeers()
    peers.hear(message("a", 1, process: "2"), at: 0)
    var leaving = message("a", 1)
    leaving.isLeaving = true
    peers.hear(leaving, at: 1)
    #expect(peers.present(at: 1).map(\.name) == ["a"])
  }

  @Test("a name that was heard of once is forgotten after a minute, and there are a hundred of them at most")
  func ghosts() {
    var peers = FleetPeers()
    for second: Int64 in [0, 1] { peers.hear(message("a", 1), at: second) }
    for number in 0..<2_000 { peers.hear(message("ghost\(number)", 1), at: 2) }
    #expect(peers.present(at: 2).count == 1 + FleetPeers.newLimit)
    // Those that are known are heard meanwhile, and the others find room again.
    peers.hear(message("a", 2), at: 3)
    #expect(peers.present(at: 62).map(\.name) == ["a"])
    let isHeard = peers.hear(message("b", 1), at: 62)
    #expect(isHeard && peers.present(at: 62).map(\.name) == ["a", "b"])
  }

  @Test("no more than two thousand hosts are remembered, and a hundred messages a second are sent by all together")
  func limits() {
    var peers = FleetPeers()
    #expect(peers.period(at: 0) == 1)
    for number in 0..<FleetPeers.limit {
      // Each is heard of twice.
      for second: Int64 in [0, 1] { peers.hear(message("h\(number)", 1), at: Int64(number / 50) + second) }
    }
    let now = Int64(FleetPeers.limit / 50)
    let (more, known) = (peers.hear(message("more", 1), at: now), peers.hear(message("h7", 2), at: now))
    #expect(!more && known)
    #expect(peers.present(at: now).count == FleetPeers.limit && peers.period(at: now) == 20)
    let later = peers.hear(message("more", 1), at: 700)
    #expect(later)
  }

  @Test("a message is of a known host if that was heard of before, in the same process")
  func knowledge() {
    var peers = FleetPeers()
    #expect(!peers.know(message("a", 1)))
    peers.hear(message("a", 1), at: 0)
    #expect(peers.know(message("a", 2)) && !peers.know(message("a", 2, process: "2")))
  }

  @Test(
    "bytes that are no message are ignored",
    arguments: [
      "", "[]", "{", #"{"host": "a"}"#, #"{"host": "a b", "process": "1", "sequence": 1}"#,
      #"{"host": "a", "process": "1", "sequence": -1}"#,
      #"{"host": "a", "process": "1", "sequence": 1, "confirmation": {"order": "x", "purged": 9223372036854775807}}"#,
      #"{"host": "a", "process": "1", "sequence": 1, "confirmation": {"order": "x", "purged": -1}}"#,
      #"{"host": "a", "process": "1", "sequence": 1, "report": {"hits": 1e308}}"#,
      #"{"host": "a", "process": "1", "sequence": 1, "pad": ""# + String(repeating: "x", count: 5000) + #""}"#,
    ])
  func foreignBytes(_ text: String) { #expect(FleetMessage(reading: Array(text.utf8)) == nil) }

  @Test("a message is read as it was written")
  func messages() {
    var written = message("a", 1 << 62)
    written.journal = 1_700_000_000_000_000_000
    written.confirmation = .init(order: "x", purged: 3)
    written.report = .init(release: "r1", isHalted: true, hits: 0.5)
    #expect(FleetMessage(reading: written.bytes) == written)
  }
}
