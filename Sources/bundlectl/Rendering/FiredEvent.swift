import ArgumentParser
import Foundation
import PageKit
import PageWorkers

/// An event to fire, as an argument: `ref:type`, or `ref:type:data`.
struct FiredEvent: ExpressibleByArgument, Hashable {
  let ref: String
  let type: String
  /// The event's data as written: a JSON object, or `@FILE` with one; `nil` for none.
  let data: String?
  /// The members of the event.
  private(set) var details: ScriptValue = [:]
  /// The user's changes of the element; `undefined` for those that devices make.
  private(set) var changes: ScriptValue = .undefined

  init?(argument: String) {
    let parts = argument.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count > 1 else { return nil }
    (ref, type) = (String(parts[0].drop { $0 == "#" }), String(parts[1]))
    data = parts.count > 2 ? String(parts[2]) : nil
    guard !ref.isEmpty, !type.isEmpty else { return nil }
  }

  /// The event with its data, which is the event's members, or `{event, changes}`.
  ///
  /// - Throws: `ValidationError` if the data is not a JSON object; ``DescribedError`` if a file cannot be read or is not
  ///   one.
  func read() throws -> FiredEvent {
    guard let data else { return self }
    var event = self
    event.details = try ScriptValue(argument: data, isEvent: true)
    if let members = event.details.object, !members.isEmpty, members.keys.allSatisfy({ Self.parts.contains($0) }) {
      (event.details, event.changes) = (members["event"] ?? [:], members["changes"] ?? .undefined)
    }
    return event
  }

  private static let parts: Set = ["event", "changes"]

  /// The reason why the event cannot be fired; `nil` if it can.
  func fault(in tree: ElementTree) -> String? {
    var listener = tree[ref]
    while let element = listener {
      // The event may bubble up to a listener.
      if element.events.contains(type) { return nil }
      listener = element.parent.flatMap { tree[$0] }
    }
    let listeners = tree.preorder(from: tree.root ?? "").filter { $0.events.contains(type) }
    let subject = tree[ref].map { "the \($0.type) \(ref) has no event \(type)" } ?? "there is no element \(ref)"
    guard !listeners.isEmpty else {
      let types = Set(tree.elements.values.flatMap(\.events)).sorted().joined(separator: ", ")
      return types.isEmpty
        ? "\(subject); no element listens to events" : "\(subject); no element listens to \(type), only to \(types)"
    }
    let some = listeners.prefix(6).map { "\($0.ref) (\(Self.label(of: $0, in: tree)))" }.joined(separator: ", ")
    return "\(subject); elements that listen to \(type): \(some)\(listeners.count > 6 ? ", …" : "")"
  }

  /// The element's type, and its first text.
  private static func label(of element: ElementTree.Element, in tree: ElementTree) -> String {
    let texts = tree.preorder(from: element.ref).lazy.compactMap { $0.attributes["value"]?.string }.filter {
      !$0.isEmpty
    }
    return texts.first.map { "\(element.type) \(String($0.prefix(30)).quotedForMessage)" } ?? element.type
  }
}

extension ScriptValue {
  /// Reads data of a page, or of an event, from an argument: a JSON object, or `@FILE` with one.
  ///
  /// - Throws: `ValidationError` if the text is not a JSON object; ``DescribedError`` if a file cannot be read or is not
  ///   one.
  init(argument text: String, isEvent: Bool = false) throws {
    let noun = isEvent ? "event" : "data"
    let subject = isEvent ? "the data of --fire" : "--data"
    let example = isEvent ? #"--fire '12:input:{"value": "text"}'"# : #"--data '{"key": "value"}'"#
    if let path = Self.file(inArgument: text) {
      guard let found = try? String(contentsOfFile: path, encoding: .utf8) else {
        throw DescribedError("the \(noun) file \(path) cannot be read")
      }
      guard let value = ScriptValue(json: found), value.object != nil else {
        throw DescribedError("the \(noun) file \(path) does not contain a JSON object\(Self.fault(ofJSON: found))")
      }
      self = value
      return
    }
    guard let value = ScriptValue(json: text) else {
      throw ValidationError("\(subject) is not JSON\(Self.fault(ofJSON: text)). Write it as \(example).")
    }
    guard value.object != nil else {
      throw ValidationError(
        "\(subject) must be a JSON object, it is \(text.quotedForMessage). Write it as \(example).")
    }
    self = value
  }

  static func file(inArgument text: String?) -> String? {
    text.flatMap { $0.hasPrefix("@") ? String($0.dropFirst()) : nil }
  }

  /// The reason of the reader, if it gives one.
  private static func fault(ofJSON text: String) -> String {
    do {
      _ = try JSONValue(reading: Array(text.utf8))
      return ""
    } catch {
      return ": \(error.message)"
    }
  }
}
