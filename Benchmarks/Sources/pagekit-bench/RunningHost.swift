import Foundation

/// A renderhost that is ready.
struct RunningHost {
  let server: LocalServer

  init(
    _ program: String, bundles: String, store: String, workers: Int, cores: String? = nil, log: String
  ) throws {
    try? FileManager.default.removeItem(atPath: store)
    server = try LocalServer(program, cores: cores, log: log) { port in
      [
        "--bundles", bundles, "--store", store, "--listen", "127.0.0.1:\(port)", "--workers", "\(workers)",
        "--connections-per-address", "256", "--log-level", "warning",
      ]
    }
    let deadline = ContinuousClock.now + .seconds(20)
    while (try? Measurement.output(["curl", "-sf", server.origin + "/readyz"])) == nil {
      guard ContinuousClock.now < deadline else {
        server.stop()
        throw Measurement.Failed(description: "renderhost does not get ready: see \(log)")
      }
      usleep(50_000)
    }
  }

  func stop() { server.stop() }

  /// Bytes of it and its workers, each shared page counted in part by everyone who has it.
  var proportionalBytes: Int64 {
    let main = server.pid
    let children = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(main)/task")) ?? []
    let workers = children.flatMap { task in
      let text = try? String(contentsOfFile: "/proc/\(main)/task/\(task)/children", encoding: .utf8)
      return (text ?? "").split(separator: " ").compactMap { Int32($0) }
    }
    return ([main] + workers).reduce(0) { sum, pid in
      let rollup = (try? String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)) ?? ""
      let line = rollup.split(separator: "\n").first { $0.hasPrefix("Pss:") }
      return sum + (line?.split(separator: " ").dropFirst().first.flatMap { Int64($0) } ?? 0) << 10
    }
  }
}
