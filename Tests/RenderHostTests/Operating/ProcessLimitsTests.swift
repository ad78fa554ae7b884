import Foundation
import Logging
import NIOCore
import NIOEmbedded
import PageTesting
import TestServers
import Testing

@testable import RenderHost
@testable import ServerKit

/// The daemon under low limits of the system.
@Suite(.timeLimit(.minutes(3)))
struct ProcessLimitsTests {
  /// A folder with a bundle that shows a text.
  private static func bundles(in folder: TemporaryDirectory) throws -> String {
    let bundles = folder.file("bundles")
    try FileManager.default.createDirectory(atPath: bundles, withIntermediateDirectories: true)
    try Data(Script.counter.utf8).write(to: URL(fileURLWithPath: bundles + "/counter.js"))
    return bundles
  }

  struct Room: Sendable, CustomTestStringConvertible {
    let descriptors: Int?
    let workers: Int
    /// The connections of each listener: of one alone, of two, of one and a gateway, and of two and a gateway.
    let expected: [Int]
    var testDescription: String { "\(descriptors ?? 0) descriptors, \(workers) workers" }
  }

  @Test(
    "a host with too little address space does not start",
    arguments: [(nil, true), (250_000 << 10, false), ((512 << 20) - 1, false), (512 << 20, true)] as [(Int?, Bool)])
  func addressSpace(_ limit: Int?, _ starts: Bool) {
    let problem = ProcessLimits(descriptors: nil, addressSpace: limit).problem
    #expect((problem == nil) == starts)
    if let problem { #expect(problem.contains("it needs 512 MiB: raise the limit to 524288 or more with ulimit -v")) }
  }

  @Test(
    "connections are as many as leave a reserve, however many are asked for",
    arguments: [
      Room(descriptors: nil, workers: 2, expected: [4_096, 4_096, 4_096, 4_096]),
      Room(descriptors: 65_536, workers: 2, expected: [4_096, 4_096, 4_096, 4_096]),
      Room(descriptors: 20_000, workers: 2, expected: [4_096, 4_096, 4_096, 3_735]),
      Room(descriptors: 1_024, workers: 2, expected: [708, 354, 236, 177]),
      Room(descriptors: 1_024, workers: 8, expected: [672, 336, 224, 168]),
      Room(descriptors: 256, workers: 2, expected: [132, 66, 44, 33]),
      Room(descriptors: 128, workers: 2, expected: [36, 18, 16, 16]),
    ])
  func connectionsLeaveAReserve(_ room: Room) {
    var settings = Settings()
    settings.workers = room.workers
    let limits = ProcessLimits(descriptors: room.descriptors, addressSpace: nil)
    #expect(limits.problem == nil)
    var found: [Int] = []
    for hasGateway in [false, true] {
      for hasAdmin in [false, true] {
        settings.gateway.address = hasGateway ? ("127.0.0.1", 0) : nil
        settings.adminListen = hasAdmin ? ("127.0.0.1", 9090) : nil
        found.append(limits.connections(settings.server))
        #expect(limits.warnings(settings) == [])
      }
    }
    #expect(found == room.expected)
    settings.limits.connections = 5_000
    let hasRoom = (room.descriptors ?? .max) >= 65_536
    #expect(limits.connections(settings.server) == (hasRoom ? 5_000 : room.expected[3]))
    #expect(limits.warnings(settings).contains { $0.contains("--max-connections is 5000") } == !hasRoom)
  }

  @Test("with too few descriptors the daemon reports it and ends")
  func tooFewDescriptors() async throws {
    let folder = try TemporaryDirectory()
    let command = "ulimit -n 24; exec \"$0\" --bundles \"$1\" --store \"$2\" --listen 127.0.0.1:0"
    let result = try await Tool.run(
      "/bin/sh", "-c", command, Daemon.executable, Self.bundles(in: folder), folder.file("store"))
    #expect(result.status == 1)
    #expect(result.error.contains("only 24 files may be open at once, at least 128 are needed: raise ulimit -n"))
  }

  @Test("pages are rendered while there are more clients than descriptors", arguments: [128, 256, 1_001, 1_024])
  func fewDescriptors(_ limit: Int) async throws {
    let folder = try TemporaryDirectory()
    // The soft limit is raised by the daemon itself.
    let shell = "ulimit -Sn \(min(limit, 64)) && ulimit -Hn \(limit) || exit 9"
    try await Daemon.running(
      Self.bundles(in: folder), folder, ["--connections-per-address", "100000"], shell: shell
    ) { daemon in
      #expect(try await daemon.get("/render?name=counter").status == 200)
      let port = try daemon.port()
      do {
        let clients = try (0..<min(limit * 2, 1_500)).map { _ in try RawClient(port: port) }
        #expect(clients.count > limit)
        try await daemon.until("all connections that it takes are taken") {
          try daemon.connections() >= limit / 8
        }
        #expect(try daemon.descriptors() < limit)
        withExtendedLifetime(clients) {}
      }
      #expect(try await daemon.get("/render?name=counter").status == 200)
      #expect(!daemon.said.contains("Connections cannot be accepted"))
    }
  }

  @Test("connections beyond the descriptors wait, and are served when others have ended")
  func waitingConnections() async throws {
    let folder = try TemporaryDirectory()
    let flags = ["--connections-per-address", "100000", "--max-connections", "4096"]
    try await Daemon.running(Self.bundles(in: folder), folder, flags, shell: "ulimit -n 128") { daemon in
      #expect(daemon.said.contains("--max-connections is 4096, but 128 open files (ulimit -n) leave room for 36"))
      let port = try daemon.port()
      do {
        let early = try RawClient(port: port)
        early.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
        _ = try await early.read(until: "alive")
        let clients = try (0..<300).map { _ in try RawClient(port: port) }
        try await daemon.until("it has as many connections as there is room for") {
          try daemon.connections() >= 36
        }
        for _ in 1...50 {
          early.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
          #expect(try await early.read(until: "alive").contains("alive"))
        }
        #expect(try daemon.descriptors() < 128)
        withExtendedLifetime(clients) {}
      }
      try await daemon.until("it answers") { try await daemon.get("/healthz").status == 200 }
      #expect(!daemon.said.contains("Connections cannot be accepted"))
    }
  }

  @Test("connections that cannot be accepted are logged once, and accepted after a second")
  func acceptErrors() throws {
    let metrics = HostMetrics()
    let lines = Monitor<[String]>([])
    let logger = Logger(label: "test") {
      JSONLogHandler(label: $0) { line in lines.change { $0.append(String(decoding: line, as: UTF8.self)) } }
    }
    let channel = EmbeddedChannel(handler: AcceptErrorHandler(metrics: metrics, logger: logger))
    /// The latest value.
    func readsByItself() -> Bool? {
      channel.options.last { $0.option is ChannelOptions.Types.AutoReadOption }?.value as? Bool
    }
    for _ in 1...3 { channel.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept")) }
    #expect(readsByItself() == false)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(999))
    #expect(readsByItself() == false)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
    #expect(readsByItself() == true)
    #expect(lines.read(\.count) == 1)
    #expect(lines.read(\.first)?.contains("Connections cannot be accepted: Too many open files") == true)
    let text = try StrictMetrics(metrics.registry.text(.prometheus))
    #expect(text.value("renderhost_refusals_total", ["reason": "accept"]) == 3)
    // Other errors are passed on.
    channel.pipeline.fireErrorCaught(ChannelError.inputClosed)
    #expect(throws: ChannelError.inputClosed) { try channel.throwIfErrorCaught() }
  }

  @Test("with a limited address space, the log and /readyz give it as the reason that no worker is ready")
  func addressSpace() async throws {
    let folder = try TemporaryDirectory()
    try await Daemon.running(
      Self.bundles(in: folder), folder, shell: "ulimit -v 4000000", isReady: false
    ) { daemon in
      try await daemon.until("/readyz names the limit") {
        let answer = try await daemon.get("/readyz")
        return answer.status == 503 && answer.text.contains("the address space of a process is limited to 3906 MiB")
          && answer.text.contains("a worker ended before it was ready")
      }
      #expect(daemon.said.contains("the address space of a process is limited to 3906 MiB (ulimit -v)"))
    }
  }
}

extension Daemon {
  fileprivate func open() throws -> [String] {
    let folder = "/proc/\(program.identifier)/fd"
    return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")
    }
  }

  fileprivate func descriptors() throws -> Int { try open().count }
  fileprivate func connections() throws -> Int { try open().count { $0.hasPrefix("socket:") } }
}
