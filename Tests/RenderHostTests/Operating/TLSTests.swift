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
