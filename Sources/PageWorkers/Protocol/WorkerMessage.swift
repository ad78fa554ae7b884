import PageKit

/// A message of a worker to the daemon. The daemon does not trust it.
enum WorkerMessage: Codable, Sendable {
  /// - Parameter engineProblem: the reason why no script can run; `nil` if pages can be opened.
  case ready(ConfinementReport, engineProblem: String? = nil)
  /// The answer to a call, with the requested view of the page.
  case done(call: UInt64, PageReply)
  case failed(call: UInt64, PageFault)
  /// An event of a page, with details as JSON.
  case event(page: UInt64, name: String)
  /// A question; some have bytes.
  case ask(question: UInt64, page: UInt64, PageQuestion)
  /// A message of a page's `BroadcastChannel` for other pages; the bytes are the message as JSON.
  case channel(page: UInt64, name: String)
  /// The answer is no longer awaited.
  case drop(question: UInt64)
  case log(level: String, message: String)
}

/// The state of a page after a call.
package struct PageReply: Codable, Hashable, Sendable {
  package var phase: String
  /// The reason why it could not open, or was stopped. Its notice follows on a way of its own, and is lost if the
  /// worker is killed first.
  package var failure: PageFailureNotice?
  package var elements: Int
  /// Seconds since its opening, by the names of `bundlectl render --json`.
  package var timings: [String: Double]
  package var requests: Int
  package var hits: Int
  package var bytes: Int64
  /// Its pending work.
  package var pending: PendingWork
  /// The latest messages that it showed with the module `modal`.
  package var messages: [PageMessage]
  /// The latest errors of its script.
  package var errors: [ScriptFault]
  /// The number of errors during the call.
  package var newErrors: Int
}

/// An error of a script.
package struct ScriptFault: Codable, Hashable, Sendable {
  package var message: String
  package var url: String?
  package var line: Int?
  package var column: Int?
  package var stack: String?

  package init(_ exception: ScriptException) {
    (message, url, line) = (exception.message, exception.url, exception.line)
    (column, stack) = (exception.column, exception.stack)
  }

  package var exception: ScriptException {
    ScriptException(message: message, url: url, line: line, column: column, stack: stack)
  }

  package init(message: String) { self.message = message }
}

/// The error of a call.
package enum PageFault: Codable, Error, Hashable, Sendable {
  /// The script threw before the page had rendered.
  case script(ScriptFault)
  /// The engine stopped the script, which exceeded its time or memory.
  case stopped(KillReason)
  /// The page cannot be opened: no framework, not a page, …
  case refused(String)
  case unknownPage
  /// The page has no element of an event's ref.
  case unknownElement(String)
}
