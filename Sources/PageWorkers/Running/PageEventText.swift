import Foundation
import PageKit

extension PageEvent {
  /// The name and the data of an event for readers of a page's events; `nil` for internal events.
  var told: (name: String, JSONValue)? {
    switch self {
    case .phase(let phase): ("phase", .object(["phase": .string(phase.rawValue)]))
    case .rendered: ("rendered", .object([:]))
    case .refreshed: ("refreshed", .object([:]))
    case .commands(let commands): commands.isEmpty ? nil : ("commands", .array(commands.map(\.json)))
    case .image(let ref, let state):
      ("image", .object(["ref": .string(ref), "state": .string(state.map { "\($0)" } ?? "")]))
    case .source(let ref, let state):
      ("source", .object(["ref": .string(ref), "url": state.map { .string($0.url) } ?? .null]))
    case .updateAvailable(let news): ("update", news.json)
    case .fallback(_, let reason): ("fallback", .object(["reason": .string("\(reason)")]))
    case .exception(let exception): ("exception", ScriptFault(exception).json)
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

extension ScriptFault {
  package var json: JSONValue {
    .object([
      "message": .string(message), "url": url.map { .string($0) } ?? .null,
      "line": line.map { .integer(Int64($0)) } ?? .null, "column": column.map { .integer(Int64($0)) } ?? .null,
      "stack": stack.map { .string($0) } ?? .null,
    ])
  }
}

extension RenderCommand {
  /// The command as a method of the module `dom` and its arguments.
  var json: JSONValue {
    func command(_ method: String, _ arguments: JSONValue...) -> JSONValue {
      .object(["method": .string(method), "args": .array(arguments)])
    }
    func index(_ index: Int?) -> JSONValue { .integer(Int64(index ?? -1)) }
    return switch self {
    case .createBody(let element): command("createBody", element.json)
    case .addElement(let parent, let element, let place):
      command("addElement", .string(parent), element.json, index(place))
    case .removeElement(let ref): command("removeElement", .string(ref))
    case .moveElement(let ref, let parent, let place):
      command("moveElement", .string(ref), .string(parent), index(place))
    case .updateAttributes(let ref, let changes):
      command("updateAttrs", .string(ref), ScriptValue.object(changes).json)
    case .updateStyle(let ref, let changes): command("updateStyle", .string(ref), ScriptValue.object(changes).json)
    case .addEvent(let ref, let type): command("addEvent", .string(ref), .string(type))
    case .removeEvent(let ref, let type): command("removeEvent", .string(ref), .string(type))
    case .createFinish: command("createFinish")
    case .updateFinish: command("updateFinish")
    case .refreshFinish: command("refreshFinish")
    }
  }
}

extension ElementDescription {
  /// The depth was limited when the script's values were read.
  fileprivate var json: JSONValue {
    var members: [String: JSONValue] = [
      "ref": .string(ref), "type": .string(type), "attr": ScriptValue.object(attributes).json,
      "style": ScriptValue.object(style).json,
    ]
    if !events.isEmpty { members["event"] = .array(events.sorted().map { .string($0) }) }
    if !children.isEmpty { members["children"] = .array(children.map(\.json)) }
    return .object(members)
  }
}
