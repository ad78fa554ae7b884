import ScriptEngine

/// A method that scripts can call.
enum ModuleMethod: Sendable {
  /// Returns a call's result on the script's thread. It must not wait.
  typealias Immediate = @Sendable (ModuleCall, DefaultConfiguration) throws -> ScriptValue

  /// Returns its result at once.
  case immediate(Immediate)
  /// Runs after the script has returned, and calls callbacks. The call itself returns `undefined`, or the result of
  /// `returning` at once: a timer is known by the id of its callback.
  case deferred(returning: Immediate? = nil, @PageActor @Sendable (ModuleCall, PageInstance) async throws -> Void)
  /// Runs after the script has returned; the call returns a promise of the result.
  case promised(@PageActor @Sendable (ModuleCall, PageInstance) async throws -> ScriptValue)

  /// The way in which a script calls a method.
  enum Kind: String {
    case immediate, deferred, promised
    /// It is deferred, and returns something at once all the same.
    case answered
  }

  var kind: Kind {
    switch self {
    case .immediate: .immediate
    case .deferred(returning: .none, _): .deferred
    case .deferred: .answered
    case .promised: .promised
    }
  }

  /// A method of a page whose script is run again: it has no effect, and what it returned is given.
  init(replayed kind: Kind) {
    self =
      switch kind {
      case .immediate: .immediate { _, _ in .undefined }
      case .deferred: .idle
      case .answered: .deferred(returning: { _, _ in .undefined }) { _, _ in }
      case .promised: .promised { _, _ in .undefined }
      }
  }

  /// Does nothing: the part of a device that it is about does not exist.
  static let idle = ModuleMethod.deferred { _, _ in }

  /// Calls the callback among its arguments, if there is one, with an answer.
  static func answering(
    at index: Int, _ answer: @escaping @PageActor @Sendable (ModuleCall, PageInstance) async throws -> ScriptValue
  ) -> ModuleMethod {
    .deferred { call, page in
      let answer = try await answer(call, page)
      if let callback = call.callback(at: index) { try await page.callback(callback, answer) }
    }
  }
}

/// Modules by name, with their methods. A page keeps the table it started with.
struct ModuleTable: Sendable {
  private(set) var modules: [String: [String: ModuleMethod]] = [:]
  /// The names of each module's methods, as frameworks are told of them.
  private(set) var names: [String: ScriptValue] = [:]

  subscript(module: String, method: String) -> ModuleMethod? { modules[module]?[method] }

  /// The missing part, if a method is not there: the module or the method.
  func missing(_ module: String, _ method: String) -> MissingPart {
    modules[module] == nil ? .module(module) : .method(of: module, method)
  }

  /// Adds a method, or replaces it.
  mutating func add(_ module: String, _ method: String, _ body: ModuleMethod) {
    set(module, (modules[module] ?? [:]).merging([method: body]) { $1 })
  }

  /// Adds a module, in the place of one of the same name.
  mutating func set(_ module: String, _ methods: [String: ModuleMethod]?) {
    modules[module] = methods
    names[module] = methods.map { .array($0.keys.sorted().map { .string($0) }) }
  }
}

/// Components by type, with their methods.
struct ComponentTable: Sendable {
  private(set) var methods: [String: [String: ModuleMethod]] = [:]
  /// The names of each component's methods, as frameworks are told of them.
  private(set) var names: [String: ScriptValue] = [:]

  /// Returns `true` if the type is built in or was registered.
  func has(_ type: String) -> Bool { names[type] != nil || Self.typesKnown.contains(type) }

  subscript(type: String, method: String) -> ModuleMethod? { methods[type]?[method] }

  mutating func add(_ type: String, methods added: [String: ModuleMethod] = [:]) {
    methods[type, default: [:]].merge(added) { $1 }
    names[type] = .array((methods[type] ?? [:]).keys.sorted().map { .string($0) })
  }

  /// The components in the form that the framework's `registerComponents` takes.
  var descriptions: ScriptValue {
    .array(names.sorted { $0.key < $1.key }.map { ["type": .string($0), "methods": $1] })
  }
}

/// A script's call of a method of a module or of a component.
public struct ModuleCall: Sendable {
  /// The id of the page.
  public let page: String
  /// The name of the module; empty for a component.
  public let module: String
  /// The name of the method.
  public let method: String
  /// The ref of the component's element; `nil` for a module.
  public let ref: String?
  /// The arguments. A function is a callback's id.
  public let arguments: [ScriptValue]

  /// An argument; ``ScriptValue/undefined`` if there is none.
  public subscript(index: Int) -> ScriptValue {
    arguments.indices.contains(index) ? arguments[index] : .undefined
  }

  /// Returns the id of the callback at this place among the arguments, or `nil` if there is none.
  public func callback(at index: Int) -> String? {
    let value = self[index]
    return value.reference.flatMap { $0.isEmpty ? nil : $0 }
  }
}

/// Collects the methods of a module or of a component.
///
/// Arguments and results may be `String`, `Bool`, `Int`, `Double`, ``ScriptValue``, optionals, arrays, dictionaries with
/// text keys, and types that conform to ``ScriptConvertible``. A wrong argument is an error in the script.
///
///     host.pages.registry.registerModule("cart") { module in
///       module.method("add") { (sku: String, count: Int) async throws -> Int in try await cart.add(sku, count) }
///     }
public struct ModuleBuilder: Sendable {
  private(set) var methods: [String: ModuleMethod] = [:]

  init() {}

  /// Adds a method that returns its result to the script at once. It runs on the script's thread and must not wait.
  ///
  /// An error that it throws is thrown in the script.
  public mutating func immediate<each Argument: ScriptConvertible, Result: ScriptConvertible>(
    _ name: String, _ body: @escaping @Sendable (repeat each Argument) throws -> Result
  ) {
    methods[name] = .immediate { call, _ in
      var index = 0
      return try body(repeat try call.next(&index, (each Argument).self)).scriptValue
    }
  }

  /// Adds a method that returns a promise to the script. It runs after the script has returned.
  ///
  /// An error that it throws rejects the promise.
  public mutating func method<each Argument: ScriptConvertible & Sendable, Result: ScriptConvertible & Sendable>(
    _ name: String, _ body: @escaping @Sendable (repeat each Argument) async throws -> Result
  ) {
    methods[name] = .promised { call, _ in
      var index = 0
      return try await body(repeat try call.next(&index, (each Argument).self)).scriptValue
    }
  }

  /// Adds a method that calls the script's callbacks, any number of times, with
  /// ``PageInstance/callback(_:_:keepAlive:)``. It runs after the script has returned.
  ///
  /// An error that it throws is an exception of the page.
  public mutating func callbacks(
    _ name: String, _ body: @escaping @PageActor @Sendable (ModuleCall, PageInstance) async throws -> Void
  ) {
    methods[name] = .deferred(returning: nil, body)
  }
}

extension ModuleCall {
  /// Reads the next argument.
  fileprivate func next<Value: ScriptConvertible>(_ index: inout Int, _ type: Value.Type) throws -> Value {
    defer { index += 1 }
    // Frameworks write a missing argument as an empty text.
    let isMissing = self[index] == "" && Value(scriptValue: .undefined) != nil
    return try (isMissing ? .undefined : self[index]).converted(toArgument: index)
  }
}

// MARK: - The built-in modules

extension ModuleTable {
  /// The built-in modules.
  static let builtIn: ModuleTable = {
    var table = ModuleTable()
    let modules: [String: [String: ModuleMethod]] = [
      "animation": animation, "broadcastChannel": broadcastChannel, "canvas": canvas, "clipboard": clipboard,
      "dark-scheme": darkScheme, "deviceInfo": deviceInfo, "dom": dom, "event": event, "globalEvent": globalEvent,
      "instanceWrap": instanceWrap, "locale": locale, "meta": meta, "modal": modal, "navigator": navigator,
      "picker": picker, "sdk-console-log": consoleLog, "storage": storage, "stream": stream, "timer": timer,
      "voice-over": voiceOver, "webSocket": webSocket, "webview": webview,
    ]
    for (name, methods) in modules {
      // Every module of the SDK may have events of its own. Here none fires one.
      table.set(name, methods.merging(common.map { ($0, ModuleMethod.idle) }) { own, _ in own })
    }
    return table
  }()

  /// The methods that every module has.
  static let common = ["addEventListener", "removeAllEventListeners"]

  /// Methods that do nothing.
  static func idle(_ names: String...) -> [String: ModuleMethod] {
    Dictionary(names.map { ($0, ModuleMethod.idle) }) { $1 }
  }
}
