import HTTPTransport

/// What a page still had under way when waiting for it ended.
public struct PendingWork: Hashable, Sendable, Codable {
  /// How long a timer may still have to go to be waited for, unless told otherwise: time enough for what a script puts
  /// off to its next turn, and for the pauses it makes while somebody types.
  public static let timerLimit: Duration = .milliseconds(200)

  /// Requests of the script, and pictures, documents and pages that elements show.
  public package(set) var requests = 0
  /// Calls of methods that make no request.
  public package(set) var calls = 0
  /// Timers that were due soon enough to be waited for.
  public package(set) var dueTimers = 0
  /// Timers that had longer to go than ``limit``; nobody waited for them.
  public package(set) var laterTimers = 0
  /// Timers that repeat; nobody waited for them.
  public package(set) var intervals = 0
  /// How long a timer had to go at most to be waited for.
  public package(set) var limit = PendingWork.timerLimit

  package init() {}

  /// One thing that a page has under way.
  enum Item: Hashable, Sendable {
    case request
    case call
    case timer(remaining: Duration)
    case interval

    /// Whether a page counts as busy with it.
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

  /// Nothing was left of what is waited for: the page had settled.
  public var isSettled: Bool { requests == 0 && calls == 0 && dueTimers == 0 }

  /// What it was still busy with: `2 requests, 1 timer`. Empty if it had settled.
  package var busyText: String {
    [Self.text(requests, "request"), Self.text(calls, "call"), Self.text(dueTimers, "timer")].compactMap(\.self)
      .joined(separator: ", ")
  }

  /// What nobody waited for: `1 timer due in more than 200 ms, 2 intervals`. Empty if there was nothing.
  package var unawaitedText: String {
    let later = Self.text(laterTimers, "timer").map { "\($0) due in more than \(limit.inMilliseconds)" }
    return [later, Self.text(intervals, "interval")].compactMap(\.self).joined(separator: ", ")
  }

  private static func text(_ count: Int, _ noun: String) -> String? {
    count == 0 ? nil : "\(count) \(noun)\(count == 1 ? "" : "s")"
  }

  /// As `bundlectl render --json` and `renderhost` show it.
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
