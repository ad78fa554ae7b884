import CLinux
import Foundation
import PageTesting
import Synchronization

/// A program that a test has started, as a process of its own.
///
/// Foundation's `Process` looks through all open files of this process whenever it starts one, and reads past the end of
/// that list with about 1,350 of them: with the connections of some tests, it has ended the process that runs them all.
package final class RunningProgram: Sendable {
  /// Where its output goes.
  package enum Output {
    /// A file, which ``text(of:)`` and the result read.
    case kept
    /// The end of a file at this path, which is made if it is missing.
    case file(String)
    case pipe(Pipe)
  }

  /// The source of its standard input.
  package enum Input {
    case nothing
    case text(String)
    case pipe(Pipe)
  }

  package enum Stream: String, Sendable {
    case output, error
  }

  package struct Result: Sendable {
    /// The exit status, or the number of the signal that ended it.
    package let status: Int32
    /// `true` if a signal ended it.
    package let wasKilled: Bool
    package let output: String
    package let error: String
    package let time: Duration
  }

  private struct End {
    let status: Int32
    let time: Duration
  }

  private enum State {
    case running([CheckedContinuation<End, Never>])
    case ended(End)
  }

  package let identifier: pid_t
  private let path: String
  private let files: TemporaryDirectory
  private let state = Mutex(State.running([]))

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - path: its file, or its name in the `PATH`.
  ///   - environment: all its variables.
  ///   - folder: its working directory; `nil` for that of this process.
  /// - Throws: an error if it cannot be started.
  package init(
    _ path: String, _ arguments: [String], environment: [String: String] = ProcessInfo.processInfo.environment,
    in folder: String? = nil, input: Input = .nothing, output: Output = .kept, error: Output = .kept
  ) throws {
    self.path = path
    files = try TemporaryDirectory()
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    switch input {
    case .nothing: posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    case .text(let text):
      try Data(text.utf8).write(to: URL(fileURLWithPath: files.file("input")))
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, files.file("input"), O_RDONLY, 0)
    case .pipe(let pipe):
      posix_spawn_file_actions_adddup2(&actions, pipe.fileHandleForReading.fileDescriptor, STDIN_FILENO)
    }
    for (stream, output, number) in [(Stream.output, output, STDOUT_FILENO), (.error, error, STDERR_FILENO)] {
      switch output {
      case .kept: Self.open(files.file(stream.rawValue), as: number, &actions)
      case .file(let path): Self.open(path, as: number, &actions)
      case .pipe(let pipe):
        posix_spawn_file_actions_adddup2(&actions, pipe.fileHandleForWriting.fileDescriptor, number)
      }
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Tests in the background may ignore signals, and the program would inherit that.
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    let command = (folder.map { ["env", "-C", $0] } ?? []) + [path] + arguments
    let words = Self.copies(of: command)
    let variables = Self.copies(of: environment.map { "\($0.key)=\($0.value)" })
    defer { for word in words + variables { free(word) } }
    let began = ContinuousClock.now
    var child: pid_t = 0
    let code = posix_spawnp(&child, command[0], &actions, &attributes, words, variables)
    guard code == 0 else { throw ProgramError(program: path, reason: String(cString: strerror(code))) }
    identifier = child
    if case .pipe(let pipe) = input { try pipe.fileHandleForReading.close() }
    for case .pipe(let pipe) in [output, error] { try pipe.fileHandleForWriting.close() }
    // waitpid blocks while the program runs.
    Thread.detachNewThread { [self] in
      var status: Int32 = 0
      while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
      ended(End(status: status, time: .now - began))
    }
  }

  private static func open(_ path: String, as number: Int32, _ actions: inout posix_spawn_file_actions_t) {
    posix_spawn_file_actions_addopen(&actions, number, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
  }

  /// The strings as C has them, with a null pointer behind the last one.
  private static func copies(of strings: [String]) -> [UnsafeMutablePointer<CChar>?] {
    strings.map { strdup($0) } + [nil]
  }

  private func ended(_ end: End) {
    let waiters = state.withLock { state -> [CheckedContinuation<End, Never>] in
      defer { state = .ended(end) }
      if case .running(let waiters) = state { return waiters }
      return []
    }
    for waiter in waiters { waiter.resume(returning: end) }
  }

  private func end() async -> End {
    await withCheckedContinuation { continuation in
      let end = state.withLock { state -> End? in
        switch state {
        case .running(let waiters):
          state = .running(waiters + [continuation])
          return nil
        case .ended(let end): return end
        }
      }
      if let end { continuation.resume(returning: end) }
    }
  }

  package var isRunning: Bool {
    state.withLock { if case .running = $0 { true } else { false } }
  }

  /// Sends a signal, unless it has ended.
  package func send(_ signal: Int32) {
    state.withLock { if case .running = $0 { kill(identifier, signal) } }
  }

  /// The peak of resident bytes of the process or of one that it has started, as looked at every few milliseconds until
  /// its end. The peak that the system counts for an ended process is at least that of the process that has started it.
  package func peakBytes() async -> Int64 {
    var peak: Int64 = 0
    while isRunning {
      for process in Self.descendants(of: identifier) { peak = max(peak, Self.peakBytes(of: process)) }
      try? await Task.sleep(for: .milliseconds(5))
    }
    return peak
  }

  /// The ids of its process, and of those that it and its children have started.
  package var processes: [pid_t] { Self.descendants(of: identifier) }

  /// A process, and those that it and its children have started.
  private static func descendants(of process: pid_t) -> [pid_t] {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
    let children = threads.flatMap { thread in
      (try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/children", encoding: .utf8))?
        .split(separator: " ") ?? []
    }
    return [process] + children.compactMap { pid_t($0) }.flatMap { descendants(of: $0) }
  }

  private static func peakBytes(of process: pid_t) -> Int64 {
    let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return (line?.split(separator: " ").dropFirst().first.flatMap { Int64($0) } ?? 0) << 10
  }

  /// The text that it has written so far to a stream that is kept.
  package func text(of stream: Stream) -> String {
    String(decoding: FileManager.default.contents(atPath: files.file(stream.rawValue)) ?? Data(), as: UTF8.self)
  }

  /// Waits for its end.
  ///
  /// - Parameter limit: the time after which it is killed.
  package func result(within limit: Duration = .seconds(300)) async -> Result {
    let deadline = Task { if (try? await Task.sleep(for: limit)) != nil { send(SIGKILL) } }
    let end = await end()
    deadline.cancel()
    // wait(2): the low bits are the signal, the next byte is the exit status.
    let signal = end.status & 0x7f
    return Result(
      status: signal == 0 ? (end.status >> 8) & 0xff : signal, wasKilled: signal != 0, output: text(of: .output),
      error: text(of: .error), time: end.time)
  }

  /// Waits for its end.
  ///
  /// - Throws: an error if its status is not zero.
  package func succeed() async throws {
    let result = await result()
    guard result.status == 0 else {
      throw ProgramError(program: path, reason: "status \(result.status): \(result.error)")
    }
  }

  /// Waits until a stream that is kept satisfies a condition, at most for 30 seconds.
  ///
  /// - Throws: an error if it ends before.
  package func wait(for stream: Stream, _ condition: (String) -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while !condition(text(of: stream)) {
      guard ContinuousClock.now < deadline, isRunning else {
        throw ProgramError(program: path, reason: "it said: \(text(of: .output)) \(text(of: .error))")
      }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// A program that was built with the tests, and is beside them.
  package static func built(_ name: String) -> String {
    URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
      .appendingPathComponent(name).path
  }
}

package struct ProgramError: Error, CustomStringConvertible {
  let program: String
  let reason: String

  package init(program: String, reason: String) {
    self.program = program
    self.reason = reason
  }

  package var description: String { "\(program): \(reason)" }
}
