import Foundation
import ScriptEngine

/// The functions that a framework finds on its global: each puts down what the running page wants.
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
    try PageGlobals(context, state).define()
  }

  // MARK: Commands

  private func defineCommands() throws {
    try command("callCreateBody") { arguments in
      ElementDescription(try arguments.plain(0)).map { .createBody($0) }
    }
    try command("callAddElement") { arguments in
      guard let parent = try arguments[0].reference, let element = ElementDescription(try arguments.plain(1)) else {
        return nil
      }
      return .addElement(parent: parent, element, index: Self.index(try arguments[2]))
    }
    try command("callRemoveElement") { arguments in try arguments[0].reference.map { .removeElement($0) } }
    try command("callMoveElement") { arguments in
      guard let ref = try arguments[0].reference, let parent = try arguments[1].reference else { return nil }
      return .moveElement(ref, parent: parent, index: Self.index(try arguments[2]))
    }
    try command("callUpdateAttrs") { arguments in
      guard let ref = try arguments[0].reference, let changes = try arguments[1].object else { return nil }
      return .updateAttributes(ref, changes)
    }
    try command("callUpdateStyle") { arguments in
      guard let ref = try arguments[0].reference, let changes = try arguments[1].object else { return nil }
      return .updateStyle(ref, changes)
    }
    try command("callAddEvent") { arguments in
      guard let ref = try arguments[0].reference, let type = Self.eventType(try arguments[1]) else { return nil }
      return .addEvent(ref, type: type)
    }
    try command("callRemoveEvent") { arguments in
      guard let ref = try arguments[0].reference, let type = Self.eventType(try arguments[1]) else { return nil }
      return .removeEvent(ref, type: type)
    }
    try command("callCreateFinish") { _ in .createFinish }
    try command("callUpdateFinish") { _ in .updateFinish }
    try command("callRefreshFinish") { _ in .refreshFinish }
  }

  /// −1, and what is no number, is the end.
  private static func index(_ value: ScriptValue) -> Int? {
    (value.int ?? value.string.flatMap { Int($0) }).flatMap { $0 < 0 ? nil : $0 }
  }

  private static func eventType(_ value: ScriptValue) -> String? { value.string ?? value["type"].string }

  /// - Parameter make: nil for arguments that make no sense.
  private func command(_ name: String, _ make: @escaping (Arguments) throws -> RenderCommand?) throws {
    try function(name) { page, arguments in
      guard let command = try make(arguments) else {
        throw ScriptError.exception(ScriptException(message: "\(name) was called with arguments that make no sense"))
      }
      try page.add(command)
      return .undefined
    }
  }

  // MARK: Modules and components

  private func defineCalls() throws {
    let state = state
    let native = context.makeFunction(named: "callNativeModule") { context, arguments in
      try Self.callModule(try arguments.map { try $0.value() }, state, context)
    }
    try context.global.set("callNativeModule", native)
    try function("callNativeComponent") { page, arguments in
      guard let ref = try arguments[0].reference, let method = try arguments[1].string else { return .undefined }
      page.later(
        ModuleCall(
          page: page.id, module: "", method: method, ref: ref, arguments: try arguments[2].array ?? []))
      return .undefined
    }
    // What older frameworks use for everything: tasks, each for a module or a component.
    let tasks = context.makeFunction(named: "callNative") { context, arguments in
      let values = try arguments.map { try $0.value() }
      guard values.count > 1 else { return context.undefined }
      for task in values[1].array ?? [] {
        let call: [ScriptValue] = [values[0], task["module"], task["method"], task["args"]]
        if task["component"].string != nil, let page = try Self.page(values[0], state) {
          page.later(
            ModuleCall(
              page: page.id, module: "", method: task["method"].string ?? "", ref: task["ref"].reference,
              arguments: task["args"].array ?? []))
        } else {
          _ = try Self.callModule(call, state, context)
        }
      }
      return context.undefined
    }
    try context.global.set("callNative", tasks)
    try function("__updateComponentData") { _, _ in .undefined }
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
    case .immediate(let body): return context.reference(to: try body(call))
    case .deferred(let index, _):
      page.later(call)
      return context.reference(to: index.map { call[$0] } ?? .undefined)
    case .promised:
      let (promise, pending) = try context.makePending()
      page.later(call, promise: pending)
      return promise
    case nil:
      page.log("warn", "there is no method \(module).\(method)")
      return context.undefined
    }
  }

  // MARK: Pages

  /// The running page, where the script means that one.
  private static func page(_ id: ScriptValue, _ state: FrameworkState) throws -> PageScript? {
    guard let current = state.current else { return nil }
    guard id.reference == current.id else {
      throw ScriptError.exception(
        ScriptException(message: "page \(current.id) may not act for page \(id.reference ?? "?")"))
    }
    return current
  }

  /// A function whose first argument is the page's id.
  private func function(_ name: String, _ body: @escaping (PageScript, Arguments) throws -> ScriptValue) throws {
    let state = state
    let made = context.makeFunction(named: name) { arguments in
      let id = try arguments.first?.value() ?? .undefined
      guard let page = try Self.page(id, state) else { return .undefined }
      return try body(page, Arguments(arguments.dropFirst()))
    }
    try context.global.set(name, made)
  }
}

/// What a native function was called with, behind the page's id. Each is read when it is needed.
struct Arguments {
  private let arguments: ArraySlice<ScriptArgument>

  init(_ arguments: ArraySlice<ScriptArgument>) { self.arguments = arguments }

  private func argument(_ index: Int) -> ScriptArgument? {
    let position = arguments.startIndex + index
    return position < arguments.endIndex ? arguments[position] : nil
  }

  subscript(index: Int) -> ScriptValue {
    get throws { try argument(index)?.value() ?? .undefined }
  }

  /// What JSON keeps of it: enough of an element, and quick.
  func plain(_ index: Int) throws -> ScriptValue { try argument(index)?.plainValue() ?? .undefined }
}
