import CLinux
import Foundation
import LivePages
import PageKit
import PagePictures
import PageRuntime
import Synchronization

/// The main function of a worker process, which runs pages for the program that started it.
package enum WorkerMain {
  /// The descriptors of the program's socket and of the shared memory.
  static let socketDescriptor: Int32 = 3
  static let boardDescriptor: Int32 = 4
  /// The argument behind the parent's of a worker that draws pages.
  static let drawing = "pictures"
  /// The argument behind the parent's of a worker that cannot draw; the reason follows.
  private static let notDrawing = "no-pictures"

  /// To be called first, before any other thread starts: `renderhost worker PARENT`, or `renderhost worker --check`.
  package static func runOrCheck() -> Never {
    let arguments = Array(CommandLine.arguments.dropFirst(2))
    switch arguments.first {
    case "--check":
      if let check = ConfinementCheck(arguments.dropFirst()) { check.run() }
      refuse(ConfinementCheck.usage)
    default: run(for: "renderhost", advice: "; \(ConfinementCheck.usage)")
    }
  }

  /// To be called first, before any other thread starts: `PROGRAM worker PARENT`, or `PROGRAM worker --attempt`, which the
  /// check starts.
  ///
  /// - Parameter advice: further text for somebody who calls it by hand.
  package static func run(for program: String, advice: String = "") -> Never {
    if CommandLine.arguments.dropFirst(2).first == "--attempt" {
      ConfinementCheck.attempt(Array(CommandLine.arguments.dropFirst(3)))
    }
    guard let parent = CommandLine.arguments.dropFirst(2).first.flatMap({ pid_t($0) }),
      let board = SharedHeartbeats(descriptor: boardDescriptor, isWritable: true)
    else { refuse("\(program) worker is started by \(program), not by hand\(advice)") }
    tellAborts()
    // One malloc arena for each script that runs at a time. The default is eight for each processor, and each arena
    // keeps the memory of the pages of one thread: 0.6 MB for a page.
    _ = mallopt(M_ARENA_MAX, CInt(ProcessInfo.processInfo.activeProcessorCount))
    // The libraries that draw pages cannot be loaded after the confinement; and a worker that does not draw is cheaper
    // without them.
    let fonts = preloadFonts(CommandLine.arguments.dropFirst(3))
    close(boardDescriptor)
    // The file is opened at the first use; after the confinement it cannot be opened.
    _ = ScriptLimits.residentBytesNow()
    // The engine's library cannot be loaded after the confinement either.
    let engineProblem = ScriptGroup.engineProblem
    let report = Confinement.apply(parent: parent, fonts: try? fonts?.get())
    let socket = WorkerSocket(socketDescriptor)
    let relay = HostRelay(socket)
    let entries = EntryTable(board)
    var pages: WorkerPages?
    // The only reading thread. The worker ends with the daemon.
    while let (message, payload) = socket.read() {
      switch message {
      case .answer(let question, let answer): relay.receive(answer, payload, to: question)
      case .setUp(let setUp):
        do {
          let made = try WorkerPages(setUp, fonts, socket: socket, relay: relay, entries: entries)
          if case .failure(let error)? = fonts { socket.post(.log(level: "warning", message: "\(error)")) }
          pages = made
          Task {
            if engineProblem == nil { await made.environment.frameworks.prepare() }
            socket.post(.ready(report, engineProblem: engineProblem))
          }
        } catch {
          socket.post(.log(level: "error", message: error.sentence))
        }
      default:
        if let pages { Task { @PageActor in await pages.perform(message, payload) } }
      }
    }
    _exit(0)
  }

  /// Loads what draws pages, if the arguments say so.
  ///
  /// - Parameter arguments: those behind the parent's.
  /// - Returns: the folders of fonts, or why no page can be drawn; `nil` for a worker that is not to draw.
  private static func preloadFonts(_ arguments: ArraySlice<String>) -> Result<[String], PictureError>? {
    if arguments.first == notDrawing { return .failure(.unavailable(arguments.dropFirst().first ?? "")) }
    guard arguments.first == drawing else { return nil }
    let fonts = Result(catching: SystemFonts.preload)
    guard let thread = ProcessThreads.waitForOthers() else { return fonts }
    // A page that takes over the process could use a thread that keeps all rights, drawing or not: so the process starts
    // again, without the libraries.
    let words = CommandLine.arguments.prefix(3) + [notDrawing, "pictures of pages are not drawn: \(thread)"]
    var pointers = words.map { strdup($0) } + [nil]
    execv("/proc/self/exe", &pointers)
    refuse("the worker cannot start again without \(thread): \(String(cString: strerror(errno)))")
  }

  /// execinfo.h, which Swift's module of the C library lacks.
  private typealias Backtrace = @convention(c) (UnsafeMutablePointer<UnsafeMutableRawPointer?>, CInt) -> CInt
  private typealias SymbolsWriter = @convention(c) (UnsafeMutablePointer<UnsafeMutableRawPointer?>, CInt, CInt) -> Void
  private static let backtrace = dlsym(nil, "backtrace").map { unsafeBitCast($0, to: Backtrace.self) }
  private static let writeSymbols = dlsym(nil, "backtrace_symbols_fd").map { unsafeBitCast($0, to: SymbolsWriter.self) }

  /// Has abort() write the calls that led to it to the standard error, which the program that started this process reads. The
  /// engine and the C++ library end the process without a word.
  private static func tellAborts() {
    // The first call loads a library, which cannot be loaded after the confinement.
    var frame: UnsafeMutableRawPointer?
    guard let backtrace, writeSymbols != nil, backtrace(&frame, 1) >= 0 else { return }
    signal(SIGABRT) { _ in
      // Those of the signal itself are left out.
      let (first, count) = (3, 16)
      withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer?.self, capacity: count) { frames in
        guard let start = frames.baseAddress, let backtrace = WorkerMain.backtrace else { return }
        let found = Int(backtrace(start, CInt(count)))
        if found > first { WorkerMain.writeSymbols?(start + first, CInt(found - first), STDERR_FILENO) }
      }
      signal(SIGABRT, SIG_DFL)
      raise(SIGABRT)
    }
  }

  private static func refuse(_ reason: String) -> Never {
    FileHandle.standardError.write(Data((reason + "\n").utf8))
    exit(64)
  }
}

/// Writes the running pages to the shared memory.
final class EntryTable: Sendable {
  private struct State {
    /// The slots of pages, and the daemon's numbers, by their ids.
    var pages: [String: (slot: Int, number: UInt64)] = [:]
    var free = Array((0..<SharedHeartbeats.pageSlots).reversed())
    /// The page of each kind of work that is done for one page at a time, and how much of it is one in the other.
    var shared: [PageWork: (page: String, depth: Int)] = [:]
  }

  private let board: SharedHeartbeats
  private let state = Mutex(State())

  init(_ board: SharedHeartbeats) { self.board = board }

  /// - Parameters:
  ///   - id: the id of a page or of an embedded one.
  ///   - page: the daemon's number of the page that embeds all of them.
  /// - Returns: `false` if the memory is full; the page must not be opened then.
  func add(_ id: String, page: UInt64) -> Bool {
    state.withLock { state in
      guard let slot = state.free.popLast() else { return false }
      state.pages[id] = (slot, page)
      board.use(slot, for: page)
      return true
    }
  }

  func remove(_ id: String) {
    state.withLock { state in
      guard let slot = state.pages.removeValue(forKey: id)?.slot else { return }
      board.free(slot)
      state.free.append(slot)
    }
  }

  /// Records a moment of work for a page. It is called on the thread of the work.
  func record(_ page: String, _ work: PageWork, _ moment: PageWork.Moment) {
    guard let slot = SharedHeartbeats.slot(of: work) else {
      guard let slot = state.withLock({ $0.pages[page]?.slot }) else { return }
      switch moment {
      case .begin: board.enter(slot)
      case .otherThread: board.move(slot)
      case .end: board.leave(slot)
      }
      return
    }
    state.withLock { state in
      switch moment {
      case .begin where state.shared[work] == nil:
        guard let number = state.pages[page]?.number else { return }
        state.shared[work] = (page, 1)
        board.use(slot, for: number)
        board.enter(slot)
      // Work within work is for an embedded page, or for the one around it: both have the same number.
      case .begin: state.shared[work]?.depth += 1
      case .otherThread: if state.shared[work] != nil { board.move(slot) }
      case .end:
        state.shared[work]?.depth -= 1
        guard state.shared[work]?.depth == 0 else { return }
        state.shared[work] = nil
        board.free(slot)
      }
    }
  }
}

extension WorkerPages {
  /// Runs the call of a message of the daemon.
  func perform(_ message: HostMessage, _ payload: [UInt8]) async {
    switch message {
    case .setUp, .answer: break
    case .close(let page): await close(page)
    case .end(let call, let page): await answer(call) { (try await end(page), []) }
    case .releaseMemory:
      await environment.frameworks.releaseMemory()
      DecodedPicture.releaseKept()
      malloc_trim(0)
    case .channel(let numbers, let name):
      await deliver(payload, toChannel: name, of: numbers)
    case .open(let call, let page, let opening):
      await answer(call) { try await open(page, opening, payload) }
    case .fire(let call, let page, let firing, let wait, let view):
      await answer(call) {
        var place: ElementPlace?
        var (reply, seen) = try await enter(page, view, wait: wait) {
          if firing.tellsPlace == true { place = $0.place(of: firing.ref) }
          try await $0.fireEvent(
            inPreview: firing.ref, firing.type, ScriptValue(firing.event), changes: ScriptValue(firing.changes))
        }
        reply.place = place
        return (reply, seen)
      }
    case .tap(let call, let page, let x, let y, let wait, let view):
      await answer(call) { try await enter(page, view, wait: wait) { try await $0.tap(x: x, y: y) } }
    case .refresh(let call, let page, let data, let wait, let view):
      await answer(call) {
        try await enter(page, view, wait: wait) { try await $0.refresh(data: ScriptValue(data)) }
      }
    case .advance(let call, let page, let seconds, let wait, let view):
      await answer(call) {
        try await enter(page, view, wait: wait) {
          _ = await $0.advance(by: .seconds(seconds), within: .seconds(wait.settle))
        }
      }
    case .show(let call, let page, let view):
      await answer(call) { try await enter(page, view) { _ in } }
    case .replay(let call, let page, let step):
      await answer(call) { (PageReply(), try await replay(page, step: step, payload)) }
    case .inspect(let call, let page, let inspection): await answer(call) { try await inspect(page, inspection) }
    case .follow(let call, let page, let resources): await answer(call) { try follow(page, resources) }
    case .unfollow(let page): unfollow(page)
    }
  }

  private func answer(
    _ call: UInt64, _ body: () async throws -> (PageReply, [UInt8])
  ) async {
    do {
      let (reply, payload) = try await body()
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
    case PageError.script(_, .exception(let exception)): self = .script(exception)
    case PageError.script(_, let error):
      self = KillReason(error).map { .stopped($0) } ?? .script(ScriptException(message: error.sentence))
    case let error as EventError: self = .unknownElement("\(error)")
    case let error as ClickError: self = .unknownElement("\(error)")
    case PictureError.busy(let reason): self = .busy(reason)
    case PictureError.unavailable(let reason): self = .cannotDraw(reason)
    case let error as PictureError:
      if case .tooSlow = error { self = .slowView("\(error)") } else { self = .noView("\(error)") }
    case let error as ScriptError where error == .closed: self = .unknownPage
    case let error as ScriptError: self = .script(ScriptException(message: "\(error)"))
    default: self = .refused(error.sentence)
    }
  }
}
