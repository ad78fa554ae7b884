import PageKit

/// What a worker says to the daemon. None of it is believed further than it has to be.
enum WorkerMessage: Codable, Sendable {
  case ready(ConfinementReport)
  /// What was called has been done; with what was to be seen of the page.
  case done(call: UInt64, PageReply)
  case failed(call: UInt64, PageFault)
  /// Something happened to a page; with its details as JSON.
  case event(page: UInt64, name: String)
  /// Some come with bytes.
  case ask(question: UInt64, page: UInt64, PageQuestion)
  /// Nobody waits for the answer any more.
  case drop(question: UInt64)
  case log(level: String, message: String)
}

/// How a page is after a call.
public struct PageReply: Codable, Hashable, Sendable {
  public var phase: String
  public var elements: Int
  /// Seconds since it was opened, by the names of `bundlectl render --json`.
  public var timings: [String: Double]
  public var requests: Int
  public var hits: Int
  public var bytes: Int64
  /// What it was still busy with.
  public var pending: PendingWork
  /// What it has shown with the module `modal`, the latest.
  public var messages: [PageMessage]
  /// What its script threw, the latest.
  public var errors: [ScriptFault]
  /// Of these, how many came during the call.
  public var newErrors: Int
}

/// What a script threw.
public struct ScriptFault: Codable, Hashable, Sendable {
  public var message: String
  public var url: String?
  public var line: Int?
  public var column: Int?
  public var stack: String?

  init(_ exception: ScriptException) {
    (message, url, line) = (exception.message, exception.url, exception.line)
    (column, stack) = (exception.column, exception.stack)
  }

  init(message: String) { self.message = message }
}

/// Why a call came to nothing.
enum PageFault: Codable, Error, Hashable, Sendable {
  /// Its script threw before the page had rendered.
  case script(ScriptFault)
  /// It ran for too long, or took too much memory; the engine stopped it.
  case stopped(KillReason)
  /// It cannot be opened: no framework, not a page, …
  case refused(String)
  case unknownPage
}
