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

  /// What a host was told to do.
  final class Host: FleetHost {
    let done = Monitor<[FleetOrder.Task]>([])
    let settled = Monitor(0)
    let reconnected = Monitor(0)
    let failures = Monitor(0)

    func carryOut(_ task: FleetOrder.Task) async throws -> Int {
      if failures.change({ count in
        defer { count = max(0, count - 1) }
        return count > 0
      }) {
        throw StoreIsFull()
      }
      done.change { $0.append(task) }
      return 2
    }

    func settle() async throws { settled.change { $0 += 1 } }
    func reconnect() { reconnected.change { $0 += 1 } }
    func report() async -> FleetMessage.Report { FleetMessage.Report(release: "r1") }
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
      for (member, host) in hosts { group.addTask { await member.run(host) } }
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
      let receipts = try await withThrowingTaskGroup(of: FleetMember.Receipt.self) { group in
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
      #expect(other.status.problems == ["the journal is away: it is cut"])
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
      for member in [one, other] { group.addTask { await member.run(Host()) } }
      defer { group.cancelAll() }
      for member in [one, other] {
        try await eventually("it is told") { member.status.problems.contains { $0.contains("called a too") } }
      }
    }
  }
}
