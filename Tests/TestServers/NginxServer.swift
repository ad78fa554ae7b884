import CurlTransport
import Foundation
import HTTPTransport
import HTTPTypes
import PageTesting
import Synchronization
import TestSupport

/// A real web server for a test: TLS and HTTP/2 on 127.0.0.1, with all of its files in its own folder.
///
/// It serves the files in its folder, and stores files that it gets with PUT. Its certificate is made for the test, and
/// only clients with ``certificateAuthority`` trust it.
package final class NginxServer: Sendable {
  static let path = "/usr/sbin/nginx"
  package static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

  /// A bound socket that does not listen while nginx runs, so that no other process gets the port.
  private let reservation: FaultOrigin
  private let folder: TemporaryDirectory
  private let nginx: ServerProcess

  package var port: Int { reservation.port }

  /// The path of a PEM file.
  package var certificateAuthority: String { folder.file("ca.pem") }

  /// Starts a server, and stops it when `body` has returned or thrown.
  ///
  /// - Parameter isHTTP2: `false` for a server with HTTP/1.1 only.
  package static func running<Result>(
    serving files: [String: [UInt8]], isHTTP2: Bool = true, _ body: (NginxServer) async throws -> Result
  ) async throws -> Result {
    let server = try await NginxServer(serving: files, isHTTP2: isHTTP2)
    do {
      try await server.waitUntilReady()
      let result = try await body(server)
      await server.stop()
      return result
    } catch {
      await server.stop()
      throw error
    }
  }

  private init(serving files: [String: [UInt8]], isHTTP2: Bool) async throws {
    reservation = try await FaultOrigin.start()
    try await reservation.refuseConnections()
    folder = try TemporaryDirectory(prefix: "pagekit-nginx")
    try FileManager.default.createDirectory(atPath: folder.file("www"), withIntermediateDirectories: false)
    for (name, bytes) in files {
      let path = folder.file("www/\(name)")
      let parent = URL(fileURLWithPath: path).deletingLastPathComponent()
      try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
      try Self.write(bytes, to: path)
    }
    try await Self.makeCertificates(in: folder)
    let listening = "127.0.0.1:\(reservation.port) ssl\(isHTTP2 ? " http2" : "")"
    try Self.write(Array(Self.configuration(in: folder, listening: listening).utf8), to: folder.file("nginx.conf"))
    nginx = try ServerProcess(
      Self.path, ["-p", folder.path, "-c", folder.file("nginx.conf"), "-e", folder.file("error.log")])
  }

  /// The URL of one of its files.
  package func url(for path: String) -> String { "https://127.0.0.1:\(port)\(path)" }

  /// The lines of its access log, each `connection protocol path`, once this number of requests have ended.
  package func accesses(_ count: Int) async throws -> [[Substring]] {
    let deadline = ContinuousClock.now + .seconds(20)
    while true {
      let text = try String(contentsOfFile: folder.file("access.log"), encoding: .utf8)
      let lines = text.split(separator: "\n").map { $0.split(separator: " ") }.filter { !$0.contains(Self.probe) }
      if lines.count >= count || ContinuousClock.now > deadline { return lines }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  private func stop() async {
    await nginx.kill()
    try? await reservation.stop()
  }

  // MARK: Starting

  private static let probe: Substring = "/ready"

  private func waitUntilReady() async throws {
    let transport = try CurlTransport(CurlTransport.Configuration(certificateAuthorities: certificateAuthority))
    let deadline = ContinuousClock.now + .seconds(20)
    while true {
      do {
        let head = HTTPRequest(
          method: .get, scheme: "https", authority: "127.0.0.1:\(port)", path: String(Self.probe))
        for try await _ in try await transport.send(TransportRequest(head)).body {}
        return
      } catch let error as TransportError {
        guard ContinuousClock.now < deadline else {
          let log = (try? String(contentsOfFile: folder.file("error.log"), encoding: .utf8)) ?? ""
          throw ProgramError(program: Self.path, reason: "\(error)\n\(log)")
        }
        try await Task.sleep(for: .milliseconds(20))
      }
    }
  }

  private static func write(_ bytes: [UInt8], to path: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path))
  }

  private static func configuration(in folder: TemporaryDirectory, listening: String) -> String {
    """
    daemon off;
    master_process off;
    pid \(folder.file("nginx.pid"));
    error_log \(folder.file("error.log"));
    events { worker_connections 256; }
    http {
      log_format plain '$connection $server_protocol $uri';
      access_log \(folder.file("access.log")) plain;
      client_body_temp_path \(folder.file("body"));
      proxy_temp_path \(folder.file("proxy"));
      fastcgi_temp_path \(folder.file("fastcgi"));
      uwsgi_temp_path \(folder.file("uwsgi"));
      scgi_temp_path \(folder.file("scgi"));
      default_type application/octet-stream;
      server {
        listen \(listening);
        ssl_certificate \(folder.file("server.pem"));
        ssl_certificate_key \(folder.file("server.key"));
        root \(folder.file("www"));
        dav_methods PUT;
      }
    }

    """
  }

  private static func makeCertificates(in folder: TemporaryDirectory) async throws {
    let settings = """
      [req]
      distinguished_name = subject
      prompt = no
      [subject]
      CN = PageKit test
      [authority]
      basicConstraints = critical, CA:TRUE
      keyUsage = critical, keyCertSign
      [server]
      basicConstraints = critical, CA:FALSE
      subjectAltName = IP:127.0.0.1

      """
    try write(Array(settings.utf8), to: folder.file("openssl.cnf"))
    let shared = [
      "req", "-x509", "-config", folder.file("openssl.cnf"), "-newkey", "ec", "-pkeyopt",
      "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
    ]
    let authority = ["-extensions", "authority", "-keyout", folder.file("ca.key"), "-out", folder.file("ca.pem")]
    try await RunningProgram("openssl", shared + authority).succeed()
    let server = [
      "-extensions", "server", "-CA", folder.file("ca.pem"), "-CAkey", folder.file("ca.key"), "-subj", "/CN=127.0.0.1",
      "-keyout", folder.file("server.key"), "-out", folder.file("server.pem"),
    ]
    try await RunningProgram("openssl", shared + server).succeed()
  }
}
