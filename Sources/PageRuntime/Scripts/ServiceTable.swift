import ScriptEngine
import Synchronization

/// The services: scripts that add something to every page. Each calls
/// `service.register(name, {create, refresh, destroy})`.
struct ServiceTable: Sendable {
  /// The services, in the order of their registration.
  private(set) var services: [(name: String, source: String)] = []

  /// Adds a service, in the place of one of the same name.
  mutating func set(_ name: String, source: String) {
    services.removeAll { $0.name == name }
    services.append((name, source))
  }
}

extension FrameworkGroup {
  /// Runs the scripts of new services in the framework's context, and removes services that are no longer registered. A
  /// service that fails is left out.
  ///
  /// - Returns: the errors, each with the service's name.
  func register(_ services: ServiceTable) async throws -> [ScriptException] {
    let isEmpty = services.services.isEmpty
    guard hasServices.exchange(!isEmpty, ordering: .relaxed) || !isEmpty else { return [] }
    return try await group.perform { [framework] group in
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

  /// Puts the script into a function, so that services do not share names. The function begins on the script's first line,
  /// so that lines count as in the file.
  private static func wrapped(_ source: String) -> String {
    "(function (service) { \(source)\n})({ register: function (name, options) { registerService(name, options) }, "
      + "unregister: function (name) { unregisterService(name) } })"
  }
}
