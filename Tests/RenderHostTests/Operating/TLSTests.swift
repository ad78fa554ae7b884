import Foundation
import HTTPTransport
import PageTesting
import TestServers
import TestSupport
import Testing

@testable import RenderHost
@testable import ServerKit

@Suite(.timeLimit(.minutes(2)))
struct TLSTests {
  private func certificate(_ name: String, in folder: TemporaryDirectory) async throws -> TLSFiles {
    try await .made(name, in: folder)
  }

  private func settings(_ files: TLSFiles) -> Settings {
    var settings = Settings()
    (settings.certificate, settings.privateKey) = (files.certificate, files.privateKey)
    return settings
  }

  /// The server's certificate name, and the negotiated protocol.
  private func handshake(_ port: Int, alpn: String = "h2,http/1.1") async throws -> String {
    let shown = try await Tool.run("openssl", "s_client", "-connect", "127.0.0.1:\(port)", "-alpn", alpn)
    return shown.output + shown.error
  }

  @Test("TLS uses HTTP/2 if the client supports it")
  func http2() async throws {
    let folder = try TemporaryDirectory()
    let host = try await LiveHost(settings(try await certificate("one", in: folder)))
    let shown = try await handshake(host.port)
    #expect(shown.contains("ALPN protocol: h2") && shown.contains("CN = one") || shown.contains("CN=one"))
    #expect(try await handshake(host.port, alpn: "http/1.1").contains("ALPN protocol: http/1.1"))
    for (version, expected) in [("--http2", "2"), ("--http1.1", "1.1")] {
      let answer = try await Tool.run(
        "curl", "-sk", version, "-w", " %{http_version} %{http_code}", "https://127.0.0.1:\(host.port)/healthz")
      #expect(answer.output == "{\"status\":\"alive\"} \(expected) 200")
    }
    try await host.stop()
  }

  /// RFC 9113 §9.2.2.
  @Test("TLS 1.2 has ephemeral keys and authenticated encryption alone")
  func suites() async throws {
    let folder = try TemporaryDirectory()
    let files = TLSFiles(certificate: folder.file("rsa.crt"), privateKey: folder.file("rsa.key"))
    let made = try await Tool.run(
      "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=rsa", "-keyout",
      files.privateKey, "-out", files.certificate)
    try #require(made.status == 0, "\(made.error)")
    let host = try await LiveHost(settings(files))
    for (suite, isOffered) in [
      ("ECDHE-RSA-AES128-GCM-SHA256", true), ("ECDHE-RSA-AES256-GCM-SHA384", true),
      ("ECDHE-RSA-CHACHA20-POLY1305", true), ("AES128-GCM-SHA256", false), ("AES256-GCM-SHA384", false),
      ("AES128-SHA", false), ("ECDHE-RSA-AES128-SHA", false), ("ECDHE-RSA-AES256-SHA", false),
    ] {
      let shown = try await Tool.run(
        "openssl", "s_client", "-connect", "127.0.0.1:\(host.port)", "-tls1_2", "-cipher", "\(suite):@SECLEVEL=0",
        "-alpn", "h2")
      #expect(shown.output.contains("Cipher is \(suite)") == isOffered, "\(suite) \(shown)")
    }
    try await host.stop()
  }

  @Test("a certificate beyond its time, or before it, is a problem that is told")
  func invalidTimes() async throws {
    let folder = try TemporaryDirectory()
    let files = try await certificate("one", in: folder)
    let validity = try files.validity()
    let now = Date()
    #expect(validity.problem(at: now) == nil)
    let late = try #require(validity.problem(at: validity.until + 1))
    #expect(late.contains(files.certificate) && late.contains("has expired on"))
    #expect(validity.problem(at: validity.from - 1)?.contains("is not valid before") == true)
    let settings = settings(files)
    #expect(settings.certificateProblem(at: now) == nil)
    #expect(settings.certificateProblem(at: now + 3 * 86_400)?.contains("has expired") == true)
    // It is no reason not to start.
    #expect(settings.problems.isEmpty)
    let host = try await LiveHost(settings)
    let answer = try await Tool.run("curl", "-sk", "https://127.0.0.1:\(host.port)/status")
    let status = try JSONSerialization.jsonObject(with: Data(answer.output.utf8)) as? [String: Any]
    let shown = try #require(status?["certificate"] as? [String: Any])
    #expect(shown["file"] as? String == files.certificate && shown["problem"] == nil && shown["until"] is String)
    try await host.stop()
  }

  @Test("an expired certificate starts with a warning, and is a warning of --check-config")
  func expiredAtStart() async throws {
    let folder = try TemporaryDirectory()
    let (certificate, key) = (folder.file("old.crt"), folder.file("old.key"))
    // `req -x509 -days` has no times before now; `x509 -days` takes negative ones.
    for arguments in [
      ["req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=old", "-keyout", key, "-out", folder.file("csr")],
      ["x509", "-req", "-in", folder.file("csr"), "-signkey", key, "-days", "-1", "-out", certificate],
    ] {
      let made = try await Tool.start("openssl", arguments).result()
      try #require(made.status == 0, "\(made.error)")
    }
    let arguments = ["--bundles", folder.path, "--tls-cert", certificate, "--tls-key", key]
    let checked = try await Tool.start(Daemon.executable, ["--check-config"] + arguments).result()
    #expect(checked.status == 0 && checked.error.contains("\(certificate) has expired on"), "\(checked)")
    let daemon = try RunningProgram(
      Daemon.executable, arguments + ["--listen", "127.0.0.1:0", "--store", folder.file("store")])
    try await daemon.wait(for: .error) { $0.contains("has expired on") && $0.contains("Listening") }
    daemon.send(SIGTERM)
    _ = await daemon.result()
  }

  @Test("limits apply to HTTP/2 too")
  func http2Limits() async throws {
    let folder = try TemporaryDirectory()
    let host = try await LiveHost(settings(try await certificate("one", in: folder)))
    let url = "https://127.0.0.1:\(host.port)/"
    let long = try await Tool.run(
      "curl", "-sk", "--http2", "-w", " %{http_code}", url + String(repeating: "u", count: 9000))
    #expect(long.output.contains("the limit is 8192") && long.output.hasSuffix(" 414"))
    let body = folder.file("body")
    try Data(repeating: 0x61, count: 2_000_000).write(to: URL(fileURLWithPath: body))
    let large = try await Tool.run(
      "curl", "-sk", "--http2", "-w", " %{http_code}", "--data-binary", "@\(body)", url + "healthz")
    #expect(large.output.contains("413"), "\(large)")
    try await host.stop()
  }

  /// Frames of HTTP/2, and those that a server has sent. RFC 9113 §4.1.
  private struct Frame {
    let type: UInt8
    let flags: UInt8
    let stream: UInt8
    let payload: [UInt8]

    static func all(in bytes: [UInt8]) -> [Frame] {
      var (frames, rest) = ([Frame](), bytes[...])
      while rest.count >= 9 {
        let head = Array(rest.prefix(9))
        let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        guard rest.count >= 9 + length else { break }
        frames.append(
          Frame(type: head[3], flags: head[4], stream: head[8], payload: Array(rest.dropFirst(9).prefix(length))))
        rest = rest.dropFirst(9 + length)
      }
      return frames
    }

    static func bytes(_ type: UInt8, _ flags: UInt8, on stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
      [0, UInt8(payload.count >> 8), UInt8(payload.count & 255), type, flags, 0, 0, 0, stream] + payload
    }

    /// The preface, and empty settings.
    static let start = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + bytes(4, 0, on: 0, [])

    /// The head of a request for /healthz of the host h.
    static func request(_ method: UInt8, _ fields: [(String, String)] = [], flags: UInt8) -> [UInt8] {
      func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + text.utf8 }
      let block = [method, 0x87, 0x04] + text("/healthz") + [0x01] + text("h")
      return bytes(1, flags, on: 1, block + fields.flatMap { [0] + text($0.0) + text($0.1) })
    }
  }

  @Test("a body of HTTP/2 that is too large is not read to its end: the stream is reset after the answer")
  func refusedBody() async throws {
    let folder = try TemporaryDirectory()
    let host = try await LiveHost(settings(try await certificate("one", in: folder)))
    let client = try await SecureClient.connected(port: host.port)
    client.send(Frame.start + Frame.request(0x83, [("content-length", "2000000")], flags: 4))
    for _ in 0..<3 { client.send(Frame.bytes(0, 0, on: 1, Array(repeating: 0x61, count: 16_000))) }
    try await client.received.wait(within: .seconds(60)) { received in
      received.isClosed || Frame.all(in: received.bytes).contains { $0.type == 3 }
    }
    let frames = client.received.read { Frame.all(in: $0.bytes) }.filter { $0.stream == 1 && $0.type != 8 }
    // The whole answer, and then the reset, without an error.
    #expect(frames.first?.type == 1 && frames.dropLast().last?.flags == 1)
    #expect(frames.contains { $0.type == 0 && $0.payload.starts(with: Array("{".utf8)) })
    #expect(frames.last?.type == 3 && frames.last?.payload == [0, 0, 0, 0])
    client.close()
    try await host.stop()
  }

  /// A host that has begun to stop, and a client whose handshake begins then.
  private func lateHandshake(
    _ protocols: [String], _ body: (SecureClient) async throws -> Void
  ) async throws {
    let folder = try TemporaryDirectory()
    var settings = settings(try await certificate("one", in: folder))
    // The connection ends before.
    settings.shutdownTime = .seconds(600)
    (settings.limits.idle, settings.limits.headTime) = (.seconds(600), .seconds(600))
    let host = try await LiveHost(settings)
    try await TCPRelay.running(to: host.port) { relay in
      relay.stall()
      let client = try await SecureClient.connected(port: relay.port, protocols: protocols)
      try await eventually("the host has the connection") {
        try StrictMetrics(host.metrics.registry.text(.prometheus)).value("renderhost_connections", [:]) == 1
      }
      await host.beginStopping()
      try await eventually("it listens no more") { (try? RawClient(port: host.port)) == nil }
      relay.heal()
      try await body(client)
      try await client.received.wait(within: .seconds(60)) { $0.isClosed }
      try await host.ended()
    }
  }

  @Test("a connection of HTTP/2 whose handshake ends while the server stops is answered, and told to end")
  func lateHandshakeOfHTTP2() async throws {
    try await lateHandshake(["h2"]) { client in
      client.send(Frame.start + Frame.request(0x82, flags: 5))
      try await client.received.wait(within: .seconds(60)) { received in
        received.isClosed || Frame.all(in: received.bytes).contains { $0.type == 6 && $0.flags == 0 }
      }
      let ping = try #require(client.received.read { Frame.all(in: $0.bytes).first { $0.type == 6 } })
      client.send(Frame.bytes(6, 1, on: 0, ping.payload))
      try await client.received.wait(within: .seconds(60)) { $0.isClosed }
      let frames = client.received.read { Frame.all(in: $0.bytes) }
      #expect(frames.contains { $0.stream == 1 && $0.type == 0 && $0.payload.starts(with: Array("{".utf8)) })
      #expect(frames.last { $0.type == 7 }?.payload.suffix(4) == [0, 0, 0, 0])
    }
  }

  @Test("a connection of HTTP/1.1 whose handshake ends while the server stops gets one answer")
  func lateHandshakeOfHTTP1() async throws {
    try await lateHandshake(["http/1.1"]) { client in
      client.send(Array("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n".utf8))
      try await client.received.wait(within: .seconds(60)) { $0.isClosed }
      let answer = client.received.read { String(decoding: $0.bytes, as: UTF8.self) }
      #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("alive"), "\(answer)")
      #expect(answer.lowercased().contains("connection: close"), "\(answer)")
    }
  }

  /// RFC 9110 §6.6.1.
  @Test("fields of HTTP/2 that are too long are refused with an answer that has a Date")
  func longFields() async throws {
    let folder = try TemporaryDirectory()
    var settings = settings(try await certificate("one", in: folder))
    settings.limits.header = 1_000
    let host = try await LiveHost(settings)
    let long = "X-Long: " + String(repeating: "x", count: 40_000)
    let answer = try await Tool.run(
      "curl", "-sk", "--http2", "-D", "-", "-H", long, "https://127.0.0.1:\(host.port)/healthz")
    #expect(answer.output.hasPrefix("HTTP/2 431"), "\(answer)")
    #expect(answer.output.contains(/date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/), "\(answer)")
    try await host.stop()
  }

  @Test("a connection of HTTP/2 without requests is closed after the idle time")
  func idleHTTP2() async throws {
    let folder = try TemporaryDirectory()
    var settings = settings(try await certificate("one", in: folder))
    settings.limits.idle = .seconds(1)
    let host = try await LiveHost(settings)
    let input = Pipe()
    let client = try RunningProgram(
      "openssl", ["s_client", "-quiet", "-alpn", "h2", "-connect", "127.0.0.1:\(host.port)"], input: .pipe(input))
    // The preface, empty settings, and a GET of /. RFC 9113 §3.4, §6.2.
    let preface = Data("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Data([0, 0, 0, 4, 0, 0, 0, 0, 0])
    let request = Data([0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x87, 0x84, 0x41, 1, 0x68])
    try input.fileHandleForWriting.write(contentsOf: preface + request)
    _ = await client.result(within: .seconds(30))
    try await host.stop()
  }

  @Test("a request of HTTP/2 that is under way is answered when the server stops")
  func stoppedHTTP2() async throws {
    let folder = try TemporaryDirectory()
    let (isAsked, mayAnswer) = (Signal(), Signal())
    let host = try await LiveHost(settings(try await certificate("one", in: folder))) { router in
      router.get("/slow") { _, _ in
        isAsked.send()
        await mayAnswer.wait(beyond: 0)
        return "answered"
      }
    }
    let client = try Tool.start("curl", ["-sk", "--http2", "https://127.0.0.1:\(host.port)/slow"])
    await isAsked.wait(beyond: 0)
    async let stopped: Void = host.stop()
    try await eventually("it listens no more") { (try? RawClient(port: host.port)) == nil }
    mayAnswer.send()
    let result = await client.result(within: .seconds(30))
    #expect(result.output == "answered", "\(result)")
    try await stopped
  }

  @Test("a new certificate is loaded without dropping connections")
  func newCertificate() async throws {
    let folder = try TemporaryDirectory()
    let (first, second) = (try await certificate("one", in: folder), try await certificate("two", in: folder))
    let live = TLSFiles(certificate: folder.file("live.crt"), privateKey: folder.file("live.key"))
    try install(first, as: live)
    let host = try await LiveHost(settings(live))
    let input = Pipe()
    let open = try RunningProgram(
      "openssl", ["s_client", "-quiet", "-connect", "127.0.0.1:\(host.port)"], input: .pipe(input))
    func ask() throws {
      try input.fileHandleForWriting.write(contentsOf: Data("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n".utf8))
    }
    try ask()
    try await open.wait(for: .output) { $0.ranges(of: "alive").count >= 1 }

    try install(second, as: live)
    await host.hangUp()
    #expect(try await handshake(host.port).contains("two"))
    try ask()
    try await open.wait(for: .output) { $0.ranges(of: "alive").count >= 2 }

    // Files that cannot be used change nothing.
    try Data("no certificate".utf8).write(to: URL(fileURLWithPath: live.certificate))
    await host.hangUp()
    #expect(try await handshake(host.port).contains("two"))
    open.send(SIGKILL)
    _ = await open.result()
    try await host.stop()
  }

  @Test("a certificate and a key that do not match are an error")
  func mismatchedFiles() async throws {
    let folder = try TemporaryDirectory()
    let (first, second) = (try await certificate("one", in: folder), try await certificate("two", in: folder))
    var settings = Settings()
    settings.bundles = folder.path
    (settings.certificate, settings.privateKey) = (first.certificate, second.privateKey)
    #expect(settings.problems.first?.contains("does not belong to") == true)
    settings.privateKey = folder.file("nowhere")
    #expect(settings.problems.first?.contains("--tls-key") == true)
    settings.certificate = first.privateKey
    #expect(settings.problems.first?.contains("--tls-cert") == true)
    (settings.certificate, settings.privateKey) = (first.certificate, first.privateKey)
    #expect(settings.problems.isEmpty)
  }

  @Test("a handshake that exceeds its time ends the connection")
  func slowHandshake() async throws {
    let folder = try TemporaryDirectory()
    var settings = settings(try await certificate("one", in: folder))
    settings.limits.headTime = .milliseconds(300)
    let host = try await LiveHost(settings)
    let client = try RawClient(port: host.port)
    client.send("\u{16}\u{3}\u{1}")
    #expect(try await client.readToEnd() == "")
    try await host.stop()
  }

  private func install(_ files: TLSFiles, as live: TLSFiles) throws {
    for (from, to) in [(files.certificate, live.certificate), (files.privateKey, live.privateKey)] {
      try Data(contentsOf: URL(fileURLWithPath: from)).write(to: URL(fileURLWithPath: to))
    }
  }
}
