import Foundation
import ScriptEngine

/// The native functions on a framework's global object. Each notes a call for the running page.
struct NativeFunctions {
  private let context: ScriptContext
  private let state: FrameworkState

  init(_ context: ScriptContext, _ state: FrameworkState) {
    self.context = context
    self.state = state
  }

  func define() throws {
    try defineCommands()
    try defineCalls()
    state.globals = try PageGlobals(context, state)
  }

  // MARK: Commands

  private func defineCommands() throws {
    let buffer = JSONBuffer(in: context)
    state.buffer = buffer
    let state = state
    let begin = context.makeFunction(named: "begin") { arguments in
      try state.takeCommands()
      guard let page = try Self.page(try arguments.first?.value() ?? .undefined, state) else { return false }
      page.noteCommand()
      return true
    }
    try context.evaluate(BuiltInFramework.commands, url: "commands.js").call([begin, buffer.object])
  }

  // MARK: Modules and components

  private func defineCalls() throws {
    let state = state
    let native = context.makeFunction(named: "callNativeModule") { context, arguments in
      try Self.callModule(try arguments.map { try $0.value() }, state, context)
    }
    try context.global.set("callNativeModule", native)
    try function("callNativeComponent") { page, arguments in
      guard let ref = arguments[0].reference, let method = arguments[1].string else { return .undefined }
      page.later(
        ModuleCall(page: page.id, module: "", method: method, ref: ref, arguments: arguments[2].array ?? []))
      return .undefined
    }
    try function("__updateComponentData") { page, arguments in
      page.later(
        ModuleCall(
          page: page.id, module: "dom", method: "updateComponentData", ref: nil, arguments: arguments.array ?? []))
      return .undefined
    }
    // Older frameworks use one function for everything: tasks, each for a module, a component or an element.
    let tasks = context.makeFunction(named: "callNative") { context, arguments in
      let values = try arguments.map { try $0.value() }
      guard values.count > 1, let page = try Self.page(values[0], state) else { return context.undefined }
      for task in values[1].array ?? [] { try Self.run(task, values[0], page, state, context) }
      if values.count > 2 { Self.answer(values[2], page) }
      return context.undefined
    }
    try context.global.set("callNative", tasks)
  }

  private static func run(
    _ task: ScriptValue, _ id: ScriptValue, _ page: PageScript, _ state: FrameworkState, _ context: ScriptContext
  ) throws {
    let arguments = task["args"].array ?? []
    if task["component"].string != nil {
      page.later(
        ModuleCall(
          page: page.id, module: "", method: task["method"].string ?? "", ref: task["ref"].reference,
          arguments: arguments))
    } else if task["module"] == "dom", let name = task["method"].string,
      let command = try NativeCommand.read(task: name, arguments)
    {
      try state.takeCommands()
      try page.add(command)
    } else {
      _ = try callModule([id, task["module"], task["method"], task["args"]], state, context)
    }
  }

  /// Calls a callback that waits for nothing but the end of the entry; −1 is none.
  private static func answer(_ callback: ScriptValue, _ page: PageScript) {
    guard let id = callback.reference, !id.isEmpty, id != "-1" else { return }
    page.later(ModuleCall(page: page.id, module: "timer", method: "setTimeout", ref: nil, arguments: [callback, 0]))
  }

  /// - Parameter values: the page's id, the module, the method, and its arguments.
  private static func callModule(
    _ values: [ScriptValue], _ state: FrameworkState, _ context: ScriptContext
  ) throws -> ScriptReference {
    func value(_ index: Int) -> ScriptValue { values.indices.contains(index) ? values[index] : .undefined }
    guard let page = try page(value(0), state), let module = value(1).string, let method = value(2).string else {
      return context.undefined
    }
    let call = ModuleCall(page: page.id, module: module, method: method, ref: nil, arguments: value(3).array ?? [])
    switch page.modules[module, method] {
    case .immediate(let body): return context.reference(to: try body(call, page.configuration))
    case .deferred(let answer, _):
      page.later(call)
      return context.reference(to: try answer?(call, page.configuration) ?? .undefined)
    case .promised:
      let (promise, settle) = try context.makePromise()
      page.later(call, settle: settle)
      return promise
    case nil:
      page.note(page.modules.missing(module, method))
      return context.undefined
    }
  }

  // MARK: Pages

  /// The running page, if the script names it.
  ///
  /// - Throws: ``ScriptError`` if it names another page.
  private static func page(_ id: ScriptValue, _ state: FrameworkState) throws -> PageScript? {
    guard let current = state.current else { return nil }
    guard id.reference == current.id else {
      throw ScriptError.exception(
        ScriptException(message: "page \(current.id) may not act for page \(id.reference ?? "?")"))
    }
    return current
  }

  /// A function whose first argument is the page's id, and `body`'s others are an array.
  private func function(_ name: String, _ body: @escaping (PageScript, ScriptValue) throws -> ScriptValue) throws {
    let state = state
    let made = context.makeFunction(named: name) { arguments in
      guard let page = try Self.page(try arguments.first?.value() ?? .undefined, state) else { return .undefined }
      return try body(page, .array(try arguments.dropFirst().map { try $0.value() }))
    }
    try context.global.set(name, made)
  }
}

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
