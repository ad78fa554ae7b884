import Foundation
import PageKit
import Testing

@testable import RenderHost

@Suite struct ConfinementTests {
  /// The worker's own account of what it can still do.
  @Test func aWorkerCanNeitherConnectNorReadNorExecute() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: PageFarm.executable)
    process.arguments = ["worker", "--check"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    let result = try JSONValue(reading: Array(text))
    guard case .object(let attempts) = result["attempts"] else {
      Issue.record("no account: \(String(decoding: text, as: UTF8.self))")
      return
    }
    #expect(attempts.count == 9)
    for (attempt, outcome) in attempts { #expect(outcome.text != "done", "\(attempt)") }
    #expect(process.terminationStatus == 0)
  }

  @Test func aWorkerSaysWhatItHasGivenUp() async throws {
    try await PageFarm.running([:], workers: 1) { farm in
      let worker = try #require(await farm.running.workers.status().workers.first)
      let report = try #require(worker.confinement)
      #expect(report.dropped.contains("system-calls") && report.dropped.contains("files"))
      // As the kernel sees it.
      let status = try String(contentsOfFile: "/proc/\(worker.pid)/status", encoding: .utf8)
      #expect(status.contains("NoNewPrivs:\t1"))
      #expect(status.contains("Seccomp:\t2"))
      #expect(status.contains("CapEff:\t0000000000000000"))
      // Nothing open but the daemon's socket, and what waits for events.
      let folder = "/proc/\(worker.pid)/fd"
      for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
        guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)") else {
          continue
        }
        // libdispatch looks at its own threads now and then, and the script engine at its memory.
        let known = ["/dev/null", "anon_inode:", "/dev/urandom", "/proc/\(worker.pid)/"]
        let isFine = known.contains { target.hasPrefix($0) }
        #expect(isFine || name == "3" && target.hasPrefix("socket:"), "\(name) is \(target)")
      }
      // Every thread has it.
      for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(worker.pid)/task") {
        let status = try String(contentsOfFile: "/proc/\(worker.pid)/task/\(thread)/status", encoding: .utf8)
        #expect(status.contains("Seccomp:\t2"))
      }
    }
  }
}
