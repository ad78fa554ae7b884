import CLinux
import PageKit
import Synchronization

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
