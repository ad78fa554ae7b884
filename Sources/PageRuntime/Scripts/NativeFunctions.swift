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
      ElementDescription(arguments[0]).map { .createBody($0) }
    }
    try command("callAddElement") { arguments in
      guard let parent = arguments[0].reference, let element = ElementDescription(arguments[1]) else { return nil }
      return .addElement(parent: parent, element, index: Self.index(arguments[2]))
    }
    try command("callRemoveElement") { arguments in arguments[0].reference.map { .removeElement($0) } }
    try command("callMoveElement") { arguments in
      guard let ref = arguments[0].reference, let parent = arguments[1].reference else { return nil }
      return .moveElement(ref, parent: parent, index: Self.index(arguments[2]))
    }
    try command("callUpdateAttrs") { arguments in
      guard let ref = arguments[0].reference, let changes = arguments[1].object else { return nil }
      return .updateAttributes(ref, changes)
    }
    try command("callUpdateStyle") { arguments in
      guard let ref = arguments[0].reference, let changes = arguments[1].object else { return nil }
      return .updateStyle(ref, changes)
    }
    try command("callAddEvent") { arguments in
      guard let ref = arguments[0].reference, let type = Self.eventType(arguments[1]) else { return nil }
      return .addEvent(ref, type: type)
    }
    try command("callRemoveEvent") { arguments in
      guard let ref = arguments[0].reference, let type = Self.eventType(arguments[1]) else { return nil }
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
  private func command(_ name: String, _ make: @escaping (Arguments) -> RenderCommand?) throws {
    try function(name) { page, arguments in
      guard let command = make(arguments) else {
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
      let values = try arguments.map { try $0.value() }
      return try Self.callModule(Arguments(values), state, context)
    }
    try context.global.set("callNativeModule", native)
    try function("callNativeComponent") { page, arguments in
      guard let ref = arguments[0].reference, let method = arguments[1].string else { return .undefined }
      page.later(
        ModuleCall(
          page: page.id, module: "", method: method, ref: ref, arguments: arguments[2].array ?? []))
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
          _ = try Self.callModule(Arguments(call), state, context)
        }
      }
      return context.undefined
    }
    try context.global.set("callNative", tasks)
    try function("__updateComponentData") { _, _ in .undefined }
  }

  private static func callModule(
    _ arguments: Arguments, _ state: FrameworkState, _ context: ScriptContext
  ) throws -> ScriptReference {
    guard let page = try page(arguments.first, state), let module = arguments[0].string,
      let method = arguments[1].string
    else { return context.undefined }
    let call = ModuleCall(
      page: page.id, module: module, method: method, ref: nil, arguments: arguments[2].array ?? [])
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
    let made = context.makeFunction(named: name) { context, arguments in
      let values = Arguments(try arguments.map { try $0.value() })
      guard let page = try Self.page(values.first, state) else { return context.undefined }
      return context.reference(to: try body(page, values))
    }
    try context.global.set(name, made)
  }
}

/// What a native function was called with, behind the page's id.
struct Arguments {
  let first: ScriptValue
  private let rest: ArraySlice<ScriptValue>

  init(_ values: [ScriptValue]) {
    first = values.first ?? .undefined
    rest = values.dropFirst()
  }

  subscript(index: Int) -> ScriptValue {
    rest.indices.contains(index + 1) ? rest[index + 1] : .undefined
  }
}
