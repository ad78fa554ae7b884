import ScriptEngine

/// Scripts that give every page something: a service's file calls `service.register(name, {create, refresh, destroy})`.
struct ServiceTable: Sendable {
  /// In the order in which they were registered.
  private(set) var services: [(name: String, source: String)] = []

  /// Adds a service, in the place of one of the same name.
  mutating func set(_ name: String, source: String) {
    services.removeAll { $0.name == name }
    services.append((name, source))
  }
}

extension FrameworkGroup {
  /// Runs services' scripts in the framework's context; those that are there already stay as they are. One that fails
  /// is left out; pages open without it.
  ///
  /// - Returns: what failed, by the service's name.
  func register(_ services: ServiceTable) async throws -> [ScriptException] {
    try await group.perform { [framework] group in
      let home = try group.context(framework)
      let state = try FrameworkState.of(home)
      for (name, source) in state.services
      where !services.services.contains(where: { $0.name == name && $0.source == source }) {
        try home.global.invoke("unregisterService", [home.reference(to: .string(name))])
        state.services[name] = nil
      }
      var failures: [ScriptException] = []
      for (name, source) in services.services where state.services[name] == nil {
        state.services[name] = source
        do {
          try home.evaluate(Self.wrapped(source), url: "service \(name)")
        } catch let error as ScriptError {
          failures.append(ScriptException(message: "service \(name): \(error)"))
        }
      }
      return failures
    }
  }

  /// In a function of its own: names of one service are not those of another. On one line, so that lines count as in
  /// the file.
  private static func wrapped(_ source: String) -> String {
    "(function (service) { \(source)\n})({ register: function (name, options) { registerService(name, options) }, "
      + "unregister: function (name) { unregisterService(name) } })"
  }
}
