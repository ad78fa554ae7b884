import Foundation
import PageKit

/// An event of a page for a program that renders it.
package enum PageNotice: Codable, Sendable {
  /// The page no longer waits for its bundle.
  case begun
  /// The script's commands to the tree, one to a line.
  case commands([String])
  case log(level: String, text: String)
  case missing(Missing)
  case message(PageMessage)
  /// The script threw; the page continues.
  case exception(ScriptFault)
  /// The page could not open, or was stopped.
  case failed(PageFailureNotice)
  /// The script of an embedded or pushed page threw.
  case thrown(ScriptFault)

  /// A ``MissingPart`` in the form of messages.
  package struct Missing: Codable, Sendable {
    private var component: String?
    private var owner: String?
    private var method: String?

    init(_ part: MissingPart) {
      switch part {
      case .component(let type): component = type
      case .module(let name): owner = name
      case .method(let owner, let name): (self.owner, method) = (owner, name)
      }
    }

    package var part: MissingPart {
      if let component { return .component(component) }
      return method.map { .method(of: owner ?? "", $0) } ?? .module(owner ?? "")
    }
  }

  /// - Returns: `nil` for events without a notice.
  package init?(_ event: PageEvent, _ reporting: PageReporting) {
    switch event {
    case .phase(.loading), .phase(.destroyed), .rendered, .refreshed, .image, .source, .fallback, .replaced, .snapshot,
      .renamed,
      .updateAvailable,
      .destroyed:
      return nil
    case .phase: self = .begun
    case .commands(let commands):
      guard reporting.commands else { return nil }
      self = .commands(commands.map(\.description))
    case .log(let level, let text): self = .log(level: level, text: text)
    case .missing(let part): self = .missing(Missing(part))
    case .message(let message): self = .message(message)
    case .exception(let exception): self = .exception(ScriptFault(exception))
    case .failed(let error): self = .failed(PageFailureNotice(error))
    }
  }

  /// The event name of notices.
  static let name = "notice"
  /// The limit of commands in one message.
  static let commandsAtOnce = 1_000

  /// Splits the notice into messages within the limit.
  var pieces: [PageNotice] {
    guard case .commands(let commands) = self, commands.count > Self.commandsAtOnce else { return [self] }
    return stride(from: 0, to: commands.count, by: Self.commandsAtOnce).map {
      .commands(Array(commands[$0..<min($0 + Self.commandsAtOnce, commands.count)]))
    }
  }

  /// The notice as JSON.
  var text: [UInt8] { (try? JSONEncoder().encode(self)).map { Array($0) } ?? [] }

  /// - Returns: `nil` if the event is not a notice.
  package init?(event name: String, _ details: [UInt8]) {
    guard name == Self.name, let value = try? JSONValue(reading: details).decoded(as: PageNotice.self) else {
      return nil
    }
    self = value
  }
}

/// The reason why a page could not open, or was stopped.
package struct PageFailureNotice: Codable, Hashable, Sendable {
  /// An error of its script.
  package var exception: ScriptFault?
  /// The reason why its script was stopped.
  package var stop: KillReason?
  package var text: String

  package init(_ error: PageError) {
    text = "\(error)"
    guard case .script(_, let error) = error else { return }
    switch error {
    case .exception(let exception): self.exception = ScriptFault(exception)
    case .timeLimit(let limit): stop = .time(took: nil, limit: limit.seconds)
    case .memoryLimit(let limit, let found): stop = .memory(found: found, limit: limit)
    default: break
    }
  }
}
