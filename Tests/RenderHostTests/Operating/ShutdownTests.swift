import Foundation
import Hummingbird
import Logging
import NIOCore
import PageKit
import PageTesting
import TestServers
import Testing

@testable import RenderHost
@testable import ServerKit

@Suite(.timeLimit(.minutes(2)))
struct ShutdownTests {
  @Test("requests under way are finished at shutdown")
  func finishedRequests() async throws {
    let (arrived, mayEnd) = (Monitor(false), Monitor(false))
    let host = try await LiveHost { router in
      router.get("/slow") { _, _ in
        arrived.change { $0 = true }
        try await mayEnd.wait(within: .seconds(30), until: { $0 })
        return "done"
      }
    }
    let (slow, idle) = (try RawClient(port: host.port), try RawClient(port: host.port))
    idle.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
    _ = try await idle.read(until: "alive")
    slow.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    try await arrived.wait(within: .seconds(30), until: { $0 })
    await host.beginStopping()
    // Idle connections are closed at once, and new ones are refused.
    #expect(try await idle.readToEnd() == "")
    #expect(throws: RawClient.Failed.self) { try RawClient(port: host.port) }
    mayEnd.change { $0 = true }
    let answer = try await slow.readToEnd()
    #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("done"))
    try await host.ended()
  }

  @Test("services are named in logs, and not by what they contain")
  func serviceNames() {
    #expect(HostServer.name(of: BackgroundService("fleet") {}) == "fleet")
    let server = BackgroundService.listening(BackgroundService("inner") {}, flag: "--listen", address: ("::1", 1))
    #expect(HostServer.name(of: server) == "listener of --listen")
    let readiness = ReadinessService(ServiceNotifier(environment: [:]), checks: [], listeners: 1)
    #expect(HostServer.name(of: readiness) == "ReadinessService")
  }

  private static let large = 24 << 20

  /// Reads an answer that exceeds the sockets' buffers, and starts after its server has begun to shut down.
  private func takeLate(
    _ head: String, _ limits: ServerSettings.Limits = .init(), _ meanwhile: (LiveHost) async throws -> Void
  ) async throws {
    var settings = Settings()
    settings.limits = limits
    let host = try await LiveHost(settings) { router in
      router.get("/large") { _, _ in
        Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(repeating: 0x61, count: Self.large)))
      }
    }
    let client = try RawClient(port: host.port)
    client.send("GET /large \(head)\r\n\r\n")
    let start = try await client.read(until: "\r\n\r\n")
    try await meanwhile(host)
    let rest = try await client.readToEnd()
    let head = try #require(start.range(of: "\r\n\r\n")).upperBound
    #expect(start.utf8[head...].count + rest.utf8.count == Self.large)
    try await host.stop()
  }

  @Test("a slow client gets its whole answer at shutdown")
  func slowClient() async throws {
    try await takeLate("HTTP/1.1\r\nHost: h") { await $0.beginStopping() }
  }

  @Test("a client that reads nothing does not delay the shutdown beyond its limit")
  func stalledClient() async throws {
    var settings = Settings()
    settings.shutdownTime = .milliseconds(300)
    let host = try await LiveHost(settings) { router in
      router.get("/large") { _, _ in
        Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(repeating: 0x61, count: Self.large)))
      }
    }
    let client = try RawClient(port: host.port)
    client.send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
    _ = try await client.read(until: "\r\n\r\n")
    // Without the limit this would not end: the client stays.
    try? await host.stop()
    client.send("")
  }

  @Test(
    "a slow client does not count as idle",
    arguments: ["HTTP/1.1\r\nHost: h", "HTTP/1.1\r\nHost: h\r\nConnection: close"])
  func slowIsNotIdle(_ head: String) async throws {
    var limits = ServerSettings.Limits()
    limits.idle = .milliseconds(300)
    // This is longer than the idle time, and longer than a connection lingers after its last byte.
    try await takeLate(head, limits) { _ in try await Task.sleep(for: .milliseconds(2600)) }
  }

  @Test("the error of an address in use names it")
  func takenAddress() async throws {
    let host = try await LiveHost()
    var settings = Settings()
    settings.port = host.port
    let second = HostServer(
      settings: settings, controls: .fake(), metrics: HostMetrics(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let error = await #expect(throws: (any Error).self) { try await second.run() }
    #expect(
      error.map { "\($0)" } == "--listen: cannot listen on 127.0.0.1:\(host.port): Address already in use")
    try await host.stop()
  }

  @Test("a response that exceeds the shutdown limit is cut off")
  func shutdownLimit() async throws {
    let arrived = Monitor(false)
    var settings = Settings()
    settings.shutdownTime = .milliseconds(300)
    let host = try await LiveHost(settings) { router in
      router.get("/endless") { _, _ in
        Response(
          status: .ok,
          body: ResponseBody { writer in
            arrived.change { $0 = true }
            try await Task.sleep(for: .seconds(3600))
            try await writer.finish(nil)
          })
      }
    }
    let client = try RawClient(port: host.port)
    client.send("GET /endless HTTP/1.1\r\nHost: h\r\n\r\n")
    try await arrived.wait(within: .seconds(30), until: { $0 })
    try await host.stop()
    #expect(try await !client.readToEnd().contains("0\r\n\r\n"))
  }

  @Test("a signal ends the daemon with status 0", arguments: [SIGTERM, SIGINT])
  func signals(_ signal: Int32) async throws {
    let folder = try TemporaryDirectory()
    let daemon = try Tool.start(
      Daemon.executable,
      [
        "--bundles", folder.path, "--store", folder.file("store"), "--listen", "127.0.0.1:0",
        "--log-format", "json",
      ])
    try await daemon.wait(for: .error) { $0.contains(#""message":"Listening""#) }
    daemon.send(signal)
    #expect(await daemon.result().status == 0)
  }

  @Test("systemd is notified when the daemon is ready")
  func readyNotification() async throws {
    let folder = try TemporaryDirectory()
    let socket = try NotifySocket(path: folder.file("notify"))
    try await FaultOrigin.running { (origin: FaultOrigin) async throws -> Void in
      origin.always("/manifest.json", .status(503))
      let daemon = try Tool.start(
        Daemon.executable,
        [
          "--manifest", origin.url(for: "/manifest.json"), "--follow", "1", "--workers", "1",
          "--store", folder.file("store"), "--listen", "127.0.0.1:0",
        ],
        environment: ["NOTIFY_SOCKET": socket.path, "WATCHDOG_USEC": "200000"])
      try await daemon.wait(for: .error) { $0.contains("Listening") }
      // Meanwhile it reports the reason, and notifies the watchdog.
      try await socket.hear { heard in
        heard.contains { $0.hasPrefix("STATUS=Not ready: ") && $0.contains("manifest.json") }
          && heard.filter { $0 == "WATCHDOG=1" }.count >= 5
      }
      // A SIGHUP does not make it ready.
      daemon.send(SIGHUP)
      try await daemon.wait(for: .error) { $0.contains("The new launch failed") }
      #expect(!socket.soFar.contains("READY=1"))
      origin.serve("/home.js", Array("// home".utf8))
      let digests = try ContentDigests(of: Array("// home".utf8))
      let manifest = Manifest(
        release: "r1", sequence: 1, bundles: [.init(name: "home", path: "home.js", md5: digests.md5)])
      origin.serve("/manifest.json", Array(try JSONEncoder().encode(manifest)))
      origin.always("/manifest.json", .normal)
      try await socket.hear { $0.contains("READY=1") && $0.contains("STATUS=Ready") }
      daemon.send(SIGTERM)
      #expect(await daemon.result().status == 0)
    }
  }

  @Test("systemd is notified of the daemon's status")
  func statusNotification() async throws {
    let folder = try TemporaryDirectory()
    let socket = try NotifySocket(path: folder.file("notify"))
    try DaemonTests.write("// home", to: folder.file("bundles/home.js"))
    let daemon = try Tool.start(
      Daemon.executable,
      [
        "--bundles", folder.file("bundles"), "--store", folder.file("store"), "--listen",
        "127.0.0.1:0",
      ],
      environment: ["NOTIFY_SOCKET": socket.path, "WATCHDOG_USEC": "200000"])
    try await socket.hear { $0.contains("READY=1") }
    try await socket.hear { $0.filter { $0 == "WATCHDOG=1" }.count >= 3 }
    daemon.send(SIGHUP)
    try await socket.hear { heard in
      heard.contains { $0.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") } && heard.filter { $0 == "READY=1" }.count == 2
    }
    daemon.send(SIGTERM)
    #expect(await daemon.result().status == 0)
    try await socket.hear { $0.contains("STOPPING=1") }
  }
}
