import CLinux
import Foundation
import PageKit

/// A worker process: runs pages for the daemon that started it, and has nothing else.
package enum WorkerMain {
  /// Where the daemon's socket and the board are.
  static let socketDescriptor: Int32 = 3
  static let boardDescriptor: Int32 = 4

  /// To be called first of all, with no other thread there: `renderhost worker PARENT`, or `renderhost worker --check`.
  package static func run() -> Never {
    let arguments = Array(CommandLine.arguments.dropFirst(2))
    switch arguments.first {
    case "--check":
      if let check = ConfinementCheck(arguments.dropFirst()) { check.run() }
      refuse(ConfinementCheck.usage)
    case "--attempt": ConfinementCheck.attempt(Array(arguments.dropFirst()))
    default: break
    }
    guard let parent = arguments.first.flatMap({ pid_t($0) }),
      let board = EntryBoard(descriptor: boardDescriptor, isWritable: true)
    else { refuse("renderhost worker is started by renderhost, not by hand; \(ConfinementCheck.usage)") }
    close(boardDescriptor)
    // The file of it is opened the first time, and cannot be later.
    _ = ScriptLimits.residentBytesNow()
    let report = Confinement.apply(parent: parent)
    let socket = WorkerSocket(socketDescriptor)
    let relay = HostRelay(socket)
    let pages = WorkerPages(socket: socket, relay: relay, entries: EntryTable(board), report: report)
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
