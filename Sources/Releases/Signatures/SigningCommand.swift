import Dispatch
import Foundation
import HTTPTransport
import Synchronization

/// A shell command that signs, for a key in a hardware module or an agent.
///
/// Its standard input is the message, a file. Its output is the signature, as 64 bytes or their base64. It ends, with all
/// that it has started, when its shell ends, when its time is over, when it writes too much, and when the task that waits
/// for it is cancelled. A process that makes a session of its own is not found.
package struct SigningCommand: Hashable, Sendable {
  package let command: String
  /// The key that the command has; a signature of another one is refused.
  package let key: VerificationKey
  /// The time after which the command is killed.
  package var limit: Duration

  /// The option or setting that gave the command, for messages.
  private let option: String

  package init(
    _ command: String, key: VerificationKey, limit: Duration = .seconds(120), option: String = "--sign-with"
  ) {
    (self.command, self.key, self.limit, self.option) = (command, key, limit, option)
  }

  /// Runs of the same command wait for each other: it may use a device. Others do not wait.
  private static let queues = Mutex<[String: DispatchQueue]>([:])
  private static let outputLimit = 4096
  /// The time between two looks at a command whose output has not ended.
  private static let look: Duration = .milliseconds(50)

  private var queue: DispatchQueue {
    Self.queues.withLock { queues in
      if let known = queues[command] { return known }
      let queue = DispatchQueue(label: "pagekit.signing")
      queues[command] = queue
      return queue
    }
  }

  /// - Throws: ``DescribedError``, `CancellationError`.
  package func signature(over message: [UInt8]) async throws -> [UInt8] {
    let run = SigningRun()
    let output = try await withTaskCancellationHandler {
      try await queue.result { try execute(run, with: message) }
    } onCancel: {
      run.cancel()
    }
    let signature =
      output.count == VerificationKey.signatureByteCount
      ? output : [UInt8](base64: String(decoding: output, as: UTF8.self)) ?? []
    guard key.isValid(signature, over: message) else {
      throw failure(
        "gave no signature by the key \(key.id): expected 64 bytes or their base64, found \(output.count) bytes")
    }
    return signature
  }

  /// Signs a file.
  ///
  /// - Throws: ``DescribedError``, `CancellationError`.
  package func sign(_ content: [UInt8], as kind: SignedKind) async throws -> SignatureFile.Signature {
    .init(keyID: key.id, bytes: try await signature(over: kind.message(content)))
  }

  /// Runs the command, and waits for its end. Returns its output.
  private func execute(_ run: SigningRun, with message: [UInt8]) throws -> [UInt8] {
    // A file, since a command may write before it has read all.
    let input = FileManager.default.temporaryDirectory.appendingPathComponent("pagekit-\(UUID().uuidString)")
    let (process, pipe) = (Process(), Pipe())
    do {
      try Data(message).write(to: input)
      process.standardInput = try FileHandle(forReadingFrom: input)
    } catch {
      throw failure("gets no input: \(error.plainReason)")
    }
    defer { try? FileManager.default.removeItem(at: input) }
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", command]
    process.standardOutput = pipe
    guard !run.isCancelled else { throw CancellationError() }
    do {
      try process.run()
    } catch {
      throw failure("cannot be run: \(error.plainReason)")
    }
    run.begin(process.processIdentifier)
    let output = Result {
      try contents(
        of: pipe.fileHandleForReading.fileDescriptor, while: { Self.isRunning(process.processIdentifier) })
    }
    // Also what the command has left: it may have the output open.
    run.end()
    process.waitUntilExit()
    if run.isCancelled { throw CancellationError() }
    let written = try output.get()
    guard process.terminationStatus == 0 else { throw failure("ended with \(process.terminationStatus)") }
    return written
  }

  private var late: DescribedError { failure("has not ended in \(limit.inSeconds)") }

  /// - Parameter reason: a clause whose subject is the command.
  private func failure(_ reason: String) -> DescribedError {
    DescribedError("the command of \(option), \(command), \(reason)")
  }

  /// Returns `true` until the command's shell ends. `Process` itself also waits for what the shell has started.
  private static func isRunning(_ process: pid_t) -> Bool {
    var end = siginfo_t()
    return waitid(P_PID, id_t(process), &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_signo == 0
  }

  /// Reads the output to its end, or to the end of the command, whose children may keep it open.
  private func contents(of descriptor: Int32, while isRunning: () -> Bool) throws -> [UInt8] {
    let deadline = ContinuousClock.now + limit
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: Self.outputLimit)
    while true {
      // In this order: what the command has written is there when it has ended.
      let isLast = !isRunning()
      let rest = min(deadline - .now, isLast ? .zero : Self.look)
      guard isLast || rest > .zero else { throw late }
      var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&event, 1, isLast ? 0 : Int32(clamping: Int64(rest / .milliseconds(1)) + 1)) > 0 else {
        if isLast { return output }
        continue
      }
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      if count <= 0 {
        guard isLast || waits(until: deadline, while: isRunning) else { throw late }
        return output
      }
      output += buffer[..<count]
      guard output.count <= Self.outputLimit else {
        throw failure("writes more than \(Self.outputLimit) bytes, which is no signature")
      }
    }
  }

  /// Waits for the end of a command that has closed its output.
  ///
  /// - Returns: `false` if the time is over before that.
  private func waits(until deadline: ContinuousClock.Instant, while isRunning: () -> Bool) -> Bool {
    while isRunning() {
      guard ContinuousClock.now < deadline else { return false }
      usleep(2000)
    }
    return true
  }
}

/// A command under way, which another thread may end.
private final class SigningRun: Sendable {
  private let state = Mutex<(process: pid_t?, isCancelled: Bool)>((nil, false))

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  func begin(_ process: pid_t) {
    state.withLock { state in
      state.process = process
      if state.isCancelled { Self.kill(process) }
    }
  }

  func cancel() {
    state.withLock { state in
      state.isCancelled = true
      if let process = state.process { Self.kill(process) }
    }
  }

  /// Ends what is left of the command. Afterwards its number may be that of another process.
  func end() {
    state.withLock { state in
      if let process = state.process { Self.kill(process) }
      state.process = nil
    }
  }

  /// All processes that the command has started are in its group.
  private static func kill(_ process: pid_t) { _ = Foundation.kill(-process, SIGKILL) }
}
