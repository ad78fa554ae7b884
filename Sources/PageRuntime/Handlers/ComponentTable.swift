import ScriptEngine

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
