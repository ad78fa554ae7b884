import Foundation
import HTTPTransport
import PageTesting
import Testing

@testable import Releases

struct SigningCommandTests {
  @Test(
    "a command that does not sign is an error that says why",
    arguments: [
      ("exit 3", "ended with 3"), ("echo no", "gave no signature by the key"), ("kill -9 $$", "ended with 9"),
      ("yes", "writes more than 4096 bytes"), ("yes | head -c 1000000", "writes more than 4096 bytes"),
    ])
  func failures(_ command: String, _ reason: String) async throws {
    let signing = SigningCommand(command, key: try SigningKey().verificationKey)
    let error = await #expect(throws: DescribedError.self) { try await signing.signature(over: [1]) }
    #expect(error?.description.contains(", \(reason)") == true, "\(error.map { "\($0)" } ?? "")")
  }

  /// The processes whose numbers a command has written into a file.
  private static func processes(in path: String) -> [pid_t] {
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    return text.split(whereSeparator: \.isWhitespace).compactMap { pid_t($0) }
  }

  /// Waits until none of the processes runs. One that has ended may not have been waited for by its new parent yet.
  private static func expectEnded(_ processes: [pid_t]) async throws {
    try await eventually("\(processes) have ended") {
      processes.allSatisfy { process in
        guard let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return true }
        return status.split(separator: ")").last?.hasPrefix(" Z") == true
      }
    }
  }

  @Test(
    "a command that does not end is killed, with what it has started",
    arguments: ["sleep 1000 & echo $! $$ >FILE; sleep 1000", "exec >&-; sleep 1000 & echo $! $$ >FILE; wait"])
  func endless(_ command: String) async throws {
    let folder = try TemporaryDirectory()
    let signing = SigningCommand(
      command.replacing("FILE", with: folder.file("processes")), key: try SigningKey().verificationKey,
      limit: .seconds(5))
    let error = await #expect(throws: DescribedError.self) { try await signing.signature(over: [1]) }
    #expect(error?.description.contains(", has not ended in") == true)
    let processes = Self.processes(in: folder.file("processes"))
    #expect(processes.count == 2)
    try await Self.expectEnded(processes)
  }

  @Test("a command that leaves a child with its output open has signed, and the child is killed")
  func leftChild() async throws {
    let folder = try TemporaryDirectory()
    let key = try SigningKey()
    try Data(try key.signature(over: [1])).write(to: URL(fileURLWithPath: folder.file("signature")))
    let signing = SigningCommand(
      "sleep 1000 & echo $! >\(folder.file("processes")); cat \(folder.file("signature"))", key: key.verificationKey)
    #expect(try await signing.signature(over: [1]).count == 64)
    let processes = Self.processes(in: folder.file("processes"))
    #expect(processes.count == 1)
    try await Self.expectEnded(processes)
  }

  @Test("cancelling ends the command at once, and one that waits for it is not run")
  func cancelled() async throws {
    let folder = try TemporaryDirectory()
    let signing = SigningCommand(
      "sleep 1000 & echo $! $$ >>\(folder.file("processes")); sleep 1000", key: try SigningKey().verificationKey)
    let tasks = (0..<2).map { _ in Task { try await signing.signature(over: [1]) } }
    try await eventually("it runs") { Self.processes(in: folder.file("processes")).count == 2 }
    for task in tasks { task.cancel() }
    for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
    let processes = Self.processes(in: folder.file("processes"))
    #expect(processes.count == 2)
    try await Self.expectEnded(processes)
  }

  @Test("another command does not wait for one that hangs")
  func another() async throws {
    let folder = try TemporaryDirectory()
    let key = try SigningKey()
    try Data(try key.signature(over: [1])).write(to: URL(fileURLWithPath: folder.file("signature")))
    let hanging = SigningCommand("echo >\(folder.file("runs")); sleep 1000", key: key.verificationKey)
    let task = Task { try await hanging.signature(over: [1]) }
    try await eventually("it runs") { FileManager.default.fileExists(atPath: folder.file("runs")) }
    let signing = SigningCommand("cat \(folder.file("signature"))", key: key.verificationKey)
    #expect(try await signing.signature(over: [1]).count == 64)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}
