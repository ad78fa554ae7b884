import Foundation

/// A program that was started, and is waited for.
///
/// Foundation's `Process` waits for the wrong one where a child has children that outlive it.
struct Child {
  enum Output {
    case nowhere
    case file(String)
    case descriptor(Int32)
  }

  let pid: pid_t
  private let name: String

  /// - Parameter output: where what it writes and complains of goes.
  init(_ arguments: [String], output: Output = .nowhere) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    switch output {
    case .nowhere: posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
    case .file(let path):
      posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    case .descriptor(let number): posix_spawn_file_actions_adddup2(&actions, number, STDOUT_FILENO)
    }
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
    // A thread of libdispatch blocks signals, and its children would ignore them.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var argv = arguments.map { strdup($0) } + [nil]
    defer { for pointer in argv { free(pointer) } }
    var pid = pid_t()
    guard posix_spawnp(&pid, arguments[0], &actions, &attributes, &argv, environ) == 0 else {
      throw Measurement.Failed(description: "cannot start \(arguments[0])")
    }
    (self.pid, name) = (pid, arguments.joined(separator: " "))
  }

  /// Waits for its end.
  ///
  /// - Throws: ``Measurement/Failed`` where it is not 0.
  @discardableResult
  func finish() throws -> rusage {
    var status: Int32 = 0
    var usage = rusage()
    while wait4(pid, &status, 0, &usage) < 0 {
      guard errno == EINTR else { throw Measurement.Failed(description: "cannot wait for \(name)") }
    }
    guard status == 0 else { throw Measurement.Failed(description: "\(name) failed") }
    return usage
  }

  /// Whether it has ended; it cannot be waited for then.
  func hasEnded() -> Bool { waitpid(pid, nil, WNOHANG) == pid }

  func stop() {
    kill(pid, SIGTERM)
    _ = try? finish()
  }
}
