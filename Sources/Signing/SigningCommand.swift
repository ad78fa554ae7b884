import Dispatch
import Foundation
import HTTPTransport

/// A shell command that signs, for a key in a hardware module or an agent.
///
/// Its standard input is the message, a file. Its output is the signature, as 64 bytes or their base64.
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

  private static let queue = DispatchQueue(label: "pagekit.signing")
  private static let outputLimit = 4096

  /// - Throws: ``SigningCommandError``.
  package func signature(over message: [UInt8]) async throws -> [UInt8] {
    let output = try await Self.queue.result { try run(with: message) }
    let signature =
      output.count == VerificationKey.signatureByteCount
      ? output : Base64.decode(String(decoding: output, as: UTF8.self)) ?? []
    guard key.isValid(signature, over: message) else {
      throw SigningCommandError(
        option: option, command: command,
        reason: "gave no signature by the key \(key.id): expected 64 bytes or their base64, found \(output.count) bytes"
      )
    }
    return signature
  }

  /// Signs a file.
  ///
  /// - Throws: ``SigningCommandError``.
  package func sign(_ content: [UInt8], as kind: SignedKind) async throws -> SignatureFile.Signature {
    .init(keyID: key.id, bytes: try await signature(over: kind.message(content)))
  }

  /// Runs the command, and waits for its end. Returns its output.
  private func run(with message: [UInt8]) throws -> [UInt8] {
    // A file, since a command may write before it has read all.
    let input = FileManager.default.temporaryDirectory.appendingPathComponent("pagekit-\(UUID().uuidString)")
    let (process, pipe) = (Process(), Pipe())
    do {
      try Data(message).write(to: input)
      process.standardInput = try FileHandle(forReadingFrom: input)
    } catch {
      throw SigningCommandError(
        option: option, command: command, reason: "gets no input: \(error.localizedDescription)")
    }
    defer { try? FileManager.default.removeItem(at: input) }
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", command]
    process.standardOutput = pipe
    do {
      try process.run()
    } catch {
      throw SigningCommandError(
        option: option, command: command, reason: "cannot be run: \(error.localizedDescription)")
    }
    let output = contents(of: pipe.fileHandleForReading.fileDescriptor)
    // What the command has started is in its group.
    if output == nil, kill(-process.processIdentifier, SIGKILL) != 0 { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    guard let output else {
      throw SigningCommandError(option: option, command: command, reason: "has not ended in \(limit.inSeconds)")
    }
    guard process.terminationStatus == 0 else {
      throw SigningCommandError(option: option, command: command, reason: "ended with \(process.terminationStatus)")
    }
    return output
  }

  /// Reads the output to its end; `nil` if the time is over before that.
  private func contents(of descriptor: Int32) -> [UInt8]? {
    let deadline = ContinuousClock.now + limit
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: Self.outputLimit)
    while true {
      let rest = deadline - .now
      guard rest > .zero else { return nil }
      var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&event, 1, Int32(clamping: Int64(rest / .milliseconds(1)) + 1)) != 0 else { continue }
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      if count <= 0 { return output }
      if output.count < Self.outputLimit { output += buffer[..<count] }
    }
  }
}

/// The reason why a command has not signed.
package struct SigningCommandError: Error, Hashable, CustomStringConvertible {
  package let option: String
  package let command: String
  /// A clause whose subject is the command.
  package let reason: String

  package var description: String { "the command of \(option), \(command), \(reason)" }
}
