import ScriptEngine

/// Components that have methods, with what they do.
struct ComponentTable: Sendable {
  private(set) var methods: [String: [String: ModuleMethod]] = [:]
  /// What frameworks are told of: the methods of each component.
  private(set) var names: [String: ScriptValue] = [:]

  /// Whether the type is one of those that every page may use, or was registered.
  func has(_ type: String) -> Bool { names[type] != nil || DefaultComponents.typesKnown.contains(type) }

  subscript(type: String, method: String) -> ModuleMethod? { methods[type]?[method] }

  mutating func add(_ type: String, methods added: [String: ModuleMethod] = [:]) {
    methods[type, default: [:]].merge(added) { $1 }
    names[type] = .array((methods[type] ?? [:]).keys.sorted().map { .string($0) })
  }

  /// As `registerComponents` takes them.
  var descriptions: ScriptValue {
    .array(names.sorted { $0.key < $1.key }.map { ["type": .string($0), "methods": $1] })
  }
}
