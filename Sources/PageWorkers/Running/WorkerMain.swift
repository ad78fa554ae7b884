import CLinux
import Foundation
import PageKit

/// The main function of a worker process, which runs pages for the program that started it.
package enum WorkerMain {
  /// The descriptors of the program's socket and of the shared memory.
  static let socketDescriptor: Int32 = 3
  static let boardDescriptor: Int32 = 4

  /// To be called first, before any other thread starts: `renderhost worker PARENT`, or `renderhost worker --check`.
  package static func runOrCheck() -> Never {
    let arguments = Array(CommandLine.arguments.dropFirst(2))
    switch arguments.first {
    case "--check":
      if let check = ConfinementCheck(arguments.dropFirst()) { check.run() }
      refuse(ConfinementCheck.usage)
    case "--attempt": ConfinementCheck.attempt(Array(arguments.dropFirst()))
    default: run(for: "renderhost", advice: "; \(ConfinementCheck.usage)")
    }
  }

  /// To be called first, before any other thread starts: `PROGRAM worker PARENT`.
  ///
  /// - Parameter advice: further text for somebody who calls it by hand.
  package static func run(for program: String, advice: String = "") -> Never {
    guard let parent = CommandLine.arguments.dropFirst(2).first.flatMap({ pid_t($0) }),
      let board = SharedHeartbeats(descriptor: boardDescriptor, isWritable: true)
    else { refuse("\(program) worker is started by \(program), not by hand\(advice)") }
    close(boardDescriptor)
    // The file is opened at the first use; after the confinement it cannot be opened.
    _ = ScriptLimits.residentBytesNow()
    // The engine's library cannot be loaded after the confinement either.
    let engineProblem = ScriptGroup.engineProblem
    // One malloc arena for each script that runs at a time. The default is eight for each processor, and each arena
    // keeps the memory of the pages of one thread: 0.6 MB for a page.
    _ = mallopt(M_ARENA_MAX, CInt(ProcessInfo.processInfo.activeProcessorCount))
    let report = Confinement.apply(parent: parent)
    let socket = WorkerSocket(socketDescriptor)
    let relay = HostRelay(socket)
    let pages = HostMessageReceiver(
      socket: socket, relay: relay, entries: EntryTable(board), report: report, engineProblem: engineProblem)
    // The only reading thread. The worker ends with the daemon.
    while let (message, payload) = socket.read() {
      if case .answer(let question, let answer) = message {
        relay.receive(answer, payload, to: question)
      } else {
        pages.receive(message, payload)
      }
    }
    _exit(0)
  }

  private static func refuse(_ reason: String) -> Never {
    FileHandle.standardError.write(Data((reason + "\n").utf8))
    exit(64)
  }
}
