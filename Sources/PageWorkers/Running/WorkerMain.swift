import CLinux
import Foundation
import PageKit
import PageRuntime
import Synchronization

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

/// Writes the running pages to the shared memory.
final class EntryTable: Sendable {
  private let board: SharedHeartbeats
  private let state = Mutex((slots: [String: Int](), free: Array((0..<SharedHeartbeats.slots).reversed())))

  init(_ board: SharedHeartbeats) { self.board = board }

  /// - Parameters:
  ///   - id: the id of a page or of an embedded one.
  ///   - page: the daemon's number of the page that embeds all of them.
  /// - Returns: `false` if the memory is full; the page must not be opened then.
  func add(_ id: String, page: UInt64) -> Bool {
    state.withLock { state in
      guard let slot = state.free.popLast() else { return false }
      state.slots[id] = slot
      board.take(slot, for: page)
      return true
    }
  }

  func remove(_ id: String) {
    state.withLock { state in
      guard let slot = state.slots.removeValue(forKey: id) else { return }
      board.free(slot)
      state.free.append(slot)
    }
  }

  /// Notes that a page's script is entered or left.
  func note(_ page: String, isEntered: Bool) {
    guard let slot = state.withLock({ $0.slots[page] }) else { return }
    if isEntered { board.enter(slot) } else { board.leave(slot) }
  }
}

/// Receives the daemon's messages, and runs their calls on the pages of the worker.
final class HostMessageReceiver: Sendable {
  private let socket: WorkerSocket
  private let relay: HostRelay
  private let entries: EntryTable
  private let report: ConfinementReport
  private let engineProblem: String?
  private let pages = Mutex<WorkerPages?>(nil)

  /// - Parameter engineProblem: the reason why no script can run; `nil` if pages can be opened.
  init(
    socket: WorkerSocket, relay: HostRelay, entries: EntryTable, report: ConfinementReport,
    engineProblem: String? = nil
  ) {
    self.socket = socket
    self.relay = relay
    self.entries = entries
    self.report = report
    self.engineProblem = engineProblem
  }

  /// Called on the reading thread.
  func receive(_ message: HostMessage, _ payload: [UInt8]) {
    if case .setUp(let setUp) = message {
      do {
        let made = try WorkerPages(setUp, socket: socket, relay: relay, entries: entries)
        pages.withLock { $0 = made }
        Task { await prepare(made) }
      } catch {
        socket.post(.log(level: "error", message: error.sentence))
      }
      return
    }
    guard let pages = pages.withLock(\.self) else { return }
    Task { @PageActor in await perform(message, payload, in: pages) }
  }

  private func prepare(_ pages: WorkerPages) async {
    if engineProblem == nil { await pages.environment.frameworks.prepare() }
    socket.post(.ready(report, engineProblem: engineProblem))
  }

  @PageActor private func perform(_ message: HostMessage, _ payload: [UInt8], in pages: WorkerPages) async {
    switch message {
    case .setUp, .answer: break
    case .close(let page): await pages.close(page)
    case .end(let call, let page): await answer(call) { (try await pages.end(page), []) }
    case .releaseMemory:
      await pages.environment.frameworks.releaseMemory()
      malloc_trim(0)
    case .channel(let numbers, let name):
      await pages.deliver(payload, toChannel: name, of: numbers)
    case .open(let call, let page, let opening):
      await answer(call) { try await pages.open(page, opening, payload) }
    case .fire(let call, let page, let firing, let wait, let view):
      await answer(call) {
        try await pages.enter(page, view, wait: wait) {
          try await $0.fireEvent(
            firing.ref, firing.type, ScriptValue(firing.event), changes: ScriptValue(firing.changes))
        }
      }
    case .refresh(let call, let page, let data, let wait, let view):
      await answer(call) {
        try await pages.enter(page, view, wait: wait) { try await $0.refresh(data: ScriptValue(data)) }
      }
    case .show(let call, let page, let view):
      await answer(call) { try await pages.enter(page, view) { _ in } }
    }
  }

  @PageActor private func answer(
    _ call: UInt64, _ body: () async throws -> (PageReply, [UInt8])
  ) async {
    do {
      let (reply, payload) = try await body()
      guard payload.count <= Frame.limit - (1 << 20) else {
        return socket.post(.failed(call: call, .refused("the view of the page is too long: \(payload.count) bytes")))
      }
      await socket.send(.done(call: call, reply), payload)
    } catch {
      socket.post(.failed(call: call, PageFault(error)))
    }
  }
}

extension PageFault {
  init(_ error: any Error) {
    switch error {
    case let fault as PageFault: self = fault
    case PageError.script(_, .exception(let exception)): self = .script(ScriptFault(exception))
    case PageError.script(_, let error):
      switch error {
      case .timeLimit(let limit): self = .stopped(.time(took: nil, limit: limit.seconds))
      case .memoryLimit(let limit, let found): self = .stopped(.memory(found: found, limit: limit))
      default: self = .script(ScriptFault(message: error.sentence))
      }
    case let error as EventError: self = .unknownElement("\(error)")
    case let error as ScriptError where error == .closed: self = .unknownPage
    case let error as ScriptError: self = .script(ScriptFault(message: "\(error)"))
    default: self = .refused(error.sentence)
    }
  }
}
