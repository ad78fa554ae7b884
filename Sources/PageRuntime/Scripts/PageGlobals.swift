import Foundation
import HTTPTransport
import ScriptEngine

/// The functions of global objects that scripts expect and that the language does not have. The native ones are made once
/// for a framework; `globals.js` binds them to each page.
extension FrameworkState {
  private static let globalsScript = String(decoding: PackageResources.globals_js, as: UTF8.self)

  /// Makes the functions, and gives them to the framework's own global object.
  func defineGlobals(in home: ScriptContext) throws {
    let native = home.reference(to: [:])
    try native.set("atob", home.makeFunction(named: "atob") { (text: String) in try Self.decode(text) })
    try native.set("nodeEnvironment", .string(nodeEnvironment))
    try native.set("btoa", home.makeFunction(named: "btoa") { (text: String) in try Self.encode(text) })
    try addLog(native, home)
    try addTimers(native, home)
    try addChannels(native, home)
    try add("recordModule", to: native, home) { state, _, arguments in
      if let page = state.owner(arguments).page, arguments.count > 1 {
        page.recordIfMissing(Self.moduleName(arguments[1].text))
      }
      return nil
    }
    try add("recordMethod", to: native, home) { state, _, arguments in
      if let page = state.owner(arguments).page, arguments.count > 2 {
        page.record(page.modules.missing(Self.moduleName(arguments[1].text), String(arguments[2].text.prefix(100))))
      }
      return nil
    }
    let prepare = try home.evaluate(Self.globalsScript, url: "globals.js").call([native])
    try prepare.call([home.global])
    globalsFunction = prepare
  }

  /// Makes the global object of a page ready for its bundle.
  ///
  /// - Parameters:
  ///   - environment: the `WXEnvironment`.
  ///   - members: an object with the members that the framework gives to the page.
  func prepareGlobals(
    of context: ScriptContext, page: String, environment: ScriptValue, members: ScriptReference
  ) throws {
    guard let globalsFunction else { return }
    let home = globalsFunction.context
    try globalsFunction.call([
      home.adopting(context.global), home.reference(to: .string(page)),
      home.adopting(context.reference(to: environment)), members,
    ])
  }

  /// Adds a native function, which may return a value. The engine holds it, so it does not hold the state.
  private func add(
    _ name: String, to native: ScriptReference, _ home: ScriptContext,
    _ body: @escaping (FrameworkState, ScriptContext, [ScriptReference]) throws -> ScriptValue?
  ) throws {
    let function = home.makeFunction(named: name) { [weak self] context, arguments in
      guard let self, let value = try body(self, context, arguments) else { return context.undefined }
      return context.reference(to: value)
    }
    try native.set(name, function)
  }

  /// The name of a module that a script asks for: `@weex-module/stream` is the module `stream`.
  private static func moduleName(_ text: String) -> String {
    let prefix = "@weex-module/"
    return text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
  }

  /// The page that a call acts for, and `true` if a framework's own function was called. The page's id is the first
  /// argument; a framework's functions have none, and act for the running page.
  private func owner(_ arguments: [ScriptReference]) -> (page: PageScript?, isFramework: Bool) {
    guard let id = (try? arguments.first?.value())?.string else { return (current, true) }
    return (pages[id], false)
  }

  // MARK: Base64: one character for each byte

  private static func decode(_ text: String) throws -> String {
    guard let bytes = [UInt8](base64: text) else {
      throw ScriptError.exception(ScriptException(message: "atob: the text is not base64"))
    }
    return String(String.UnicodeScalarView(bytes.map { UnicodeScalar($0) }))
  }

  private static func encode(_ text: String) throws -> String {
    let bytes = try text.unicodeScalars.map { scalar -> UInt8 in
      guard let byte = UInt8(exactly: scalar.value) else {
        throw ScriptError.exception(ScriptException(message: "btoa: the text has characters beyond one byte"))
      }
      return byte
    }
    return Data(bytes).base64EncodedString()
  }

  // MARK: Log

  private func addLog(_ native: ScriptReference, _ home: ScriptContext) throws {
    try add("nativeLog", to: native, home) { state, _, arguments in
      var texts = arguments.dropFirst().map(\.text)
      // The level is the last argument, as `__WARN`.
      let level = texts.last?.hasPrefix("__") == true ? texts.removeLast().dropFirst(2).lowercased() : "log"
      state.owner(arguments).page?.log(level, texts.joined(separator: " "))
      return nil
    }
    try add("log", to: native, home) { state, _, arguments in
      guard arguments.count > 1 else { return nil }
      let values = arguments.dropFirst(2).map(\.description)
      state.owner(arguments).page?.log(arguments[1].text, values.joined(separator: " "))
      return nil
    }
  }

  // MARK: Timers

  private func addTimers(_ native: ScriptReference, _ home: ScriptContext) throws {
    try add("setTimer", to: native, home) { state, context, arguments in
      // The page, `true` for an interval, the function, the delay, and the function's arguments.
      guard arguments.count > 2, arguments[2].isFunction else { return nil }
      let (page, isFramework) = state.owner(arguments)
      guard isFramework || page != nil else { return nil }
      // Called without a receiver, the function sees the global object of the context that it is called in.
      let caller = isFramework ? context : page?.scriptContext ?? context
      let delay = arguments.dropFirst(3).first.flatMap { try? $0.value().number } ?? 0
      let timer = ScriptTimer(
        id: state.nextTimer(), caller.adopting(arguments[2]), arguments.dropFirst(4).map { caller.adopting($0) },
        milliseconds: delay, repeats: try arguments[1].value() == true, isFramework: isFramework)
      state.add(timer, for: page)
      return .number(Double(timer.id))
    }
    try add("clearTimer", to: native, home) { state, _, arguments in
      if let id = arguments.dropFirst().first.flatMap({ try? $0.value().int }) {
        state.removeTimer(id, of: state.owner(arguments).page)
      }
      return nil
    }
  }

  // MARK: Channels

  private func addChannels(_ native: ScriptReference, _ home: ScriptContext) throws {
    try add("openChannel", to: native, home) { state, context, arguments in
      // The page, the channel's name, and the function that gets its messages.
      guard arguments.count > 2, let page = state.owner(arguments).page else { return nil }
      return .number(Double(try page.openChannel(arguments[1].text, context.adopting(arguments[2]))))
    }
    try add("postMessage", to: native, home) { state, _, arguments in
      if arguments.count > 2, let page = state.owner(arguments).page, let number = try arguments[1].value().int {
        try page.post(arguments[2], from: number)
      }
      return nil
    }
    try add("closeChannel", to: native, home) { state, _, arguments in
      if arguments.count > 1, let page = state.owner(arguments).page, let number = try arguments[1].value().int {
        page.closeChannel(number)
      }
      return nil
    }
  }
}
