import Foundation

/// One finished process, as the kernel accounts for it.
struct ProcessCost {
  let wall: Double
  let cpu: Double
  /// The largest single process, in bytes.
  let residentBytes: Int64
}

enum Measurement {
  struct Failed: Error, CustomStringConvertible {
    let description: String
  }

  /// Runs a command to its end, its output thrown away.
  static func run(_ arguments: [String]) throws -> ProcessCost {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
    var argv = arguments.map { strdup($0) } + [nil]
    defer { for pointer in argv { free(pointer) } }
    var pid = pid_t()
    let start = ContinuousClock.now
    guard posix_spawnp(&pid, arguments[0], &actions, nil, &argv, environ) == 0 else {
      throw Failed(description: "cannot start \(arguments[0])")
    }
    var status: Int32 = 0
    var usage = rusage()
    while wait4(pid, &status, 0, &usage) < 0 {
      guard errno == EINTR else { throw Failed(description: "cannot wait for \(arguments[0])") }
    }
    let wall = ContinuousClock.now - start
    guard status == 0 else { throw Failed(description: "\(arguments.joined(separator: " ")) failed") }
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return ProcessCost(
      wall: Double(wall.components.seconds) + Double(wall.components.attoseconds) / 1e18,
      cpu: seconds(usage.ru_utime) + seconds(usage.ru_stime), residentBytes: Int64(usage.ru_maxrss) * 1024)
  }

  static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    guard !sorted.isEmpty else { return 0 }
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  }

  /// Seconds for one of `count` calls.
  static func time(_ count: Int, _ body: () async throws -> Void) async rethrows -> Double {
    let start = ContinuousClock.now
    for _ in 0..<count { try await body() }
    let elapsed = ContinuousClock.now - start
    return (Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18) / Double(count)
  }
}
