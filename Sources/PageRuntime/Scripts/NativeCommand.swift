import ScriptEngine

/// The commands of frameworks that change elements.
enum NativeCommand {
  /// The number of a command in the text that `commands.js` makes.
  private enum Kind: Int {
    case createBody, addElement, removeElement, moveElement, updateAttributes, updateStyle, addEvent, removeEvent
    case createFinish, updateFinish, refreshFinish
  }

  // MARK: The text of commands.js

  /// Reads the next command: `[1,"parent",{"ref":"7","type":"text"},-1]`.
  ///
  /// - Throws: ``ScriptError/exception(_:)`` if it has been read and has invalid arguments; other errors if the text
  ///   cannot be read on.
  static func read(_ reader: inout JSONTextReader) throws -> RenderCommand {
    try reader.skip("[")
    let number = try reader.int()
    guard let kind = number.flatMap(Kind.init(rawValue:)) else {
      throw ScriptError.notPlainData("there is no command \(number ?? -1)")
    }
    let command: RenderCommand?
    switch kind {
    case .createBody: command = try element(&reader).map { .createBody($0) }
    case .addElement:
      let (parent, element, index) = (try text(&reader), try element(&reader), try index(&reader))
      command = element.map { .addElement(parent: parent, $0, index: index) }
    case .removeElement: command = .removeElement(try text(&reader))
    case .moveElement:
      command = .moveElement(try text(&reader), parent: try text(&reader), index: try index(&reader))
    case .updateAttributes: command = .updateAttributes(try text(&reader), try changes(&reader))
    case .updateStyle: command = .updateStyle(try text(&reader), try changes(&reader))
    case .addEvent: command = .addEvent(try text(&reader), type: try text(&reader))
    case .removeEvent: command = .removeEvent(try text(&reader), type: try text(&reader))
    case .createFinish: command = .createFinish
    case .updateFinish: command = .updateFinish
    case .refreshFinish: command = .refreshFinish
    }
    try reader.skip("]")
    if reader.takeDepthFault() {
      throw ScriptError.exception(ScriptException(message: "\(kind) was called with a value that is nested too deeply"))
    }
    guard let command else { throw invalid("\(kind)") }
    return command
  }

  private static func text(_ reader: inout JSONTextReader) throws -> String {
    try reader.skip(",")
    return try reader.string()
  }

  private static func index(_ reader: inout JSONTextReader) throws -> Int? {
    try reader.skip(",")
    return try reader.int().flatMap { $0 < 0 ? nil : $0 }
  }

  private static func element(_ reader: inout JSONTextReader) throws -> ElementDescription? {
    try reader.skip(",")
    return try ElementDescription(&reader)
  }

  /// The changed members, and after them the names of those that became `undefined`.
  private static func changes(_ reader: inout JSONTextReader) throws -> [String: ScriptValue] {
    try reader.skip(",")
    var changes: [String: ScriptValue] = [:]
    try reader.object { reader, name in changes[name] = try reader.value() }
    try reader.skip(",")
    try reader.array { reader in changes[try reader.string()] = .undefined }
    return changes
  }

  private static func invalid(_ name: String) -> ScriptError {
    .exception(ScriptException(message: "\(name) was called with invalid arguments"))
  }

  // MARK: Tasks of older frameworks

  /// Reads a task of the module `dom`. Returns `nil` if there is no such task.
  ///
  /// - Throws: ``ScriptError`` if the arguments are invalid.
  static func read(task name: String, _ arguments: [ScriptValue]) throws -> RenderCommand? {
    guard let reader = tasks[name] else { return nil }
    guard let command = reader(ScriptValue.array(arguments)) else { throw invalid("dom.\(name)") }
    return command
  }

  /// The readers of tasks. Each returns `nil` if the arguments are invalid.
  private static let tasks: [String: @Sendable (ScriptValue) -> RenderCommand?] = [
    "createBody": { arguments in ElementDescription(arguments[0]).map { .createBody($0) } },
    "addElement": { arguments in
      guard let parent = arguments[0].reference, let element = ElementDescription(arguments[1]) else { return nil }
      return .addElement(parent: parent, element, index: index(arguments[2]))
    },
    "removeElement": { arguments in arguments[0].reference.map { .removeElement($0) } },
    "moveElement": { arguments in
      guard let ref = arguments[0].reference, let parent = arguments[1].reference else { return nil }
      return .moveElement(ref, parent: parent, index: index(arguments[2]))
    },
    "updateAttrs": { arguments in
      guard let ref = arguments[0].reference, let changes = arguments[1].object else { return nil }
      return .updateAttributes(ref, changes)
    },
    "updateStyle": { arguments in
      guard let ref = arguments[0].reference, let changes = arguments[1].object else { return nil }
      return .updateStyle(ref, changes)
    },
    "addEvent": { arguments in
      guard let ref = arguments[0].reference, let type = eventType(arguments[1]) else { return nil }
      return .addEvent(ref, type: type)
    },
    "removeEvent": { arguments in
      guard let ref = arguments[0].reference, let type = eventType(arguments[1]) else { return nil }
      return .removeEvent(ref, type: type)
    },
    "createFinish": { _ in .createFinish },
    "updateFinish": { _ in .updateFinish },
    "refreshFinish": { _ in .refreshFinish },
  ]

  /// An index among the children; −1, or a value that is not a number, is the end.
  private static func index(_ value: ScriptValue) -> Int? {
    (value.int ?? value.string.flatMap { Int($0) }).flatMap { $0 < 0 ? nil : $0 }
  }

  private static func eventType(_ value: ScriptValue) -> String? { value.string ?? value["type"].string }
}
