import Foundation
import ScriptEngine

/// The native functions on a framework's global object. Each records a call for the running page.
extension FrameworkState {
  /// Defines the functions on the global object of the framework's context.
  func defineFunctions(in context: ScriptContext) throws {
    try defineCommands(in: context)
    try defineCalls(in: context)
    try defineGlobals(in: context)
  }

  // MARK: Commands

  /// The functions by which all frameworks change elements.
  private static let commandsScript = String(decoding: PackageResources.commands_js, as: UTF8.self)

  private func defineCommands(in context: ScriptContext) throws {
    let buffer = JSONBuffer(in: context)
    self.buffer = buffer
    let begin = context.makeFunction(named: "begin") { arguments in
      try self.readCommands()
      guard let page = try self.running(as: try arguments.first?.value() ?? .undefined) else { return false }
      page.recordCommand()
      return true
    }
    try context.evaluate(Self.commandsScript, url: "commands.js").call([begin, buffer.object])
  }

  // MARK: Modules and components

  private func defineCalls(in context: ScriptContext) throws {
    let native = context.makeFunction(named: "callNativeModule") { context, arguments in
      try self.callModule(try arguments.map { try $0.value() }, context)
    }
    try context.global.set("callNativeModule", native)
    try define("callNativeComponent", in: context) { page, arguments in
      guard let ref = arguments[0].reference, let method = arguments[1].string else { return }
      page.later(
        ModuleCall(page: page.id, module: "", method: method, ref: ref, arguments: arguments[2].array ?? []))
    }
    try define("__updateComponentData", in: context) { page, arguments in
      page.later(
        ModuleCall(
          page: page.id, module: "dom", method: "updateComponentData", ref: nil, arguments: arguments.array ?? []))
    }
    // Older frameworks use one function for everything: tasks, each for a module, a component or an element.
    let tasks = context.makeFunction(named: "callNative") { context, arguments in
      let values = try arguments.map { try $0.value() }
      guard values.count > 1, let page = try self.running(as: values[0]) else { return context.undefined }
      for task in values[1].array ?? [] { try self.run(task, values[0], page, context) }
      if values.count > 2 { Self.answer(values[2], page) }
      return context.undefined
    }
    try context.global.set("callNative", tasks)
  }

  /// Defines a function whose first argument is the page's id; the body gets the others as an array.
  private func define(
    _ name: String, in context: ScriptContext, _ body: @escaping (PageScript, ScriptValue) throws -> Void
  ) throws {
    let function = context.makeFunction(named: name) { arguments in
      guard let page = try self.running(as: try arguments.first?.value() ?? .undefined) else { return .undefined }
      try body(page, .array(try arguments.dropFirst().map { try $0.value() }))
      return .undefined
    }
    try context.global.set(name, function)
  }

  private func run(_ task: ScriptValue, _ id: ScriptValue, _ page: PageScript, _ context: ScriptContext) throws {
    let arguments = task["args"].array ?? []
    if task["component"].string != nil {
      page.later(
        ModuleCall(
          page: page.id, module: "", method: task["method"].string ?? "", ref: task["ref"].reference,
          arguments: arguments))
    } else if task["module"] == "dom", let name = task["method"].string,
      let command = try RenderCommand(task: name, .array(arguments))
    {
      try readCommands()
      try page.add(command)
    } else {
      _ = try callModule([id, task["module"], task["method"], task["args"]], context)
    }
  }

  /// Calls a callback that waits for nothing but the end of the entry; −1 is none.
  private static func answer(_ callback: ScriptValue, _ page: PageScript) {
    guard let id = callback.reference, !id.isEmpty, id != "-1" else { return }
    page.later(ModuleCall(page: page.id, module: "timer", method: "setTimeout", ref: nil, arguments: [callback, 0]))
  }

  /// - Parameter values: the page's id, the module, the method, and its arguments.
  private func callModule(_ values: [ScriptValue], _ context: ScriptContext) throws -> ScriptReference {
    func value(_ index: Int) -> ScriptValue { values.indices.contains(index) ? values[index] : .undefined }
    guard let page = try running(as: value(0)), let module = value(1).string, let method = value(2).string else {
      return context.undefined
    }
    let call = ModuleCall(page: page.id, module: module, method: method, ref: nil, arguments: value(3).array ?? [])
    switch page.modules[module, method] {
    case .immediate(let body):
      return context.reference(to: try page.answer { try body(call, page.configuration) })
    case .deferred(let answer, _):
      page.later(call)
      guard let answer else { return context.undefined }
      return context.reference(to: try page.answer { try answer(call, page.configuration) })
    case .promised:
      let (promise, settle) = try context.makePromise()
      page.later(call, settle: settle)
      return promise
    case nil:
      page.record(page.modules.missing(module, method))
      return context.undefined
    }
  }

  /// The running page, if the script names it.
  ///
  /// - Throws: ``ScriptError`` if it names another page.
  private func running(as id: ScriptValue) throws -> PageScript? {
    guard let current else { return nil }
    guard id.reference == current.id else {
      throw ScriptError.exception(
        ScriptException(message: "page \(current.id) may not act for page \(id.reference ?? "?")"))
    }
    return current
  }
}

// MARK: - The commands of frameworks that change elements

extension RenderCommand {
  /// The commands in the order of their numbers in the text that `commands.js` makes, with the names that they have as
  /// tasks of the module `dom`.
  private enum Kind: String, CaseIterable {
    case createBody, addElement, removeElement, moveElement, updateAttributes = "updateAttrs", updateStyle, addEvent
    case removeEvent, createFinish, updateFinish, refreshFinish

    static let numbered = allCases
  }

  private static func invalid(_ name: String) -> ScriptError {
    .exception(ScriptException(message: "\(name) was called with invalid arguments"))
  }

  // MARK: The text of commands.js

  /// Reads the next command: `[1,"parent",{"ref":"7","type":"text"},-1]`.
  ///
  /// - Throws: ``ScriptError/exception(_:)`` if it has been read and has invalid arguments; other errors if the text
  ///   cannot be read on.
  init(reading reader: inout JSONTextReader) throws {
    try reader.skip("[")
    let number = try reader.int()
    guard let number, Kind.numbered.indices.contains(number) else {
      throw ScriptError.notPlainData("there is no command \(number ?? -1)")
    }
    let kind = Kind.numbered[number]
    let command: RenderCommand?
    switch kind {
    case .createBody: command = try Self.element(&reader).map { .createBody($0) }
    case .addElement:
      let (parent, element) = (try Self.text(&reader), try Self.element(&reader))
      let index = try Self.index(&reader)
      command = element.map { .addElement(parent: parent, $0, index: index) }
    case .removeElement: command = .removeElement(try Self.text(&reader))
    case .moveElement:
      command = .moveElement(
        try Self.text(&reader), parent: try Self.text(&reader), index: try Self.index(&reader))
    case .updateAttributes: command = .updateAttributes(try Self.text(&reader), try Self.changes(&reader))
    case .updateStyle: command = .updateStyle(try Self.text(&reader), try Self.changes(&reader))
    case .addEvent: command = .addEvent(try Self.text(&reader), type: try Self.text(&reader))
    case .removeEvent: command = .removeEvent(try Self.text(&reader), type: try Self.text(&reader))
    case .createFinish: command = .createFinish
    case .updateFinish: command = .updateFinish
    case .refreshFinish: command = .refreshFinish
    }
    try reader.skip("]")
    if reader.removeDepthFault() {
      throw ScriptError.exception(ScriptException(message: "\(kind) was called with a value that is nested too deeply"))
    }
    guard let command else { throw Self.invalid("\(kind)") }
    self = command
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

  // MARK: Tasks of older frameworks

  /// Reads a task of the module `dom`. Returns `nil` if there is no such task.
  ///
  /// - Throws: ``ScriptError`` if the arguments are invalid.
  init?(task name: String, _ arguments: ScriptValue) throws {
    guard let kind = Kind(rawValue: name) else { return nil }
    let (ref, second) = (arguments[0].reference, arguments[1])
    let command: RenderCommand? =
      switch kind {
      case .createBody: ElementDescription(arguments[0]).map { .createBody($0) }
      case .addElement:
        ref.flatMap { parent in
          ElementDescription(second).map { .addElement(parent: parent, $0, index: Self.index(arguments[2])) }
        }
      case .removeElement: ref.map { .removeElement($0) }
      case .moveElement:
        ref.flatMap { ref in
          second.reference.map { .moveElement(ref, parent: $0, index: Self.index(arguments[2])) }
        }
      case .updateAttributes: ref.flatMap { ref in second.object.map { .updateAttributes(ref, $0) } }
      case .updateStyle: ref.flatMap { ref in second.object.map { .updateStyle(ref, $0) } }
      case .addEvent: ref.flatMap { ref in Self.eventType(second).map { .addEvent(ref, type: $0) } }
      case .removeEvent: ref.flatMap { ref in Self.eventType(second).map { .removeEvent(ref, type: $0) } }
      case .createFinish: .createFinish
      case .updateFinish: .updateFinish
      case .refreshFinish: .refreshFinish
      }
    guard let command else { throw Self.invalid("dom.\(name)") }
    self = command
  }

  /// An index among the children; −1, or a value that is not a number, is the end.
  private static func index(_ value: ScriptValue) -> Int? {
    (value.int ?? value.string.flatMap { Int($0) }).flatMap { $0 < 0 ? nil : $0 }
  }

  private static func eventType(_ value: ScriptValue) -> String? { value.string ?? value["type"].string }
}
