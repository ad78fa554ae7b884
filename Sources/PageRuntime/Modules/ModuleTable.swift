import ScriptEngine

/// A method that scripts can call.
enum ModuleMethod: Sendable {
  /// Answers at once, on the script's thread: quick, and without waiting for anything.
  case immediate(@Sendable (ModuleCall) throws -> ScriptValue)
  /// Done after the script has let go of its thread; answers through callbacks. What the call gives at once is one of
  /// its own arguments: a callback's id, by which a timer is known.
  case deferred(returning: Int? = nil, @PageActor @Sendable (ModuleCall, PageInstance) async throws -> Void)
  /// The same; scripts get a promise of what it gives.
  case promised(@PageActor @Sendable (ModuleCall, PageInstance) async throws -> ScriptValue)
}

/// Modules by name, with their methods. A page keeps the table it started with.
struct ModuleTable: Sendable {
  private(set) var modules: [String: [String: ModuleMethod]] = [:]
  /// What frameworks are told of: the methods of each module.
  private(set) var names: [String: ScriptValue] = [:]

  subscript(module: String, method: String) -> ModuleMethod? { modules[module]?[method] }

  /// What is not there where a method is not.
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
