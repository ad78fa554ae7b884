import ScriptEngine

/// The changes of elements that frameworks make, by the name of the task. The function of `addElement` is
/// `callAddElement`.
enum NativeCommand {
  /// Returns `nil` if the arguments are invalid.
  typealias Reader = @Sendable (Arguments) throws -> RenderCommand?

  static let readers: [String: Reader] = [
    "createBody": { arguments in ElementDescription(try arguments.plain(0)).map { .createBody($0) } },
    "addElement": { arguments in
      guard let parent = try arguments[0].reference, let element = ElementDescription(try arguments.plain(1)) else {
        return nil
      }
      return .addElement(parent: parent, element, index: index(try arguments[2]))
    },
    "removeElement": { arguments in try arguments[0].reference.map { .removeElement($0) } },
    "moveElement": { arguments in
      guard let ref = try arguments[0].reference, let parent = try arguments[1].reference else { return nil }
      return .moveElement(ref, parent: parent, index: index(try arguments[2]))
    },
    "updateAttrs": { arguments in
      guard let ref = try arguments[0].reference, let changes = try arguments[1].object else { return nil }
      return .updateAttributes(ref, changes)
    },
    "updateStyle": { arguments in
      guard let ref = try arguments[0].reference, let changes = try arguments[1].object else { return nil }
      return .updateStyle(ref, changes)
    },
    "addEvent": { arguments in
      guard let ref = try arguments[0].reference, let type = eventType(try arguments[1]) else { return nil }
      return .addEvent(ref, type: type)
    },
    "removeEvent": { arguments in
      guard let ref = try arguments[0].reference, let type = eventType(try arguments[1]) else { return nil }
      return .removeEvent(ref, type: type)
    },
    "createFinish": { _ in .createFinish },
    "updateFinish": { _ in .updateFinish },
    "refreshFinish": { _ in .refreshFinish },
  ]

  /// - Throws: ``ScriptError`` if the arguments are invalid.
  static func read(_ name: String, _ arguments: Arguments, with reader: Reader) throws -> RenderCommand {
    guard let command = try reader(arguments) else {
      throw ScriptError.exception(ScriptException(message: "\(name) was called with invalid arguments"))
    }
    return command
  }

  /// An index among the children; −1, or a value that is not a number, is the end.
  private static func index(_ value: ScriptValue) -> Int? {
    (value.int ?? value.string.flatMap { Int($0) }).flatMap { $0 < 0 ? nil : $0 }
  }

  private static func eventType(_ value: ScriptValue) -> String? { value.string ?? value["type"].string }
}
