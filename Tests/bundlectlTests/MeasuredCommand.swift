import Foundation
import PageTesting

/// Runs the built `bundlectl` and measures its time and memory.
enum MeasuredCommand {
  struct Result: Sendable {
    let status: Int32
    let output: String
    let error: String
    /// The peak of resident bytes of the command or of a process that it started.
    let peakBytes: Int64
    let time: Duration
  }

  /// - Parameter limit: the time after which the command is killed; its status is then -1.
  static func run(_ arguments: [String], within limit: Duration = .seconds(300)) async throws -> Result {
    let files = try TemporaryDirectory()
    let executable = Command.executable.path
    return try await withCheckedThrowingContinuation { continuation in
      // wait4 blocks while the command runs.
      Thread.detachNewThread {
        continuation.resume(with: Swift.Result { try run(executable, arguments, files, within: limit) })
      }
    }
  }

  private static func run(
    _ executable: String, _ arguments: [String], _ files: TemporaryDirectory, within limit: Duration
  ) throws -> Result {
    let began = ContinuousClock.now
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, files.file("output"), O_WRONLY | O_CREAT, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, files.file("error"), O_WRONLY | O_CREAT, 0o600)
    let words: [UnsafeMutablePointer<CChar>?] = ([executable] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var child: pid_t = 0
    let code = posix_spawn(&child, executable, &actions, nil, words, environ)
    guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
    let process = child
    let alarm = Task { if (try? await Task.sleep(for: limit)) != nil { kill(process, SIGKILL) } }
    defer { alarm.cancel() }
    var status: Int32 = 0
    var usage = rusage()
    while wait4(child, &status, 0, &usage) < 0, errno == EINTR {}
    func text(_ name: String) -> String {
      String(decoding: FileManager.default.contents(atPath: files.file(name)) ?? Data(), as: UTF8.self)
    }
    return Result(
      status: status & 0x7f == 0 ? (status >> 8) & 0xff : -1, output: text("output"), error: text("error"),
      // The value of the process and of the children it has waited for, in KiB.
      peakBytes: Int64(usage.ru_maxrss) << 10, time: .now - began)
  }
}
