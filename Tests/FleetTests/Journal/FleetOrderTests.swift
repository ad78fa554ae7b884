import Fleet
import HTTPTransport
import Testing

struct FleetOrderTests {
  @Test(
    "an order is read as it was written",
    arguments: [
      FleetOrder.Task.purge(.object(["url": .string("/a"), "soft": .bool(true)])), .release("r1"),
      .report(FleetOrder.Report(release: "ab", isBad: true, install: "cd")),
      .halt(FleetOrder.Halt(release: "ab", isHalted: false)),
      .halt(FleetOrder.Halt(release: "ab", isHalted: true, isKept: true)),
    ])
  func orders(_ task: FleetOrder.Task) {
    let order = FleetOrder(task, from: "a", id: "1")
    #expect(FleetOrder(reading: order.bytes) == order)
  }

  @Test(
    "an order has the bytes that hosts of other versions read",
    arguments: [
      (
        FleetOrder.Task.purge(.object(["tags": .array([.string("a/b"), .string("ü\"")]), "soft": .bool(true)])),
        #"{"host":"a","id":"1","purge":{"soft":true,"tags":["a/b","ü\""]}}"#
      ),
      (.release("r1"), #"{"host":"a","id":"1","release":"r1"}"#),
      (
        .report(FleetOrder.Report(release: "ab", isBad: true, install: "cd")),
        #"{"host":"a","id":"1","report":{"install":"cd","isBad":true,"release":"ab"}}"#
      ),
      (
        .halt(FleetOrder.Halt(release: "ab", isHalted: true, isKept: true)),
        #"{"halt":{"isHalted":true,"isKept":true,"release":"ab"},"host":"a","id":"1"}"#
      ),
    ])
  func bytes(_ task: FleetOrder.Task, _ text: String) {
    #expect(String(decoding: FleetOrder(task, from: "a", id: "1").bytes, as: UTF8.self) == text)
  }

  @Test(
    "what is no order of this version is an unknown one",
    arguments: [
      "", "[]", "{", "{}", #"{"id": 1}"#, #"{"purge": {}, "release": "r1"}"#, #"{"report": {}}"#, #"{"halt": 1}"#,
      #"{"release": 1}"#, #"{"sing": "a song"}"#,
      #"{"release": ""# + String(repeating: "x", count: FleetOrder.byteLimit) + #""}"#,
    ])
  func foreignEntries(_ text: String) { #expect(FleetOrder(reading: Array(text.utf8)).task == .unknown) }

  @Test("reports are read as they were written, and whatever else is in their log has none")
  func reports() {
    let reports: [FleetOrder.Report] = [
      .init(release: "ab", isBad: true, install: "x"), .init(release: "cd", isBad: false, install: "y"),
    ]
    #expect([FleetOrder.Report](readingEntry: reports.entry) == reports)
    let tooMany = [FleetOrder.Report](repeating: reports[0], count: [FleetOrder.Report].entryLimit + 1)
    #expect([FleetOrder.Report](readingEntry: tooMany.entry).isEmpty)
    for text in ["", "[]", "{}", #"{"reports": 1}"#, #"{"reports": [{"release": "ab"}]}"#] {
      #expect([FleetOrder.Report](readingEntry: Array(text.utf8)).isEmpty)
    }
  }

  @Test(
    "names are 1 to 32 letters, digits, hyphens and underscores",
    arguments: [
      ("a", true), ("host-1_A", true), ("", false), ("a.b", false), ("a b", false), ("ä", false), (">", false),
    ])
  func names(_ text: String, _ isName: Bool) { #expect((FleetName(text) != nil) == isName) }

  @Test(
    "servers are nats:// and tls:// URLs with a host",
    arguments: [
      ("nats://127.0.0.1:4222", true), ("tls://a:b@nats.example", true), ("nats://[::1]:4222/", true), ("", false),
      ("127.0.0.1:4222", false), ("http://a", false), ("nats://", false), ("nats://a/b", false), ("nats://a?b", false),
      ("nats://a,nats://b", false),
    ])
  func servers(_ url: String, _ isServer: Bool) { #expect((NATSServers([url]) != nil) == isServer) }

  @Test("users, passwords and tokens of servers are not shown")
  func secrets() throws {
    let servers = try #require(NATSServers(["nats://user:secret@a:4222", "tls://token@b"]))
    #expect(servers.places == ["nats://a:4222", "tls://b"])
  }
}
