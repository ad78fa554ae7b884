import Foundation
import PageKit

/// An event of a page for a program that renders it.
package enum PageNotice: Codable, Sendable {
  /// The page no longer waits for its bundle.
  case begun
  /// The script's commands to the tree, one to a line.
  case commands([String])
  case log(level: String, text: String)
  case missing(MissingPart)
  case message(PageMessage)
  /// The script threw; the page continues.
  case exception(ScriptException)
  /// The page could not open, or was stopped.
  case failed(PageFailureNotice)
  /// The script of an embedded or pushed page threw.
  case thrown(ScriptException)

  /// - Returns: `nil` for events without a notice.
  package init?(_ event: PageEvent, hasCommands: Bool) {
    switch event {
    case .phase(.loading), .phase(.destroyed), .rendered, .refreshed, .image, .source, .fallback, .replaced, .snapshot,
      .renamed,
      .updateAvailable,
      .destroyed:
      return nil
    case .phase: self = .begun
    case .commands(let commands):
      guard hasCommands else { return nil }
      self = .commands(commands.map(\.description))
    case .log(let level, let text): self = .log(level: level, text: text)
    case .missing(let part): self = .missing(part)
    case .message(let message): self = .message(message)
    case .exception(let exception): self = .exception(exception)
    case .failed(let error): self = .failed(PageFailureNotice(error))
    }
  }

  /// The event name of notices.
  static let name = "notice"
  /// The name of events whose data are the next bytes of the page's recording.
  package static let recording = "recording"
  /// The name of events for errors inside of embedded pages, which are a ``PageFailureNotice``.
  package static let inside = "inside"
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

extension PageFailureNotice {
  init(_ exception: ScriptException) { self.init(exception: exception, text: exception.message) }

  /// The failure as JSON.
  var json: [UInt8] { (try? JSONEncoder().encode(self)).map { Array($0) } ?? [] }

  package init(_ error: PageError) {
    text = "\(error)"
    guard case .script(_, let error) = error else { return }
    stop = KillReason(error)
    if case .exception(let exception) = error { self.exception = exception }
  }
}

extension PageEvent {
  /// The name and the data of an event for readers of a page's events; `nil` for internal events.
  var told: (name: String, JSONValue)? {
    switch self {
    case .phase(let phase): ("phase", .object(["phase": .string(phase.rawValue)]))
    case .rendered: ("rendered", .object([:]))
    case .refreshed: ("refreshed", .object([:]))
    case .commands(let commands): commands.isEmpty ? nil : ("commands", .array(commands.map(\.json)))
    case .image(let ref, let state): ("image", Self.json(of: state, ref))
    case .source(let ref, let state):
      ("source", .object(["ref": .string(ref), "url": state.map { .string($0.url) } ?? .null]))
    case .updateAvailable(let news): ("update", news.json)
    case .fallback(_, let reason): ("fallback", .object(["reason": .string("\(reason)")]))
    case .exception(let exception): ("exception", exception.json)
    case .message(let message): ("message", message.json)
    case .log(let level, let text): ("log", .object(["level": .string(level), "text": .string(text)]))
    case .snapshot(let tree): ("snapshot", .object(["elements": .integer(Int64(tree?.count ?? 0))]))
    case .renamed(let refs): ("renamed", .object(refs.mapValues { .string($0) }))
    case .replaced(let failure, let release):
      ("replaced", .object(["reason": .string("\(failure)"), "release": .string(release)]))
    case .missing(let part): ("missing", .object(["text": .string("\(part)")]))
    case .failed(let error): ("failed", .object(["reason": .string("\(error)")]))
    case .destroyed: nil
    }
  }

  private static func json(of image: ImageState?, _ ref: String) -> JSONValue {
    var members = image?.members ?? ["state": .string("")]
    (members["ref"], members["url"]) = (.string(ref), image.map { .string($0.url) } ?? .null)
    return .object(members)
  }
}

extension BundleNews {
  /// The update: `{"release": …}`, and the MD5 if it is the page's own bundle.
  package var json: JSONValue {
    switch self {
    case .bundle(_, let md5, let release):
      .object(["md5": .string(md5.hex), "release": release.map { .string($0) } ?? .null])
    case .release(let release): .object(["release": .string(release.name)])
    case .undone(let bad, let current):
      .object(["release": .string(current.name), "bad": .string(bad.name)])
    }
  }
}
