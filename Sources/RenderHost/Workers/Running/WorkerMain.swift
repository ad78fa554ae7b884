import CLinux
import Foundation
import PageKit

/// A worker process: runs pages for the daemon that started it, and has nothing else.
public enum WorkerMain {
  /// Where the daemon's socket and the board are.
  static let socketDescriptor: Int32 = 3
  static let boardDescriptor: Int32 = 4

  /// To be called first of all, with no other thread there: `renderhost worker PARENT`, or `renderhost worker --check`.
  public static func run() -> Never {
    let argument = CommandLine.arguments.dropFirst(2).first ?? ""
    if argument == "--check" { ConfinementCheck.run(Confinement.apply(parent: 0)) }
    guard let parent = pid_t(argument), let board = EntryBoard(descriptor: boardDescriptor, isWritable: true) else {
      FileHandle.standardError.write(Data("renderhost worker is started by renderhost, not by hand\n".utf8))
      exit(64)
    }
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
}
