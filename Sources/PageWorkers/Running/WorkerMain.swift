import CLinux
import Foundation
import PageKit

/// A worker process: runs pages for the program that started it, and has nothing else.
package enum WorkerMain {
  /// Where the program's socket and the board are.
  static let socketDescriptor: Int32 = 3
  static let boardDescriptor: Int32 = 4

  /// To be called first of all, with no other thread there: `renderhost worker PARENT`, or `renderhost worker --check`.
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

  /// To be called first of all, with no other thread there: `PROGRAM worker PARENT`.
  ///
  /// - Parameter advice: what is said besides to somebody who calls it by hand.
  package static func run(for program: String, advice: String = "") -> Never {
    guard let parent = CommandLine.arguments.dropFirst(2).first.flatMap({ pid_t($0) }),
      let board = SharedHeartbeats(descriptor: boardDescriptor, isWritable: true)
    else { refuse("\(program) worker is started by \(program), not by hand\(advice)") }
    close(boardDescriptor)
    // The file of it is opened the first time, and cannot be later.
    _ = ScriptLimits.residentBytesNow()
    // Neither can the engine's library. Without one each page fails to open, and says why.
    try? ScriptGroup.loadEngine()
    // As many of malloc's arenas as scripts that run at a time. It makes eight for each processor, and in each stays
    // what the pages of one thread have used: 0.6 MB of a page's memory.
    _ = mallopt(M_ARENA_MAX, CInt(ProcessInfo.processInfo.activeProcessorCount))
    let report = Confinement.apply(parent: parent)
    let socket = WorkerSocket(socketDescriptor)
    let relay = HostRelay(socket)
    let pages = HostMessageReceiver(socket: socket, relay: relay, entries: EntryTable(board), report: report)
    // The only thread that reads. When the daemon goes, so does the worker.
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
