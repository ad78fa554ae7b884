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

  /// Does nothing: the part of a device that it is about does not exist.
  static let idle = ModuleMethod.deferred { _, _ in }

  /// Calls the callback among its arguments with an answer that does not depend on the page.
  static func answering(at index: Int, _ answer: @escaping @Sendable (ModuleCall) -> ScriptValue) -> ModuleMethod {
    .deferred { call, page in
      if let callback = call.callback(at: index) { try await page.callback(callback, answer(call)) }
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
    modules[module, default: [:]][method] = body
    noteNames(of: module)
  }

  /// Adds a module, in the place of one of the same name.
  mutating func set(_ module: String, _ methods: [String: ModuleMethod]?) {
    modules[module] = methods
    noteNames(of: module)
  }

  private mutating func noteNames(of module: String) {
    names[module] = modules[module].map { .array($0.keys.sorted().map { .string($0) }) }
  }
}

/// Components by type, with their methods.
struct ComponentTable: Sendable {
  private(set) var methods: [String: [String: ModuleMethod]] = [:]
  /// The names of each component's methods, as frameworks are told of them.
  private(set) var names: [String: ScriptValue] = [:]

  /// Returns `true` if the type is built in or was registered.
  func has(_ type: String) -> Bool { names[type] != nil || DefaultComponents.typesKnown.contains(type) }

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
