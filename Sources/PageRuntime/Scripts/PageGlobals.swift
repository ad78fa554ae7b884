import Foundation
import HTTPTransport
import ScriptEngine

/// The functions of a global object that scripts expect and that the language does not have.
struct PageGlobals {
  private let context: ScriptContext
  private let owner: Owner

  /// The owner of the global object. A page's functions act for that page, whoever calls them.
  private final class Owner {
    private weak var page: PageScript?
    private(set) weak var state: FrameworkState?
    let isFramework: Bool

    init(_ page: PageScript?, _ state: FrameworkState) {
      self.page = page
      self.state = state
      isFramework = page == nil
    }

    /// The page that a function acts for: a framework's own functions act for the running page.
    var current: PageScript? { isFramework ? state?.current : page }
  }

  /// - Parameter page: `nil` for a framework's global object.
  init(_ context: ScriptContext, _ state: FrameworkState, _ page: PageScript? = nil) {
    self.context = context
    owner = Owner(page, state)
  }

  /// - Parameter environment: the `WXEnvironment` of pages.
  func define(environment: ScriptValue = .undefined) throws {
    let global = context.global
    if environment != .undefined { try global.set("WXEnvironment", environment) }
    try global.set("global", global)
    try global.set("process", ["env": ["NODE_ENV": "production"]])
    try global.set("atob", context.makeFunction(named: "atob") { (text: String) in try Self.decode(text) })
    try global.set("btoa", context.makeFunction(named: "btoa") { (text: String) in try Self.encode(text) })
    try defineLog(global)
    try defineTimers(global)
  }

  /// Notes modules that the page asks for and that are not registered, whatever its framework reports. The built-in
  /// framework notes them itself.
  func watchRequire() throws {
    let owner = owner
    let note = context.makeFunction(named: "note") { context, arguments in
      if let page = owner.current, let text = arguments.first?.text {
        // `@weex-module/stream` is the module `stream`.
        let prefix = "@weex-module/"
        let name = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
        page.noteIfMissing(name)
      }
      return context.undefined
    }
    try context.evaluate(Self.watching).call([note])
  }

  /// A script, since a native function that held the framework's function would hold the context, and so itself.
  private static let watching = """
    (function (note) {
      [globalThis.weex, globalThis].forEach(function (holder) {
        var original = holder && holder.requireModule
        if (typeof original !== 'function') return
        holder.requireModule = function requireModule (name) {
          note(name)
          return original.apply(holder, arguments)
        }
      })
    })
    """

  // MARK: Base64: one character for each byte

  private static func decode(_ text: String) throws -> String {
    guard let bytes = Base64.decode(text) else {
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

  private func defineLog(_ global: ScriptReference) throws {
    let owner = owner
    let log = context.makeFunction(named: "nativeLog") { context, arguments in
      var texts = arguments.map(\.text)
      let level = texts.last?.hasPrefix("__") == true ? texts.removeLast().dropFirst(2).lowercased() : "log"
      owner.current?.log(level, texts.joined(separator: " "))
      return context.undefined
    }
    try global.set("nativeLog", log)
    let console = context.reference(to: [:])
    for level in ["log", "debug", "info", "warn", "error"] {
      let function = context.makeFunction(named: level) { context, arguments in
        owner.current?.log(level, arguments.map(\.description).joined(separator: " "))
        return context.undefined
      }
      try console.set(level, function)
    }
    try global.set("console", console)
  }

  // MARK: Timers

  private func defineTimers(_ global: ScriptReference) throws {
    let owner = owner
    for (name, repeats) in [("setTimeout", false), ("setInterval", true)] {
      let function = context.makeFunction(named: name) { context, arguments in
        guard let state = owner.state, owner.isFramework || owner.current != nil, let body = arguments.first,
          body.isFunction
        else { return context.undefined }
        let delay = arguments.dropFirst().first.flatMap { try? $0.value().number } ?? 0
        let timer = ScriptTimer(
          id: state.nextTimer(), body, Array(arguments.dropFirst(2)), milliseconds: delay, repeats: repeats,
          isFramework: owner.isFramework)
        state.add(timer, for: owner.current)
        return context.reference(to: .number(Double(timer.id)))
      }
      try global.set(name, function)
    }
    for name in ["clearTimeout", "clearInterval"] {
      let function = context.makeFunction(named: name) { context, arguments in
        if let id = arguments.first.flatMap({ try? $0.value().int }) { owner.state?.removeTimer(id, of: owner.current) }
        return context.undefined
      }
      try global.set(name, function)
    }
    // Older frameworks store the functions themselves.
    let native = context.makeFunction(named: "setTimeoutNative") { context, arguments in
      guard let state = owner.state, owner.isFramework || owner.current != nil, let id = arguments.first else {
        return context.undefined
      }
      let delay = arguments.dropFirst().first.flatMap { try? $0.value().number } ?? 0
      let timer = ScriptTimer(
        id: state.nextTimer(), try context.global["setTimeoutCallback"], [id], milliseconds: delay,
        isFramework: owner.isFramework)
      state.add(timer, for: owner.current)
      return context.undefined
    }
    try global.set("setTimeoutNative", native)
  }
}
