import Foundation
import FoundationNetworking
import PageTesting
import TestSupport

/// The daemon as a separate process that serves a folder.
package struct Daemon {
  package struct NotRunning: Error { package let log: String }
  package struct Answer: Sendable {
    package let status: Int
    package let headers: [String: String]
    package let bytes: [UInt8]

    package var text: String { String(decoding: bytes, as: UTF8.self) }
  }

  package let origin: String
  package let program: RunningProgram
  private let log: String
  private let session = URLSession(configuration: .ephemeral)

  /// renderhost, beside the test bundle.
  package static var executable: String { RunningProgram.built("renderhost") }

  /// - Parameters:
  ///   - bundles: the folder of bundles; `nil` for none.
  ///   - shell: commands for the shell that becomes the daemon, such as `ulimit`.
  ///   - isReady: `true` to wait until it is ready.
  package static func running(
    _ bundles: String?, _ folder: TemporaryDirectory, _ flags: [String] = [], shell: String = ":",
    isReady: Bool = true, _ body: (Daemon) async throws -> Void
  ) async throws {
    let log = folder.file("log")
    try Data().write(to: URL(fileURLWithPath: log))
    let program = try RunningProgram(
      "/bin/sh",
      ["-c", "\(shell); exec \"$0\" \"$@\"", executable] + (bundles.map { ["--bundles", $0] } ?? [])
        + ["--store", folder.file("served"), "--listen", "127.0.0.1:0", "--workers", "2"] + flags,
      output: .file(log), error: .file(log))
    do {
      let daemon = Daemon(
        origin: "http://" + (try await address(in: log, behind: "Listening")), program: program, log: log)
      if isReady { try await daemon.until("/readyz is 200") { try await daemon.get("/readyz").status == 200 } }
      try await body(daemon)
    } catch {
      program.send(SIGKILL)
      _ = await program.result()
      throw error
    }
    program.send(SIGTERM)
    _ = await program.result()
  }

  package func port() throws -> Int {
    guard let port = origin.split(separator: ":").last.flatMap({ Int($0) }) else { throw NotRunning(log: origin) }
    return port
  }

  package var said: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

  /// The address of its gateway.
  package func gateway() async throws -> String { try await Self.address(in: log, behind: "The gateway is listening") }

  /// The address of its separate admin listener.
  package func admin() async throws -> String {
    "http://" + (try await Self.address(in: log, behind: "The admin listener is up"))
  }

  /// The address in a line of its log.
  private static func address(in log: String, behind mark: String) async throws -> String {
    let deadline = ContinuousClock.now + .seconds(60)
    while .now < deadline {
      let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
      if let line = text.split(separator: "\n").first(where: { $0.contains(mark) }),
        let start = line.range(of: "127.0.0.1:", options: .backwards)
      {
        return String(line[start.lowerBound...].prefix { $0.isNumber || $0 == "." || $0 == ":" })
      }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw NotRunning(log: (try? String(contentsOfFile: log, encoding: .utf8)) ?? "")
  }

  /// - Parameter origin: the address to request; `nil` for the daemon's own.
  package func get(_ path: String, _ headers: [String: String] = [:], at origin: String? = nil) async throws -> Answer {
    try await send("GET", path, headers, nil, at: origin)
  }

  package func post(
    _ path: String, _ json: String, _ headers: [String: String] = [:], at origin: String? = nil
  ) async throws -> Answer {
    let headers = headers.merging(["Content-Type": "application/json"]) { own, _ in own }
    return try await send("POST", path, headers, json, at: origin)
  }

  private func send(
    _ method: String, _ path: String, _ headers: [String: String], _ body: String?, at other: String? = nil
  ) async throws -> Answer {
    guard let url = URL(string: (other ?? origin) + path) else { throw URLError(.badURL) }
    var request = URLRequest(url: url, timeoutInterval: 60)
    request.httpMethod = method
    request.httpBody = body.map { Data($0.utf8) }
    for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
    let (data, response) = try await session.data(for: request)
    guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
    var found: [String: String] = [:]
    for (name, value) in response.allHeaderFields { found["\(name)".lowercased()] = "\(value)" }
    return Answer(status: response.statusCode, headers: found, bytes: Array(data))
  }

  /// The daemon's memory without its workers', each shared page divided by the number of its users.
  package func proportionalBytes() throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(program.identifier)/smaps_rollup", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("Pss:") }
    guard let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
      throw NotRunning(log: "smaps_rollup: \(text)")
    }
    return kilobytes << 10
  }

  /// The ids of its workers' processes.
  package func workers() async throws -> [pid_t] {
    struct Status: Decodable {
      struct Worker: Decodable { let pid: pid_t? }
      let workers: [Worker]
    }
    return try JSONDecoder().decode(Status.self, from: Data(try await get("/status").bytes)).workers.compactMap(\.pid)
  }

  /// Polls a condition, for changes without an event.
  package func until(
    _ what: String, within limit: Duration = .seconds(60), _ isSo: () async throws -> Bool
  ) async throws {
    let deadline = ContinuousClock.now + limit
    while .now < deadline {
      if (try? await isSo()) == true { return }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw NotRunning(log: "not within \(limit): \(what)")
  }
}
