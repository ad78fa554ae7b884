import Foundation
import PageKit
import TestServers
import TestSupport
import Testing

@testable import PageWorkers
@testable import RenderHost

@Suite struct ConfinementTests {
  private struct Check {
    let status: Int32
    let result: ConfinementCheck.Result

    /// - Parameter draws: `true` to try a worker that draws pages.
    init(_ flags: String..., draws: Bool = false, as user: [String] = []) async throws {
      let flags = flags + (draws ? ["--pictures"] : [])
      // The folder for temporary files may belong to root.
      let output = try await Tool.start(
        "env", user + [Daemon.executable, "worker", "--check", "--json"] + flags, environment: ["TMPDIR": "/tmp"]
      ).result()
      status = output.status
      result = try JSONDecoder().decode(ConfinementCheck.Result.self, from: Data(output.output.utf8))
    }
  }

  /// A worker, and one that draws pages where this machine can.
  private static let kinds = DrawnPicture.canDraw ? [false, true] : [false]

  @Test("a worker can do what it needs, and none of the attacks succeeds", arguments: kinds)
  func attacks(draws: Bool) async throws {
    let check = try await Check(draws: draws)
    for attempt in ConfinementAttempt.all(draws: draws) {
      let outcome = attempt.isNeeded ? check.result.needs[attempt.name] : check.result.attempts[attempt.name]
      #expect(outcome != nil && (outcome == "done") == attempt.isNeeded, "\(attempt.name): \(outcome ?? "not tried")")
    }
    #expect(check.result.open == [] && check.result.missing == [] && check.status == 0)
    #expect(check.result.attempts.count >= 164)
    print("\(check.result.attempts.count) attacks on a worker's confinement were refused")
  }

  /// Namespaces of its own are refused to a process of several threads, which it must not be then, whatever it has loaded.
  @Test("a worker of an ordinary user is confined like one of root", .enabled(if: getuid() == 0), arguments: kinds)
  func ordinaryUser(draws: Bool) async throws {
    let user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    let plain = try await Check(as: user).result.confinement
    for _ in 0..<5 {
      let check = try await Check(draws: draws, as: user)
      #expect(check.result.open == [] && check.result.missing == [] && check.status == 0)
      #expect(check.result.confinement.dropped == plain.dropped, "\(check.result.confinement.kept)")
    }
  }

  @Test(
    "a worker that draws may make files in memory and read fonts, and nothing next to them",
    .enabled(if: DrawnPicture.canDraw))
  func drawing() async throws {
    let (plain, drawing) = (try await Check().result, try await Check(draws: true).result)
    #expect(plain.attempts["make a file in memory"] != nil && drawing.needs["make a file in memory"] == "done")
    #expect(Set(plain.attempts.keys).subtracting(drawing.attempts.keys) == ["make a file in memory"])
    let unfiltered = try await Check("--without", "files", draws: true)
    for name in ["leave the folder of fonts (..)", "ask whether it can read a file of its user (faccessat)"] {
      #expect(unfiltered.result.open.contains(name), "\(name)")
    }
  }

  /// Each layer alone, which also shows the check's output on a kernel that lacks one.
  @Test(
    "a check that omits a step lists the attacks that succeed without it",
    arguments: [
      ("files", "read a file of its user"), ("files", "read /proc/<other>/cmdline"),
      ("system-calls", "change a file's mode"), ("system-calls", "make a socket for UDP"),
    ])
  func omittedStep(_ step: String, _ attempt: String) async throws {
    let check = try await Check("--without", step)
    #expect(check.result.open.contains(attempt) && check.result.attempts[attempt] == "done")
    #expect(check.result.confinement.kept[step] == "left out" && check.status == 1)
  }

  @Test(
    "Landlock and the network namespace hold without the filter of system calls",
    arguments: [
      "signal another process (kill)", "signal another process (tgkill)", "read a file of its user",
      "write a file of its user", "make a file", "remove a file", "rename a file", "read /proc/<other>/cmdline",
      "read /proc/<other>/environ", "trace another process", "run a program (execve)", "connect by TCP",
      "connect to an abstract socket", "list /proc",
    ])
  func noFilter(_ attempt: String) async throws {
    guard Landlock(version: Landlock.version)?.refusesSignals == true else { return }
    let check = try await Check("--without", "system-calls")
    #expect(check.result.attempts[attempt] != nil && !check.result.open.contains(attempt))
  }

  @Test(
    "a check with an unknown flag or step prints its usage",
    arguments: [
      ["--chek"], ["--check", "--without"], ["--check", "--without", "nothing"], [],
    ])
  func unknownFlag(_ arguments: [String]) async throws {
    let output = try await Tool.start(Daemon.executable, ["worker"] + arguments).result()
    #expect(output.status == 64 && output.error.contains(ConfinementCheck.usage))
  }

  @Test("a worker reports its confinement")
  func confinementReport() async throws {
    try await PageFarm.running([:], workers: 1) { farm in
      let worker = try #require(await farm.running.workers.status().workers.first)
      let report = try #require(worker.confinement)
      #expect(report.dropped.contains("system-calls") && report.dropped.contains("files"))
      // The kernel's view.
      let status = try String(contentsOfFile: "/proc/\(worker.pid)/status", encoding: .utf8)
      #expect(status.contains("NoNewPrivs:\t1"))
      #expect(status.contains("Seccomp:\t2"))
      #expect(status.contains("CapEff:\t0000000000000000"))
      let limits = try String(contentsOfFile: "/proc/\(worker.pid)/limits", encoding: .utf8).split(separator: "\n")
      for (name, limit) in [("Max file size", "33554432"), ("Max core file size", "0"), ("Max open files", "64")] {
        let values = limits.first { $0.hasPrefix(name) }?.dropFirst(name.count).split(separator: " ").prefix(2)
        #expect(values?.map(String.init) == [limit, limit], "\(name)")
      }
      // Only the daemon's sockets, of which the second takes what it writes to its standard error, and the descriptors for
      // waiting are open.
      let folder = "/proc/\(worker.pid)/fd"
      for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
        guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)") else {
          continue
        }
        // libdispatch looks at its own threads at times, and the script engine at its memory.
        let known = ["/dev/null", "anon_inode:", "/dev/urandom", "/proc/\(worker.pid)/"]
        let isFine = known.contains { target.hasPrefix($0) }
        #expect(isFine || ["2", "3"].contains(name) && target.hasPrefix("socket:"), "\(name) is \(target)")
      }
      // Every thread has the filter.
      for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(worker.pid)/task") {
        let status = try String(contentsOfFile: "/proc/\(worker.pid)/task/\(thread)/status", encoding: .utf8)
        #expect(status.contains("Seccomp:\t2"))
      }
    }
  }
}
