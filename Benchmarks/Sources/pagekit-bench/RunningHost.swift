import Foundation

/// A renderhost that is ready.
struct RunningHost {
  let server: LocalServer
  /// 0 where it has no gateway.
  let gatewayPort: Int

  /// - Parameters:
  ///   - bundles: the folder of its bundles; `nil` for a gateway alone, which runs no pages.
  ///   - keepsStore: `false` for an empty store.
  ///   - options: more of its options.
  init(
    _ program: String, bundles: String?, store: String, keepsStore: Bool = false, workers: Int = 1,
    cores: String? = nil,
    gateway: (origin: String, adminToken: String)? = nil, certificate: Certificate? = nil,
    options: [String] = [], log: String
  ) throws {
    if !keepsStore { try? FileManager.default.removeItem(atPath: store) }
    let gatewayPort = try gateway == nil ? 0 : LocalServer.freePort()
    self.gatewayPort = gatewayPort
    let more = gateway.map {
      ["--gateway", "127.0.0.1:\(gatewayPort)", "--origin", $0.origin, "--admin-token", $0.adminToken]
    }
    let tls = certificate.map { ["--tls-cert", $0.certificate, "--tls-key", $0.key] } ?? []
    server = try LocalServer(program, cores: cores, isSecure: certificate != nil, log: log) { port in
      (bundles.map { ["--bundles", $0, "--workers", "\(workers)", "--max-pages", "2000"] } ?? []) + [
        "--store", store, "--listen", "127.0.0.1:\(port)", "--connections-per-address", "2048",
        "--log-level", "warning",
      ] + (more ?? []) + tls + options
    }
    let deadline = ContinuousClock.now + .seconds(20)
    while (try? Measurement.output(["curl", "-skf", server.origin + "/readyz"])) == nil {
      guard ContinuousClock.now < deadline else {
        server.stop()
        throw Measurement.Failed(description: "renderhost does not get ready: see \(log)")
      }
      usleep(50_000)
    }
  }

  func stop() { server.stop() }

  /// Bytes of it and its workers, each shared page counted in part by everyone who has it.
  var proportionalBytes: Int64 { server.proportionalBytes }
}
