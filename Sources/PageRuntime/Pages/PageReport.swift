import HTTPTransport
import ScriptEngine

/// A message that a page has shown, or a question that it has asked, with the module `modal`.
///
/// Each text of a message that a page tells has at most 10,000 bytes of UTF-8; a longer one ends with `…`. A
/// ``ModalPresenting`` gets the whole texts.
public struct PageMessage: Hashable, Sendable, Codable {
  /// The method that the script called.
  package enum Kind: String, Hashable, Sendable, Codable {
    /// A method of the module `modal`.
    case toast, alert, confirm, prompt
  }

  /// The method that the script called.
  package let kind: Kind
  /// The message or the question.
  public let text: String
  /// The titles of the buttons; empty for a toast.
  public internal(set) var buttons: [String] = []
  /// The text that a prompt has filled in; `nil` for other kinds.
  public internal(set) var preset: String?

  package init(kind: Kind, text: String, buttons: [String] = [], preset: String? = nil) {
    (self.kind, self.text, self.buttons, self.preset) = (kind, text, buttons, preset)
  }

  /// The limit of each text that a page records, in bytes.
  static let textLimit = 10_000

  /// The message with its texts within limits; the longer ones end with `…`.
  ///
  /// - Parameters:
  ///   - limit: the limit of the text and of the preset, in bytes.
  ///   - titleLimit: the limit of each button's title in bytes; there are at most 8 buttons.
  package func cut(toBytes limit: Int, titles titleLimit: Int) -> PageMessage {
    PageMessage(
      kind: kind, text: text.cut(toBytes: limit), buttons: buttons.prefix(8).map { $0.cut(toBytes: titleLimit) },
      preset: preset?.cut(toBytes: limit))
  }

  /// In one line: `toast: Saved`, `confirm: Delete it? [OK] [Cancel]`.
  package var outlineText: String {
    let typed = preset.map { $0.isEmpty ? "" : " (\($0))" } ?? ""
    return "\(kind): \(text)\(typed)" + buttons.map { " [\($0)]" }.joined()
  }

  /// The message as JSON, for workers and reports.
  package var json: JSONValue {
    var members: [String: JSONValue] = ["kind": .string(kind.rawValue), "text": .string(text)]
    if !buttons.isEmpty { members["buttons"] = .array(buttons.map { .string($0) }) }
    if let preset { members["preset"] = .string(preset) }
    return .object(members)
  }
}

/// The stages of a page's opening, each counted from the call of `renderByURL` or `render`, and the page's requests.
///
/// A stage that the page has not reached is `nil`. The names are those of the Weex SDK's monitor.
public struct PageTimings: Hashable, Sendable {
  /// The bundle was found in the store, or has been downloaded.
  public package(set) var bundleReady: Duration?
  /// The elements of the last run are shown.
  public package(set) var snapshot: Duration?
  /// The script has a context, with what the framework gives to bundles.
  public package(set) var createInstance: Duration?
  /// The script has run for the first time.
  public package(set) var evaluated: Duration?
  /// The script has made the first element.
  public package(set) var firstElement: Duration?
  /// The script called `createFinish`, or has run and made a body.
  public package(set) var createFinish: Duration?
  /// The script has handled the first event.
  public package(set) var interaction: Duration?

  /// The number of requests of the script, and of pictures and documents.
  public package(set) var requests = 0
  /// The number of requests that were answered without the network.
  public package(set) var hits = 0
  /// The length of the answers in bytes.
  public package(set) var bytes: Int64 = 0

  package init() {}

  /// The stages in order, by their names in reports; `nil` for a stage that the page has not reached.
  package var stages: [(name: String, time: Duration?)] {
    [
      ("snapshot", snapshot), ("bundle", bundleReady), ("createInstance", createInstance),
      ("firstElement", firstElement),
      ("evaluated", evaluated), ("createFinish", createFinish), ("interaction", interaction),
    ]
  }
}

/// The work that a page still had under way when waiting for it ended.
package struct PendingWork: Hashable, Sendable, Codable {
  /// The default limit for timers that are waited for, 200 ms: enough for work that a script puts off to its next turn,
  /// and for its pauses while a user types.
  package static let timerLimit: Duration = .milliseconds(200)

  /// The number of requests of the script, and of pictures, documents and pages that elements load.
  package var requests = 0
  /// The number of calls of methods that make no request.
  package var calls = 0
  /// The number of timers that were due within ``limit``.
  package var dueTimers = 0
  /// The number of timers that were due after ``limit``. They are not waited for.
  package var laterTimers = 0
  /// The number of timers that repeat. They are not waited for.
  package var intervals = 0
  /// The longest time to a timer's due time at which the timer is waited for.
  package var limit = PendingWork.timerLimit

  package init() {}

  /// One thing that a page has under way.
  enum Item: Hashable, Sendable {
    case request
    case call
    case timer(remaining: Duration)
    case interval

    /// Returns `true` if a page is busy because of it.
    func isWaitedFor(timers limit: Duration) -> Bool {
      switch self {
      case .request, .call: true
      case .timer(let remaining): remaining <= limit
      case .interval: false
      }
    }
  }

  init(_ items: some Sequence<Item>, timers limit: Duration) {
    self.limit = limit
    for item in items {
      switch item {
      case .request: requests += 1
      case .call: calls += 1
      case .timer where item.isWaitedFor(timers: limit): dueTimers += 1
      case .timer: laterTimers += 1
      case .interval: intervals += 1
      }
    }
  }

  /// `true` if no work was left that is waited for.
  package var isSettled: Bool { requests == 0 && calls == 0 && dueTimers == 0 }

  /// The work that was left: `2 requests, 1 timer`. Empty if the page had settled.
  package var busyText: String {
    [Self.text(requests, "request"), Self.text(calls, "call"), Self.text(dueTimers, "timer")].compactMap(\.self)
      .joined(separator: ", ")
  }

  /// The work that was not waited for: `1 timer due in more than 200 ms, 2 intervals`. Empty if there was none.
  package var unawaitedText: String {
    let later = Self.text(laterTimers, "timer").map { "\($0) due in more than \(limit.inMilliseconds)" }
    return [later, Self.text(intervals, "interval")].compactMap(\.self).joined(separator: ", ")
  }

  private static func text(_ count: Int, _ noun: String) -> String? {
    count == 0 ? nil : "\(count) \(noun)\(count == 1 ? "" : "s")"
  }

  /// The counts as JSON, as in reports of `bundlectl render --json` and `renderhost`.
  package var json: JSONValue {
    .object([
      "requests": .integer(Int64(requests)), "calls": .integer(Int64(calls)), "timers": .integer(Int64(dueTimers)),
      "laterTimers": .integer(Int64(laterTimers)), "intervals": .integer(Int64(intervals)),
    ])
  }
}

extension Duration {
  fileprivate var inMilliseconds: String {
    let milliseconds = self / .milliseconds(1)
    return milliseconds == milliseconds.rounded() ? "\(Int(milliseconds)) ms" : "\(milliseconds) ms"
  }
}
