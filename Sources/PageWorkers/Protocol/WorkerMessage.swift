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
package struct PageReply: Codable, Hashable, Sendable {
  package var phase: String
  package var elements: Int
  /// Seconds since it was opened, by the names of `bundlectl render --json`.
  package var timings: [String: Double]
  package var requests: Int
  package var hits: Int
  package var bytes: Int64
  /// What it was still busy with.
  package var pending: PendingWork
  /// What it has shown with the module `modal`, the latest.
  package var messages: [PageMessage]
  /// What its script threw, the latest.
  package var errors: [ScriptFault]
  /// Of these, how many came during the call.
  package var newErrors: Int
}

/// What a script threw.
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

/// Why a call came to nothing.
package enum PageFault: Codable, Error, Hashable, Sendable {
  /// Its script threw before the page had rendered.
  case script(ScriptFault)
  /// It ran for too long, or took too much memory; the engine stopped it.
  case stopped(KillReason)
  /// It cannot be opened: no framework, not a page, …
  case refused(String)
  case unknownPage
}
