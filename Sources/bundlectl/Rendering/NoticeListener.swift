import PageKit
import PageWorkers
import Synchronization

/// Receives the notices of a rendered page: prints its logs and messages, and records the rest up to limits.
final class NoticeListener: Sendable {
  /// The limit of recorded errors.
  fileprivate static let faultLimit = 1_000
  /// The limit of recorded commands in bytes.
  fileprivate static let commandLimit = 64 << 20
  fileprivate static let missingLimit = 1_000
  fileprivate static let levelLimit = 100

  /// The page's errors, in order.
  enum Wrong: Sendable {
    case exception(ScriptException)
    case failed(PageFailureNotice)
  }

  struct Heard: Sendable {
    var commands: [String] = []
    var wrong: [Wrong] = []
    /// Errors of pages that the page embeds or has navigated to.
    var thrown: [ScriptException] = []
    var missing: [MissingPart] = []
    /// The number of logged lines by level.
    var logged: [String: Int] = [:]
    /// `true` if there were more commands or errors than recorded.
    var hasMoreCommands = false
    var hasMoreFaults = false
    fileprivate var commandBytes = 0

    /// `true` if a notice has told why the page failed.
    var hasFailure: Bool {
      wrong.contains { if case .failed = $0 { true } else { false } }
    }
  }

  private let state = Mutex(Heard())
  private let notice: WaitNotice?

  /// - Parameter notice: shown until the page's bundle has arrived.
  init(_ notice: WaitNotice?) { self.notice = notice }

  /// The records so far.
  func finish() -> Heard {
    notice?.end()
    return state.withLock(\.self)
  }

  func hear(_ event: PageNotice) {
    notice?.end()
    state.withLock { $0.keep(event) }
    switch event {
    case .log(let level, let text): Self.say(level, text)
    case .missing(let missing): Self.say("warn", "\(missing.part)")
    case .message(let message): Terminal.error.line(message.outlineText)
    case .begun, .commands, .exception, .failed, .thrown: break
    }
  }

  private static func say(_ level: String, _ text: String) {
    let style: Terminal.Style =
      switch level {
      case "error": .red
      case "warn": .yellow
      default: .dim
      }
    Terminal.error.line("\(Terminal.error.styled("\(level):", style)) \(text)")
  }
}

extension NoticeListener.Heard {
  fileprivate mutating func keep(_ event: PageNotice) {
    switch event {
    case .begun, .message: break
    case .commands(let done):
      for command in done {
        commandBytes += command.utf8.count + MemoryLayout<String>.stride
        guard commandBytes <= NoticeListener.commandLimit else { return hasMoreCommands = true }
        commands.append(command)
      }
    case .log(let level, _):
      if logged.count < NoticeListener.levelLimit || logged[level] != nil { logged[level, default: 0] += 1 }
    case .missing(let missing):
      if self.missing.count < NoticeListener.missingLimit { self.missing.append(missing.part) }
    case .exception(let fault): keep(NoticeListener.Wrong.exception(fault.exception))
    case .failed(let failure): keep(NoticeListener.Wrong.failed(failure))
    case .thrown(let fault):
      guard thrown.count < NoticeListener.faultLimit else { return hasMoreFaults = true }
      thrown.append(fault.exception)
    }
  }

  private mutating func keep(_ wrong: NoticeListener.Wrong) {
    guard self.wrong.count < NoticeListener.faultLimit else { return hasMoreFaults = true }
    self.wrong.append(wrong)
  }
}

/// The errors of scripts. A page's own are among its events; those of embedded and pushed pages come only from here.
final class ThrownExceptions: ScriptExceptionHandling {
  private let listener: NoticeListener
  private let page = Mutex<String?>(nil)

  init(_ listener: NoticeListener) { self.listener = listener }

  /// - Parameter page: the page whose events contain its errors.
  func leaveOut(_ page: String) { self.page.withLock { $0 = page } }

  func handle(_ exception: ScriptException, page: String, url: PageURL?) {
    guard page != self.page.withLock(\.self) else { return }
    listener.hear(.thrown(ScriptFault(exception.located)))
  }
}
