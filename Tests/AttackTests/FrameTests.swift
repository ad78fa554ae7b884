import Foundation
import PageTesting
import TestServers
import TestSupport
import Testing

/// The daemon's reactions to frames of HTTP/2, clause by clause.
@Suite(.timeLimit(.minutes(5)))
struct FrameTests {
  @Test("every frame gets the outcome of its clause, and others are served meanwhile")
  func framesAreHeld() async throws {
    try await SecureDaemon.running { daemon, port in
      let before = try daemon.proportionalBytes()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, attack) in FrameAttack.all.enumerated() {
          if index >= 8 { try await group.next() }
          group.addTask { try await Self.check(attack, port) }
        }
        try await group.waitForAll()
      }
      print("\(FrameAttack.all.count) rows of frames were tried")
      #expect(FrameAttack.all.count >= 140)
      #expect(try await SecureDaemon.answers(port))
      let grown = try daemon.proportionalBytes() - before
      #expect(grown < 64 << 20, "the daemon has grown by \(grown >> 20) MiB")
    }
  }

  private static func check(_ attack: FrameAttack, _ port: Int) async throws {
    let client = try await SecureClient.connected(port: port)
    client.send((attack.isWhole ? [] : Wire.preface + Wire.emptySettings) + attack.frames.joined())
    // Frames that come too late are seen as well: the connection is watched until one of the outcomes has come.
    try? await client.received.wait(within: .seconds(10)) { received in
      let shown = FrameObservation(received.bytes, isClosed: received.isClosed)
      return received.isClosed || attack.expected.contains { shown.shows($0) }
    }
    let shown = client.received.read { FrameObservation($0.bytes, isClosed: $0.isClosed) }
    #expect(attack.expected.contains { shown.shows($0) }, "\(attack.clause), \(attack.name): \(shown)")
    #expect(try await SecureDaemon.answers(port), "\(attack.clause), \(attack.name): nobody else is answered")
  }
}

/// The daemon with TLS for everybody, and a plain listener for its operator.
enum SecureDaemon {
  /// - Parameter body: gets the daemon, and the port of the listener with TLS.
  static func running(_ flags: [String] = [], _ body: (Daemon, Int) async throws -> Void) async throws {
    let folder = try TemporaryDirectory()
    let bundles = folder.file("bundles")
    try FileManager.default.createDirectory(atPath: bundles, withIntermediateDirectories: true)
    try Data("// { \"framework\": \"Vanilla\" }".utf8).write(to: URL(fileURLWithPath: bundles + "/page.js"))
    try Data(repeating: 0x61, count: 8 << 20).write(to: URL(fileURLWithPath: bundles + "/large.js"))
    let own = ["--admin-listen", "127.0.0.1:0", "--connections-per-address", "1000"]
    let secure = try await certificate(in: folder)
    try await Daemon.running(bundles, folder, own + secure + flags, isReady: false) { daemon in
      let admin = try await daemon.admin()
      try await daemon.until("/readyz is 200") { try await daemon.get("/readyz", at: admin).status == 200 }
      try await body(daemon, try daemon.port())
    }
    withExtendedLifetime(folder) {}
  }

  /// Makes a certificate; returns the flags that give it to the daemon.
  static func certificate(in folder: TemporaryDirectory) async throws -> [String] {
    let (certificate, key) = (folder.file("own.crt"), folder.file("own.key"))
    let made = try await RunningProgram(
      "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
        "/CN=localhost", "-keyout", key, "-out", certificate,
      ]
    ).result()
    try #require(made.status == 0, "\(made.error)")
    return ["--tls-cert", certificate, "--tls-key", key]
  }

  /// Returns `true` if another client's request is answered.
  static func answers(_ port: Int) async throws -> Bool {
    let client = try await SecureClient.connected(port: port)
    client.send(Wire.preface + Wire.emptySettings + Wire.request(1))
    try await client.received.wait(within: .seconds(20)) {
      $0.isClosed || FrameObservation($0.bytes, isClosed: false).statuses[1] != nil
    }
    return client.received.read { FrameObservation($0.bytes, isClosed: false) }.statuses[1] == 200
  }
}
