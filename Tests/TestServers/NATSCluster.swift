import Foundation
import FoundationNetworking
import PageTesting
import Synchronization
import TestSupport

/// Real NATS servers with JetStream for a test, on 127.0.0.1, with all of their files in its own folder.
package final class NATSCluster: Sendable {
  private static let path = "/usr/sbin/nats-server"
  package static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

  private let folder: TemporaryDirectory
  /// Bound sockets that do not listen, so that no other process gets the ports: of clients, of the other servers, and of
  /// those who ask for a server's health.
  private let clients: [FaultOrigin]
  private let routes: [FaultOrigin]
  private let monitors: [FaultOrigin]
  private let servers: Mutex<[Int: ServerProcess]>

  /// The ports for clients.
  package var ports: [Int] { clients.map(\.port) }
  /// The URLs for clients.
  package var urls: [String] { ports.map { "nats://127.0.0.1:\($0)" } }

  /// Starts servers, and stops them when `body` has returned or thrown. They need not answer yet when it is called.
  ///
  /// - Parameter count: 1, or 3 for a cluster.
  package static func running<Result>(
    _ count: Int = 1, _ body: (NATSCluster) async throws -> Result
  ) async throws -> Result {
    let cluster = try await NATSCluster(count)
    do {
      for index in 0..<count { try cluster.start(index) }
      let result = try await body(cluster)
      await cluster.stop()
      return result
    } catch {
      await cluster.stop()
      throw error
    }
  }

  private init(_ count: Int) async throws {
    folder = try TemporaryDirectory(prefix: "pagekit-nats")
    var origins: [FaultOrigin] = []
    for _ in 0..<(3 * count) {
      let origin = try await FaultOrigin.start()
      try await origin.refuseConnections()
      origins.append(origin)
    }
    (clients, routes) = (Array(origins[..<count]), Array(origins[count..<(2 * count)]))
    monitors = Array(origins[(2 * count)...])
    servers = Mutex([:])
  }

  /// Starts a server, with what it had stored before.
  ///
  /// - Parameter password: of its user `user`; `nil` if it takes everybody.
  package func start(_ index: Int, password: String? = nil) throws {
    let configuration = """
      listen: 127.0.0.1:\(clients[index].port)
      http: "127.0.0.1:\(monitors[index].port)"
      server_name: n\(index)
      log_file: "\(folder.file("\(index).log"))"
      jetstream { store_dir: "\(folder.file("\(index)"))" }
      \(clients.count > 1 ? cluster(index) : "")
      \(password.map { "authorization { user: user, password: \"\($0)\" }" } ?? "")

      """
    try Data(configuration.utf8).write(to: URL(fileURLWithPath: folder.file("\(index).conf")))
    let server = try ServerProcess(Self.path, ["-c", folder.file("\(index).conf")])
    servers.withLock { $0[index] = server }
  }

  private func cluster(_ index: Int) -> String {
    let others = routes.map { "\"nats://127.0.0.1:\($0.port)\"" }.joined(separator: ", ")
    return
      "cluster { name: test, no_advertise: true, listen: \"127.0.0.1:\(routes[index].port)\", routes: [\(others)] }"
  }

  /// Kills a server.
  package func kill(_ index: Int) async {
    await servers.withLock { $0.removeValue(forKey: index) }?.kill()
  }

  /// Waits until each server has all that the streams have.
  ///
  /// Of three servers two must have it: if one is killed while another, which was killed before, still reads what it
  /// missed, nats-server 2.9 may elect no leader of a stream any more.
  ///
  /// - Throws: ``TimeoutError`` after three minutes.
  package func waitUntilCurrent() async throws {
    try await eventually("the servers of NATS have what their streams have", within: .seconds(180)) {
      for monitor in monitors {
        guard let url = URL(string: "http://127.0.0.1:\(monitor.port)/healthz"),
          let (_, response) = try? await URLSession.shared.data(from: url),
          (response as? HTTPURLResponse)?.statusCode == 200
        else { return false }
      }
      return true
    }
  }

  private func stop() async {
    for index in clients.indices { await kill(index) }
    for origin in clients + routes + monitors { try? await origin.stop() }
  }
}
