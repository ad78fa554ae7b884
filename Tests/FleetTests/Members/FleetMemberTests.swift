import Fleet
import Foundation
import HTTPTransport
import Logging
import PageTesting
import TestSupport
import Testing

/// Hosts of a fleet on a journal in memory.
@Suite(.timeLimit(.minutes(2)))
struct FleetMemberTests {
  private let folder: TemporaryDirectory
  private let journal = TestJournal()

  init() throws { folder = try TemporaryDirectory() }

  /// A host that keeps the orders it gets.
  final class Host: Sendable {
    let done = Monitor<[FleetOrder.Task]>([])
    let settled = Monitor(0)
    let reconnected = Monitor(0)
    let failures = Monitor(0)
    let counted = Monitor<[FleetOrder.Report]>([])
    /// The releases that the next reports halt.
    let halted = Monitor<[String]>([])
    /// Orders wait while it is `true`.
    let isHeld = Monitor(false)

    func carryOut(_ task: FleetOrder.Task) async throws -> Int {
      // It may take long, and cannot be cancelled.
      await Task { [isHeld] in try? await isHeld.wait(within: .seconds(60)) { !$0 } }.value
      if failures.change({ count in
        defer { count = max(0, count - 1) }
        return count > 0
      }) {
        throw StoreIsFull()
      }
      done.change { $0.append(task) }
      return 2
    }

    func count(_ reports: [FleetOrder.Report]) async throws -> [String] {
      counted.change { $0 += reports }
      return halted.read { $0 }
    }

    func settle() async throws { settled.change { $0 += 1 } }
    func reconnect() { reconnected.change { $0 += 1 } }
    func report() async -> FleetMessage.Report { FleetMessage.Report(release: "r1") }

    var fleetHost: FleetHost {
      FleetHost(carryOut: carryOut, count: count, synchronize: settle, reconnect: reconnect, report: report)
    }
  }

  struct StoreIsFull: Error {}

  private func member(_ name: String, as other: String? = nil) throws -> FleetMember {
    var configuration = FleetMember.Configuration(
      name: try #require(FleetName(other ?? name)), positionFile: folder.file("\(name)/fleet.json"))
    configuration.patience = .milliseconds(300)
    return FleetMember(
      configuration, journal: journal.connection(of: name),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  /// Runs hosts with these names until `body` returns.
  private func running(
    _ names: [String], _ body: ([(member: FleetMember, host: Host)]) async throws -> Void
  ) async throws {
    let hosts = try names.map { (member: try member($0), host: Host()) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (member, host) in hosts { group.addTask { await member.run(host.fleetHost) } }
      defer { group.cancelAll() }
      for (member, _) in hosts {
        try await eventually("\(member.name) knows all") {
          member.status.phase == .current && member.status.peers.count == names.count
        }
      }
      try await body(hosts)
    }
  }

  @Test("all hosts carry out all orders in one order, and the answer names those that have")
  func orders() async throws {
    try await running(["a", "b", "c"]) { hosts in
      let receipts = try await withThrowingTaskGroup(of: FleetStatus.Order.self) { group in
        for number in 0..<30 {
          group.addTask { try await hosts[number % 3].member.give(.release("r\(number)"), waiting: .seconds(30)) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      for receipt in receipts {
        #expect(receipt.confirmed == ["a", "b", "c"] && receipt.missing == [] && receipt.purged == 6)
      }
      let order = journal.orders.map(\.task)
      #expect(order.count == 30)
      for (_, host) in hosts { #expect(host.done.read { $0 } == order) }
      #expect(hosts[0].member.status.orders.first?.confirmed == ["a", "b", "c"])
    }
  }

  @Test("an order whose answer was lost is given again under its name, and carried out once")
  func lostAnswer() async throws {
    try await running(["a"]) { hosts in
      journal.loseNextAnswer()
      let receipt = try await hosts[0].member.give(.release("r1"), waiting: .seconds(30))
      #expect(receipt.sequence == 1 && receipt.confirmed == ["a"])
      _ = try await hosts[0].member.give(.release("r2"), waiting: .seconds(30))
      #expect(hosts[0].host.done.read { $0 } == [.release("r1"), .release("r2")])
    }
  }

  @Test("an order that cannot be carried out is tried again, and later ones wait for it")
  func failure() async throws {
    try await running(["a", "b"]) { hosts in
      hosts[1].host.failures.change { $0 = 2 }
      let receipt = try await hosts[0].member.give(.release("r1"), waiting: .seconds(1))
      #expect(receipt.confirmed == ["a"] && receipt.missing == ["b"])
      let next = try await hosts[0].member.give(.release("r2"), waiting: .seconds(30))
      #expect(next.confirmed == ["a", "b"])
      #expect(hosts[1].host.done.read { $0 } == [.release("r1"), .release("r2")])
    }
  }

  @Test("a host that is cut off gives no orders, says so, and catches up before it is current again")
  func cut() async throws {
    try await running(["a", "b"]) { hosts in
      let (other, host) = hosts[1]
      journal.cut("b")
      await #expect(throws: JournalError.away("it is cut")) { try await other.give(.release("x"), waiting: .zero) }
      let receipt = try await hosts[0].member.give(.release("r1"), waiting: .seconds(2))
      #expect(receipt.missing == ["b"])
      try await eventually("b is cut off") { other.status.phase == .cutOff }
      // The stream of reports is asked for at another time.
      let reports = "reports of installs cannot be counted now: the journal is away: it is cut"
      #expect(other.status.problems.filter { $0 != reports } == ["the journal is away: it is cut"])
      #expect(host.reconnected.read { $0 } == 1)
      journal.heal("b")
      try await eventually("b has caught up") { other.status.phase == .current }
      #expect(host.done.read { $0 } == [.release("r1")])
      try await eventually("nothing is wrong") { other.status.problems == [] }
      try await host.reconnected.wait(within: .seconds(20)) { $0 >= 2 }
    }
  }

  @Test("a host that starts again goes on where it was, after what it had done was on the disk")
  func restart() async throws {
    try await running(["a"]) { hosts in
      _ = try await hosts[0].member.give(.release("r1"), waiting: .seconds(30))
    }
    let file = folder.file("a/fleet.json")
    let position = try JSONDecoder().decode(
      FleetPosition.Saved.self, from: Data(contentsOf: URL(fileURLWithPath: file)))
    #expect(position.applied == 1 && position.journal == 1)
    journal.append(FleetOrder(.release("r2"), id: "2"))
    try await running(["a"]) { hosts in
      #expect(hosts[0].host.done.read { $0 } == [.release("r2")])
      try await hosts[0].host.settled.wait(within: .seconds(20)) { $0 > 0 }
    }
  }

  @Test("a host whose orders the journal has dropped, or that finds another journal, validates what it has stored")
  func droppedOrders() async throws {
    try await running(["a"]) { hosts in
      _ = try await hosts[0].member.give(.release("r1"), waiting: .seconds(30))
    }
    for number in 2...5 { journal.append(FleetOrder(.release("r\(number)"), id: "\(number)")) }
    journal.drop(through: 4)
    try await running(["a"]) { hosts in
      #expect(hosts[0].host.done.read { $0 } == [.release("r5")])
      let first = try #require(hosts[0].member.storedUse(at: .now).answersSince)
      journal.replace()
      try await eventually("the other journal is followed") {
        journal.append(FleetOrder(.release("new"), id: UUID().uuidString))
        return hosts[0].host.done.read { $0 }.contains(.release("new"))
      }
      #expect(try #require(hosts[0].member.storedUse(at: .now).answersSince) >= first)
    }
  }

  @Test("two hosts with one name are told of it")
  func sharedName() async throws {
    let (one, other) = (try member("a"), try member("b", as: "a"))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for member in [one, other] { group.addTask { await member.run(Host().fleetHost) } }
      defer { group.cancelAll() }
      for member in [one, other] {
        try await eventually("it is told") { member.status.problems.contains { $0.contains("called a too") } }
      }
    }
  }

  @Test("an order whose confirmations are forged, or are of strangers, is confirmed by those who have carried it out")
  func forgedConfirmations() async throws {
    try await running(["a", "b"]) { hosts in
      hosts[1].host.isHeld.change { $0 = true }
      let stranger = journal.connection(of: "stranger")
      let giving = Task { try await hosts[0].member.give(.release("r1"), waiting: .seconds(2)) }
      try await eventually("it is in the journal") { journal.orders.count == 1 }
      let id = journal.orders[0].id
      for (host, process) in [("stranger", "1"), ("b", "forged"), ("a", "forged")] {
        var message = FleetMessage(host: host, process: process, sequence: .max)
        message.confirmation = .init(order: id, purged: 1 << 40)
        for receiver in [nil, "a"] { try await stranger.send(message.bytes, to: receiver) }
        message.confirmation?.purged = .max
        try await stranger.send(message.bytes, to: nil)
      }
      let receipt = try await giving.value
      #expect(receipt.confirmed == ["a"] && receipt.missing == ["b"] && receipt.purged == 2)
      #expect(hosts[0].member.status.peers.map(\.name) == ["a", "b"])
      hosts[1].host.isHeld.change { $0 = false }
    }
  }

  /// A sender of a confirmation.
  enum Sender: CaseIterable { case host, otherProcess, unheard, namesake, leaver }

  @Test("a confirmation counts if it is of a host that was heard of, in the same process", arguments: Sender.allCases)
  func confirmingSender(_ sender: Sender) async throws {
    try await running(["a"]) { hosts in
      let (member, host) = hosts[0]
      host.isHeld.change { $0 = true }
      let connection = journal.connection(of: "sender")
      let name = sender == .namesake ? "a" : "b"
      func life(_ process: String, isLeaving: Bool = false) async throws {
        var message = FleetMessage(host: name, process: process, sequence: 0)
        message.isLeaving = isLeaving ? true : nil
        try await connection.send(message.bytes, to: nil)
      }
      if sender == .host || sender == .otherProcess || sender == .leaver {
        try await life("1")
        try await eventually("it is known") { member.status.peers.contains { $0.name == "b" } }
      }
      if sender == .leaver {
        try await life("1", isLeaving: true)
        try await eventually("it has left") { !member.status.peers.contains { $0.name == "b" } }
      }
      let wait: Duration = sender == .host ? .seconds(60) : .milliseconds(500)
      let giving = Task { try await member.give(.release("r1"), waiting: wait) }
      try await eventually("it is in the journal") { journal.orders.count == 1 }
      var message = FleetMessage(host: name, process: sender == .otherProcess ? "2" : "1", sequence: 1)
      message.confirmation = .init(order: journal.orders[0].id, purged: 5)
      // The host itself is heard meanwhile, too, so that its namesake is known for a moment only.
      for _ in 0..<(sender == .namesake ? 20 : 1) {
        if sender == .namesake { try await life("1") }
        try await connection.send(message.bytes, to: nil)
      }
      if sender == .host { host.isHeld.change { $0 = false } }
      let receipt = try await giving.value
      host.isHeld.change { $0 = false }
      #expect(receipt.confirmed == (sender == .host ? ["a", "b"] : []))
      #expect(receipt.purged == (sender == .host ? 7 : 0))
      #expect(receipt.missing == (sender == .host ? [] : sender == .otherProcess ? ["a", "b"] : ["a"]))
    }
  }

  @Test(
    "a confirmation counts if it is of an order in the giver's journal, or does not say in which",
    arguments: [(nil, true), (1, true), (2, false)] as [(Int64?, Bool)])
  func confirmingJournal(_ followed: Int64?, _ counts: Bool) async throws {
    try await running(["a"]) { hosts in
      let member = hosts[0].member
      let connection = journal.connection(of: "b")
      var message = FleetMessage(host: "b", process: "1", sequence: 0, journal: followed)
      try await connection.send(message.bytes, to: nil)
      try await eventually("it is known") { member.status.peers.count == 2 }
      let giving = Task { try await member.give(.release("r1"), waiting: counts ? .seconds(60) : .seconds(2)) }
      try await eventually("it is in the journal") { journal.orders.count == 1 }
      message.confirmation = .init(order: journal.orders[0].id, purged: 5)
      try await connection.send(message.bytes, to: "a")
      let receipt = try await giving.value
      #expect(receipt.confirmed == (counts ? ["a", "b"] : ["a"]))
      #expect(receipt.missing == (counts ? [] : ["b"]))
      #expect(receipt.purged == (counts ? 7 : 2))
    }
  }

  /// A message under the name of a host.
  enum Namesake: CaseIterable { case living, leaving }

  @Test(
    "a name is shared if another process lives under it, and not if the one before says that it leaves",
    arguments: Namesake.allCases)
  func namesake(_ kind: Namesake) async throws {
    try await running(["a"]) { hosts in
      let member = hosts[0].member
      let connection = journal.connection(of: "other")
      var message = FleetMessage(host: "a", process: "another", sequence: 0)
      message.isLeaving = kind == .leaving ? true : nil
      try await connection.send(message.bytes, to: nil)
      // Messages are heard in their order.
      try await connection.send(FleetMessage(host: "mark", process: "1", sequence: 0).bytes, to: nil)
      try await eventually("both are heard") { member.status.peers.contains { $0.name == "mark" } }
      #expect(member.status.problems.contains { $0.contains("called a too") } == (kind == .living))
      #expect(member.status.peers.map(\.name) == ["a", "mark"])
    }
  }

  @Test("numbers of a host's message that nobody can have say nothing about an order")
  func sequences() async throws {
    try await running(["a", "b"]) { hosts in
      hosts[1].host.isHeld.change { $0 = true }
      // A host of another journal, which is further, or one that lies.
      let ghost = journal.connection(of: "ghost")
      try await ghost.send(FleetMessage(host: "c", process: "1", sequence: .max).bytes, to: nil)
      try await ghost.send(FleetMessage(host: "c", process: "1", sequence: 1 << 50).bytes, to: nil)
      try await eventually("it is heard of") { hosts[0].member.status.peers.count == 3 }
      let receipt = try await hosts[0].member.give(.release("r1"), waiting: .milliseconds(300))
      #expect(receipt.confirmed == ["a"] && receipt.missing == ["b", "c"])
      hosts[1].host.isHeld.change { $0 = false }
    }
  }

  @Test(
    "a position file with numbers beyond all that there are is one that cannot be read",
    arguments: [
      #"{"journal": 1, "applied": 0, "completeSince": 9223372036854775807}"#,
      #"{"journal": 1, "applied": 0, "completeSince": -9223372036854775808}"#,
      #"{"journal": 1, "applied": 18446744073709551615}"#,
      #"{"journal": 1, "applied": 0, "clock": 9223372036854775807}"#,
      #"{"journal": 1, "applied": 0, "reports": {"journal": 1, "applied": 18446744073709551615}}"#,
    ])
  func hugePosition(_ text: String) async throws {
    try FileManager.default.createDirectory(atPath: folder.file("a"), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file("a/fleet.json")))
    for number in 1...3 { journal.append(FleetOrder(.release("r\(number)"), id: "\(number)")) }
    try await running(["a"]) { hosts in
      #expect(hosts[0].member.status.sequence == 3)
      #expect(hosts[0].member.storedUse(at: .now).answersSince != nil)
    }
  }

  @Test("a host validates what it has stored if the journal was restored, and has as many orders again")
  func restoredJournal() async throws {
    for number in 1...5 { journal.append(FleetOrder(.release("r\(number)"), id: "\(number)")) }
    try await running(["a"]) { hosts in
      _ = try await hosts[0].member.give(.release("last"), waiting: .seconds(30))
    }
    journal.restore(through: 3)
    for number in 4...8 { journal.append(FleetOrder(.release("s\(number)"), id: "s\(number)")) }
    try await running(["a"]) { hosts in
      #expect(hosts[0].host.done.read { $0 } == [.release("s7"), .release("s8")])
      #expect(hosts[0].member.storedUse(at: .now).answersSince != nil)
    }
  }

  @Test("an order that still runs while the journal is made anew does not hide the orders of the new one")
  func orderOfFormerJournal() async throws {
    for number in 1...5 { journal.append(FleetOrder(.release("r\(number)"), id: "\(number)")) }
    try await running(["a"]) { hosts in
      let (member, host) = hosts[0]
      host.isHeld.change { $0 = true }
      journal.append(FleetOrder(.release("runs"), id: "runs"))
      try await eventually("it is known") { member.status.behind == 1 || member.status.sequence == 5 }
      journal.replace()
      for number in 1...3 { journal.append(FleetOrder(.release("new\(number)"), id: "new\(number)")) }
      try await eventually("the new journal is known") { member.storedUse(at: .now).answersSince != nil }
      host.isHeld.change { $0 = false }
      let orders: [FleetOrder.Task] = [.release("new1"), .release("new2"), .release("new3")]
      try await host.done.wait(within: .seconds(30)) { $0.suffix(3) == orders }
      try await eventually("its position is that of the new journal") { member.status.sequence == 3 }
    }
  }

  @Test("reports go into a log of their own, those that wait for it in one batch, and no host is behind for them")
  func reports() async throws {
    try await running(["a", "b"]) { hosts in
      let member = hosts[0].member
      journal.setHeld(true)
      let before = journal.appends
      let all = (0..<1_000).map { FleetOrder.Report(release: "ab", isBad: false, install: "\($0)") }
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await member.report(all[0]) }
        try await eventually("the first one is being appended") { journal.appends == before + 1 }
        for report in all.dropFirst() { group.addTask { try await member.report(report) } }
        try await eventually("all wait") { member.waitingReports == 999 }
        journal.setHeld(false)
        try await group.waitForAll()
      }
      #expect(journal.reports.map(\.count) == [1, 512, 487])
      for (_, host) in hosts {
        try await host.counted.wait(within: .seconds(30)) { Set($0) == Set(all) }
      }
      #expect(journal.orders == [] && hosts.allSatisfy { $0.member.status.sequence == 0 })
      journal.cut("a")
      await #expect(throws: JournalError.away("it is cut")) { try await member.report(all[0]) }
    }
  }

  @Test("hosts of the version before share a fleet: their reports count, and they are told of halts by reports")
  func versionBefore() async throws {
    try await running(["a", "b"]) { hosts in
      // It puts reports among the orders, and reads nothing but orders.
      let report = FleetOrder.Report(release: String(repeating: "a", count: 64), isBad: true, install: "x")
      journal.append(FleetOrder(.report(report), from: "old", id: "1"))
      for (_, host) in hosts { try await host.done.wait(within: .seconds(30)) { $0 == [.report(report)] } }
      for (_, host) in hosts { host.halted.change { $0 = [report.release] } }
      try await hosts[0].member.report(report)
      try await eventually("the halt is an order") {
        journal.orders.contains { $0.task == .halt(.init(release: report.release, isHalted: true, isKept: true)) }
      }
      #expect(try await hosts[1].member.isHalted(report.release))
      // It sends confirmations that do not name a journal.
      let old = journal.connection(of: "old")
      var message = FleetMessage(host: "old", process: "1", sequence: 0)
      try await old.send(message.bytes, to: nil)
      try await eventually("it is known") { hosts[0].member.status.peers.contains { $0.name == "old" } }
      let count = journal.orders.count
      let giving = Task { try await hosts[0].member.give(.release("r1"), waiting: .seconds(30)) }
      try await eventually("the order is there") { journal.orders.last?.task == .release("r1") }
      message.confirmation = .init(order: journal.orders[count].id, purged: 3)
      try await old.send(message.bytes, to: "a")
      let receipt = try await giving.value
      #expect(receipt.confirmed == ["a", "b", "old"] && receipt.purged == 7)
      // A halt that it has lifted is kept by the others.
      journal.append(FleetOrder(.halt(.init(release: report.release, isHalted: false)), from: "old", id: "2"))
      try await eventually("it is kept") { try await !hosts[0].member.isHalted(report.release) }
    }
  }

  @Test("the position of a host of the version before is read, and what is written is read by it")
  func positionOfVersionBefore() async throws {
    for number in 1...3 { journal.append(FleetOrder(.release("r\(number)"), id: "\(number)")) }
    let file = URL(fileURLWithPath: folder.file("a/fleet.json"))
    try FileManager.default.createDirectory(atPath: folder.file("a"), withIntermediateDirectories: true)
    try Data(#"{"journal": 1, "applied": 2}"#.utf8).write(to: file)
    try await running(["a"]) { hosts in
      #expect(hosts[0].host.done.read { $0 } == [.release("r3")])
      #expect(hosts[0].member.storedUse(at: .now) == .unlimited)
    }
    struct Former: Decodable {
      var journal: Int64
      var applied: UInt64
      var completeSince: Int64?
    }
    let former = try JSONDecoder().decode(Former.self, from: Data(contentsOf: file))
    #expect((former.journal, former.applied) == (1, 3) && former.completeSince == nil)
  }
}
