import Foundation
import HTTPTransport
import ScriptEngine

/// The functions of global objects that scripts expect and that the language does not have. The native ones are made once
/// for a framework; `globals.js` binds them to each page.
struct PageGlobals {
  private let home: ScriptContext
  private let prepare: ScriptReference

  /// Makes the functions, and gives them to the framework's own global object.
  init(_ home: ScriptContext, _ state: FrameworkState) throws {
    self.home = home
    let native = home.reference(to: [:])
    try native.set("atob", home.makeFunction(named: "atob") { (text: String) in try Self.decode(text) })
    try native.set("btoa", home.makeFunction(named: "btoa") { (text: String) in try Self.encode(text) })
    try Self.addLog(native, home, state)
    try Self.addTimers(native, home, state)
    try Self.addChannels(native, home, state)
    let noteModule = home.makeFunction(named: "noteModule") { context, arguments in
      if let page = Self.owner(arguments, state).page, arguments.count > 1 {
        page.noteIfMissing(Self.moduleName(arguments[1].text))
      }
      return context.undefined
    }
    try native.set("noteModule", noteModule)
    let noteMethod = home.makeFunction(named: "noteMethod") { context, arguments in
      if let page = Self.owner(arguments, state).page, arguments.count > 2 {
        page.note(page.modules.missing(Self.moduleName(arguments[1].text), String(arguments[2].text.prefix(100))))
      }
      return context.undefined
    }
    try native.set("noteMethod", noteMethod)
    prepare = try home.evaluate(BuiltInFramework.globals, url: "globals.js").call([native])
    try prepare.call([home.global])
  }

  /// Makes the global object of a page ready for its bundle.
  ///
  /// - Parameters:
  ///   - environment: the `WXEnvironment`.
  ///   - members: an object with the members that the framework gives to the page.
  func prepare(
    _ context: ScriptContext, page: String, environment: ScriptValue, members: ScriptReference
  ) throws {
    try prepare.call([
      home.adopting(context.global), home.reference(to: .string(page)),
      home.adopting(context.reference(to: environment)), members,
    ])
  }

  /// The name of a module that a script asks for: `@weex-module/stream` is the module `stream`.
  private static func moduleName(_ text: String) -> String {
    let prefix = "@weex-module/"
    return text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
  }

  /// The page that a call acts for, and `true` if a framework's own function was called. The page's id is the first
  /// argument; a framework's functions have none, and act for the running page.
  private static func owner(
    _ arguments: [ScriptReference], _ state: FrameworkState
  ) -> (page: PageScript?, isFramework: Bool) {
    guard let id = (try? arguments.first?.value())?.string else { return (state.current, true) }
    return (state.pages[id], false)
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

  private static func addLog(_ native: ScriptReference, _ home: ScriptContext, _ state: FrameworkState) throws {
    let text = home.makeFunction(named: "nativeLog") { [weak state] context, arguments in
      guard let state else { return context.undefined }
      var texts = arguments.dropFirst().map(\.text)
      // The level is the last argument, as `__WARN`.
      let level = texts.last?.hasPrefix("__") == true ? texts.removeLast().dropFirst(2).lowercased() : "log"
      owner(arguments, state).page?.log(level, texts.joined(separator: " "))
      return context.undefined
    }
    try native.set("nativeLog", text)
    let log = home.makeFunction(named: "log") { [weak state] context, arguments in
      guard let state, arguments.count > 1 else { return context.undefined }
      let values = arguments.dropFirst(2).map(\.description)
      owner(arguments, state).page?.log(arguments[1].text, values.joined(separator: " "))
      return context.undefined
    }
    try native.set("log", log)
  }

  // MARK: Timers

  private static func addTimers(_ native: ScriptReference, _ home: ScriptContext, _ state: FrameworkState) throws {
    let set = home.makeFunction(named: "setTimer") { [weak state] context, arguments in
      // The page, `true` for an interval, the function, the delay, and the function's arguments.
      guard let state, arguments.count > 2, arguments[2].isFunction else { return context.undefined }
      let (page, isFramework) = owner(arguments, state)
      guard isFramework || page != nil else { return context.undefined }
      // Called without a receiver, the function sees the global object of the context that it is called in.
      let caller = isFramework ? context : page?.scriptContext ?? context
      let delay = arguments.dropFirst(3).first.flatMap { try? $0.value().number } ?? 0
      let timer = ScriptTimer(
        id: state.nextTimer(), caller.adopting(arguments[2]), arguments.dropFirst(4).map { caller.adopting($0) },
        milliseconds: delay, repeats: try arguments[1].value() == true, isFramework: isFramework)
      state.add(timer, for: page)
      return context.reference(to: .number(Double(timer.id)))
    }
    try native.set("setTimer", set)
    let clear = home.makeFunction(named: "clearTimer") { [weak state] context, arguments in
      if let state, let id = arguments.dropFirst().first.flatMap({ try? $0.value().int }) {
        state.removeTimer(id, of: owner(arguments, state).page)
      }
      return context.undefined
    }
    try native.set("clearTimer", clear)
  }

  // MARK: Channels

  private static func addChannels(_ native: ScriptReference, _ home: ScriptContext, _ state: FrameworkState) throws {
    let open = home.makeFunction(named: "openChannel") { [weak state] context, arguments in
      // The page, the channel's name, and the function that gets its messages.
      guard let state, arguments.count > 2, let page = owner(arguments, state).page else { return context.undefined }
      let number = try page.openChannel(arguments[1].text, context.adopting(arguments[2]))
      return context.reference(to: .number(Double(number)))
    }
    try native.set("openChannel", open)
    let post = home.makeFunction(named: "postMessage") { [weak state] context, arguments in
      guard let state, arguments.count > 2, let page = owner(arguments, state).page,
        let number = try arguments[1].value().int
      else { return context.undefined }
      try page.post(arguments[2], from: number)
      return context.undefined
    }
    try native.set("postMessage", post)
    let close = home.makeFunction(named: "closeChannel") { [weak state] context, arguments in
      guard let state, arguments.count > 1, let page = owner(arguments, state).page,
        let number = try arguments[1].value().int
      else { return context.undefined }
      page.closeChannel(number)
      return context.undefined
    }
    try native.set("closeChannel", close)
  }
}
