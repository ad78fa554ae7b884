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
      let (promise, pending) = try context.makePending()
      page.later(call, promise: pending)
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
