import Foundation
import PageTesting

/// HAProxy before the gateways of a fleet, on 127.0.0.1, with the configuration in `deploy`.
package final class HAProxy: Sendable {
  private static let path = "/usr/sbin/haproxy"
  package static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

  /// A host behind it.
  package struct Server: Sendable {
    let name: String
    /// Host and port.
    let gateway: String
    /// The port of its own listener.
    let checks: Int

    package init(name: String, gateway: String, checks: Int) {
      (self.name, self.gateway, self.checks) = (name, gateway, checks)
    }
  }

  private let reservation: FaultOrigin
  private let folder: TemporaryDirectory
  private let process: ServerProcess

  package var port: Int { reservation.port }
  package var url: String { "http://127.0.0.1:\(port)" }

  /// Starts it, and stops it when `body` has returned or thrown. It need not answer yet when it is called.
  package static func running<Result>(
    _ servers: [Server], _ body: (HAProxy) async throws -> Result
  ) async throws -> Result {
    let proxy = try await HAProxy(servers)
    do {
      let result = try await body(proxy)
      await proxy.stop()
      return result
    } catch {
      await proxy.stop()
      throw error
    }
  }

  private init(_ servers: [Server]) async throws {
    reservation = try await FaultOrigin.start()
    try await reservation.refuseConnections()
    folder = try TemporaryDirectory(prefix: "pagekit-haproxy")
    let listening = "bind 127.0.0.1:\(reservation.port)"
    let deployed = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../deploy/haproxy.cfg").standardizedFileURL
    var lines = try String(contentsOf: deployed, encoding: .utf8).split(separator: "\n").map(String.init)
      .filter { !$0.hasPrefix("  server ") }
    lines = lines.map {
      $0.replacing("bind :80", with: listening).replacing("check port 8080", with: "check")
    }
    lines += servers.map { "  server \($0.name) \($0.gateway) check port \($0.checks)" }
    // So that a test sees which host has answered.
    lines.append("  http-response set-header X-Host %s")
    try Data((lines.joined(separator: "\n") + "\n").utf8)
      .write(to: URL(fileURLWithPath: folder.file("haproxy.cfg")))
    process = try ServerProcess(Self.path, ["-db", "-f", folder.file("haproxy.cfg")])
  }

  private func stop() async {
    await process.kill()
    try? await reservation.stop()
  }
}
