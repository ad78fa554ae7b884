import Foundation
import HTTPTransport
import ScriptEngine

/// Writes values of scripts and changes of elements as JSON that is read back as the same: JSON has no `undefined`, no bytes
/// and no numbers such as `NaN`. An object whose only member begins with `$` is one of these.
struct RecordedText {
  private var writer = JSONWriter()
  /// The long texts, by their digests. They are kept once, beside the values that have them.
  private(set) var texts: [String: String] = [:]

  /// The length in bytes from which a text is kept once.
  private static let longText = 1_024

  var bytes: [UInt8] { writer.bytes }

  mutating func append(_ text: StaticString) { writer.append(text) }

  mutating func write(_ text: String) { writer.write(text) }

  mutating func write(_ number: Int) { _ = writer.write(JSONValue.integer(Int64(number))) }

  mutating func write(_ value: ScriptValue) {
    switch value {
    case .undefined: append(#"{"$":"undefined"}"#)
    case .null: append("null")
    case .bool(let value): if value { append("true") } else { append("false") }
    case .number(let number): write(number)
    case .string(let text):
      guard text.utf8.count >= Self.longText else { return write(text) }
      append(#"{"$text":"#)
      write(reference(to: text))
      append("}")
    case .array(let values): write(values) { $0.write($1) }
    case .object(let members):
      let isEscaped = members.count == 1 && members.keys.first?.hasPrefix("$") == true
      if isEscaped { append(#"{"$object":"#) }
      write(members)
      if isEscaped { append("}") }
    case .data(let bytes):
      append(#"{"$data":"#)
      write(Data(bytes).base64EncodedString())
      append("}")
    }
  }

  /// Keeps a text.
  ///
  /// - Returns: its digest.
  mutating func reference(to text: String) -> String {
    let digest = RecordingLine.digest(Array(text.utf8))
    texts[digest] = text
    return digest
  }

  private mutating func write(_ number: Double) {
    if number.isNaN {
      append(#"{"$":"NaN"}"#)
    } else if number == .infinity {
      append(#"{"$":"Infinity"}"#)
    } else if number == -.infinity {
      append(#"{"$":"-Infinity"}"#)
    } else if number == 0, number.sign == .minus {
      append(#"{"$":"-0"}"#)
    } else {
      _ = writer.write(Int64(exactly: number).map { JSONValue.integer($0) } ?? .number(number))
    }
  }

  mutating func write<Element>(_ elements: some Sequence<Element>, each: (inout RecordedText, Element) -> Void) {
    append("[")
    var isFirst = true
    for element in elements {
      if !isFirst { append(",") }
      isFirst = false
      each(&self, element)
    }
    append("]")
  }

  private mutating func write(_ members: [String: ScriptValue]) {
    append("{")
    var isFirst = true
    for (name, value) in members.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
      if !isFirst { append(",") }
      isFirst = false
      write(name)
      append(":")
      write(value)
    }
    append("}")
  }

  /// Writes changes of elements: each as its name in the module `dom`, and its arguments.
  mutating func write(_ commands: some Sequence<RenderCommand>) {
    write(commands) { text, command in
      text.append("[")
      switch command {
      case .createBody(let element): text.write("createBody", .init(element))
      case .addElement(let parent, let element, let index):
        text.write("addElement", .string(parent), .init(element), .number(Double(index ?? -1)))
      case .removeElement(let ref): text.write("removeElement", .string(ref))
      case .moveElement(let ref, let parent, let index):
        text.write("moveElement", .string(ref), .string(parent), .number(Double(index ?? -1)))
      case .updateAttributes(let ref, let changes): text.write("updateAttrs", .string(ref), .object(changes))
      case .updateStyle(let ref, let changes): text.write("updateStyle", .string(ref), .object(changes))
      case .addEvent(let ref, let type): text.write("addEvent", .string(ref), .string(type))
      case .removeEvent(let ref, let type): text.write("removeEvent", .string(ref), .string(type))
      case .createFinish: text.write("createFinish")
      case .updateFinish: text.write("updateFinish")
      case .refreshFinish: text.write("refreshFinish")
      }
      text.append("]")
    }
  }

  private mutating func write(_ name: String, _ arguments: ScriptValue...) {
    write(name)
    for argument in arguments {
      append(",")
      write(argument)
    }
  }
}

extension ScriptValue {
  /// An element as a script describes it.
  fileprivate init(_ element: ElementDescription) {
    var members: [String: ScriptValue] = ["ref": .string(element.ref), "type": .string(element.type)]
    if !element.attributes.isEmpty { members["attr"] = .object(element.attributes) }
    if !element.style.isEmpty { members["style"] = .object(element.style) }
    if !element.events.isEmpty {
      members["event"] = .array(
        element.events.sorted().map { type in
          element.eventArguments[type].map { ["type": .string(type), "params": $0] } ?? .string(type)
        })
    }
    if !element.children.isEmpty { members["children"] = .array(element.children.map { ScriptValue($0) }) }
    self = .object(members)
  }
}

extension ElementTree {
  /// The commands that make the tree, one for each element: so their text is not nested as deep as the elements are.
  var makingCommands: [RenderCommand] {
    guard let root else { return [] }
    return preorder(from: root).map { element in
      let alone = ElementDescription(
        ref: element.ref, type: element.type, attributes: element.attributes, style: element.style,
        events: element.events, eventArguments: element.eventArguments)
      return element.parent.map { .addElement(parent: $0, alone, index: nil) } ?? .createBody(alone)
    }
  }
}

// MARK: - Reading

/// Reads what ``RecordedText`` has written.
struct RecordedTextReader {
  /// The texts that are kept once, by their digests in hexadecimal.
  var texts: [String: String]

  /// The reason why something cannot be read.
  struct Fault: Error {
    let reason: String
  }

  func value(_ json: JSONValue) throws -> ScriptValue {
    switch json {
    case .array(let values): return .array(try values.map(value))
    case .object(let members):
      guard members.count == 1, let (name, member) = members.first, name.hasPrefix("$") else {
        return .object(try members.mapValues(value))
      }
      switch (name, member) {
      case ("$", .string("undefined")): return .undefined
      case ("$", .string("NaN")): return .number(.nan)
      case ("$", .string("Infinity")): return .number(.infinity)
      case ("$", .string("-Infinity")): return .number(-.infinity)
      case ("$", .string("-0")): return .number(-0.0)
      case ("$text", .string(let digest)): return .string(try text(digest))
      case ("$data", .string(let text)):
        guard let data = Data(base64Encoded: text) else { throw Fault(reason: "it has bytes that are not base64") }
        return .data(Array(data))
      case ("$object", .object(let members)): return .object(try members.mapValues(value))
      default: throw Fault(reason: "it has a value \"\(name.prefix(40))\" that is not known")
      }
    default: return ScriptValue(json)
    }
  }

  func text(_ digest: String) throws -> String {
    guard let text = texts[digest] else { throw Fault(reason: "the text \(digest.prefix(64)) is missing") }
    return text
  }

  func commands(_ json: JSONValue) throws -> [RenderCommand] {
    guard case .array(let commands) = json else { throw Fault(reason: "it has no list of commands") }
    return try commands.map { command in
      guard case .array(let parts) = command, case .string(let name)? = parts.first else {
        throw Fault(reason: "it has a command without a name")
      }
      let arguments = ScriptValue.array(try parts.dropFirst().map(value))
      do {
        guard let command = try RenderCommand(task: name, arguments) else {
          throw Fault(reason: "it has a command \"\(name.prefix(40))\" that is not known")
        }
        return command
      } catch let error as ScriptError {
        throw Fault(reason: "\(error)")
      }
    }
  }
}
