import Fleet
import Foundation
import PageTesting
import TestServers
import TestSupport
import Testing

/// A journal on real NATS servers. Beside other work a cluster takes minutes to elect a leader, and each answer has
/// three.
@Suite(.timeLimit(.minutes(10)), .enabled(if: NATSCluster.isInstalled, "nats-server is not installed"))
struct NATSJournalTests {
  private func journal(_ cluster: NATSCluster, _ host: String = "a", fleet: String = "test") throws -> NATSJournal {
    try NATSJournal(
      try #require(NATSServers(cluster.urls)), fleet: try #require(FleetName(fleet)),
      host: try #require(FleetName(host)))
  }

  /// Repeats an operation until the servers answer.
  private func persistently<Value>(_ work: () async throws -> Value) async throws -> Value {
    try await JournalError.retryingWhileAway(for: .seconds(180), work)
  }

  private func append(_ text: String, to journal: NATSJournal, id: String? = nil) async throws -> UInt64 {
    let id = id ?? UUID().uuidString
    return try await persistently { try await journal.append(Array(text.utf8), id: id, to: .orders) }
  }

  private func texts(_ journal: NATSJournal, after sequence: UInt64, _ count: Int) async throws -> [String] {
    var found: [String] = []
    for await entry in try await persistently({ try await journal.entries(after: sequence, of: .orders) }) {
      #expect(entry.sequence == sequence + UInt64(found.count) + 1)
      found.append(String(decoding: entry.bytes, as: UTF8.self))
      if found.count == count { break }
    }
    return found
  }

  @Test("entries get sequences, an entry that is appended again under its id stays one, and all hosts read the same")
  func entries() async throws {
    try await NATSCluster.running { (cluster: NATSCluster) async throws in
      let (a, b) = (try journal(cluster), try journal(cluster, "b"))
      let empty = try await persistently { try await a.span(of: .orders) }
      #expect((empty.first, empty.last) == (1, 0))
      for number: UInt64 in 1...20 { #expect(try await append("\(number)", to: a, id: "id\(number)") == number) }
      #expect(try await append("again", to: b, id: "id7") == 7)
      let span = try await b.span(of: .orders)
      #expect((span.journal, span.first, span.last) == (empty.journal, 1, 20))
      // The last entry has the same time wherever it is seen.
      for await entry in try await b.entries(after: 19, of: .orders) {
        #expect(entry.time == span.time)
        break
      }
      // Reports are not among the orders.
      #expect(try await persistently { try await a.append([1], id: "id7", to: .reports) } == 1)
      #expect(try await a.span(of: .orders) == span)
      let all = (1...20).map { "\($0)" }
      #expect(try await texts(a, after: 0, 20) == all)
      #expect(try await texts(b, after: 15, 5) == Array(all.suffix(5)))
      // Another fleet on the same servers has a journal of its own.
      #expect(try await persistently { try await journal(cluster, fleet: "other").span(of: .orders) }.last == 0)
    }
  }

  @Test("entries that come are followed, also after a server was killed, and nothing is lost or doubled")
  func reconnecting() async throws {
    try await NATSCluster.running { (cluster: NATSCluster) async throws in
      let (a, b) = (try journal(cluster), try journal(cluster, "b"))
      _ = try await persistently { try await b.span(of: .orders) }
      let connections = Monitor<[Bool]>([])
      let watch = Task { for await isConnected in b.connections { connections.change { $0.append(isConnected) } } }
      defer { watch.cancel() }
      let found = Monitor<[UInt64]>([])
      let reading = Task {
        // What is followed may end when the server has forgotten how far it was.
        while !Task.isCancelled {
          let last = found.read { $0.last ?? 0 }
          guard let stream = try? await b.entries(after: last, of: .orders) else {
            try? await Task.sleep(for: .milliseconds(50))
            continue
          }
          for await entry in stream { found.change { $0.append(entry.sequence) } }
        }
      }
      defer { reading.cancel() }
      for number in 1...10 { _ = try await append("\(number)", to: a) }
      try await found.wait(within: .seconds(30)) { $0.count == 10 }
      await cluster.kill(0)
      try await connections.wait(within: .seconds(30)) { $0.last == false }
      do {
        _ = try await a.append([1], id: "x", to: .orders)
        Issue.record("there is no server")
      } catch let error as JournalError {
        guard case .away = error else { throw error }
      }
      try cluster.start(0)
      try await connections.wait(within: .seconds(30)) { $0.last == true }
      for number in 11...20 { _ = try await append("\(number)", to: a) }
      try await found.wait(within: .seconds(60)) { $0.count >= 20 }
      // The one that found no server may be there, or not.
      let sequences = found.read { $0 }
      #expect(sequences == Array(1...UInt64(sequences.count)))
    }
  }

  @Test("a cluster of three goes on when one of its servers is killed, whichever it is")
  func cluster() async throws {
    try await NATSCluster.running(3) { (cluster: NATSCluster) async throws in
      let journal = try journal(cluster)
      var last = try await append("first", to: journal)
      for server in 0..<3 {
        try await cluster.waitUntilCurrent()
        await cluster.kill(server)
        for number in 0..<5 {
          let sequence = try await append("\(server) \(number)", to: journal)
          #expect(sequence == last + 1)
          last = sequence
        }
        try cluster.start(server)
      }
      #expect(try await texts(journal, after: 0, Int(last)).count == Int(last))
    }
  }

  @Test(
    "a connection that is refused says why, all the time, and is made once the servers accept it",
    arguments: ["user:wrong@", ""])
  func refusal(_ login: String) async throws {
    try await NATSCluster.running { (cluster: NATSCluster) async throws in
      await cluster.kill(0)
      try cluster.start(0, password: "secret")
      let url = "nats://\(login)127.0.0.1:\(cluster.ports[0])"
      let journal = try NATSJournal(
        try #require(NATSServers([url])), fleet: try #require(FleetName("test")), host: try #require(FleetName("a")))
      func reason() async throws -> String {
        do {
          return "\(try await journal.span(of: .orders))"
        } catch let error as JournalError {
          return "\(error)"
        }
      }
      // It may not listen yet.
      try await eventually("it is refused") { try await reason().contains("Authorization Violation") }
      // libnats ends the connection after the second refusal, and forgets why.
      for _ in 0..<30 {
        #expect(try await reason() == "the journal is away: Authorization Violation")
        try await Task.sleep(for: .milliseconds(50))
      }
      // The connection is made again after a second, and has heard nothing then.
      await cluster.kill(0)
      for _ in 0..<30 {
        #expect(try await reason() == "the journal is away: Authorization Violation")
        try await Task.sleep(for: .milliseconds(50))
      }
      try cluster.start(0, password: login.isEmpty ? nil : "wrong")
      #expect(try await persistently { try await journal.span(of: .orders) }.last == 0)
    }
  }

  @Test("servers that are not there are said not to answer")
  func nobody() async throws {
    try await NATSCluster.running { (cluster: NATSCluster) async throws in
      await cluster.kill(0)
      let journal = try journal(cluster)
      for _ in 0..<3 {
        await #expect(throws: JournalError.away("no server answers")) { try await journal.span(of: .orders) }
      }
    }
  }

  @Test("messages reach the host that they are for, or all of them")
  func messages() async throws {
    try await NATSCluster.running { (cluster: NATSCluster) async throws in
      let (a, b) = (try journal(cluster), try journal(cluster, "b"))
      let texts = Monitor<[String]>([])
      var readers: [Task<Void, Never>] = []
      defer { for reader in readers { reader.cancel() } }
      for (name, host) in [("a", a), ("b", b)] {
        let stream = try await persistently { try await host.messages() }
        readers.append(
          Task {
            for await bytes in stream { texts.change { $0.append(name + String(decoding: bytes, as: UTF8.self)) } }
          })
      }
      // A message that is sent before the server knows of a reader is lost.
      try await eventually("both listen") {
        try await persistently { try await a.send([UInt8(ascii: "0")], to: nil) }
        return texts.read { Set($0) } == ["a0", "b0"]
      }
      texts.change { $0 = [] }
      try await b.send([UInt8(ascii: "1")], to: "a")
      try await b.send([UInt8(ascii: "2")], to: "b")
      try await b.send([UInt8(ascii: "3")], to: nil)
      try await texts.wait(within: .seconds(30)) { Set($0).isSuperset(of: ["a1", "b2", "a3", "b3"]) }
      #expect(!texts.read { $0.contains("b1") || $0.contains("a2") })
    }
  }

  @Test("connections, followers and listeners that end leave no thread and no memory behind")
  func ends() async throws {
    try await NATSCluster.running { (cluster: NATSCluster) async throws in
      _ = try await append("1", to: try journal(cluster))
      func threads() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count }
      let before = try threads()
      for _ in 0..<30 {
        let journal = try journal(cluster)
        #expect(try await texts(journal, after: 0, 1) == ["1"])
        _ = try await journal.messages()
      }
      // libnats has some threads of its own, and other tests have theirs.
      try await eventually("threads have ended") { try threads() < before + 30 }
    }
  }
}
