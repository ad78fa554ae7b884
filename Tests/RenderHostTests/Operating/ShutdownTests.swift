import Foundation
import Hummingbird
import PageTesting
import Testing

@testable import RenderHost

@Suite(.timeLimit(.minutes(2)))
struct ShutdownTests {
  @Test func whatIsUnderWayIsFinished() async throws {
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
    // Who asks for nothing is let go at once, and nobody new gets in.
    #expect(try await idle.readToEnd() == "")
    #expect(throws: RawClient.Failed.self) { try RawClient(port: host.port) }
    mayEnd.change { $0 = true }
    let answer = try await slow.readToEnd()
    #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("done"))
    try await host.ended()
  }

  @Test func whatTakesLongerThanItMayIsCut() async throws {
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

  @Test(arguments: [SIGTERM, SIGINT])
  func aSignalEndsTheDaemonWithStatusZero(_ signal: Int32) async throws {
    let folder = try TemporaryDirectory()
    let daemon = try Tool.Running(
      [
        Tool.renderhost, "--bundles", folder.path, "--store", folder.file("store"), "--listen", "127.0.0.1:0",
        "--log-format", "json",
      ])
    try await daemon.wait(for: "error") { $0.contains(#""message":"Listening""#) }
    daemon.send(signal)
    #expect(try await daemon.result().status == 0)
  }

  @Test func theDaemonTellsSystemdHowItIs() async throws {
    let folder = try TemporaryDirectory()
    let socket = try NotifySocket(path: folder.file("notify"))
    let daemon = try Tool.Running(
      [Tool.renderhost, "--bundles", folder.path, "--store", folder.file("store"), "--listen", "127.0.0.1:0"],
      environment: ["NOTIFY_SOCKET": socket.path, "WATCHDOG_USEC": "200000"])
    try await socket.hear { $0.contains("READY=1") }
    try await socket.hear { $0.filter { $0 == "WATCHDOG=1" }.count >= 3 }
    daemon.send(SIGHUP)
    try await socket.hear { heard in
      heard.contains { $0.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") } && heard.filter { $0 == "READY=1" }.count == 2
    }
    daemon.send(SIGTERM)
    #expect(try await daemon.result().status == 0)
    try await socket.hear { $0.contains("STOPPING=1") }
  }
}
