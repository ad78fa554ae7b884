import Foundation
import ScriptEngine

/// A call of a method of a module or a component that has not ended.
struct PageCall {
  let task: Task<Void, Never>
  /// `true` if the call is an HTTP request.
  let isRequest: Bool
}

extension PageInstance {
  func dispatch(_ deferred: EntryOutcome.DeferredCall) {
    let call = deferred.call
    guard let method = registry.method(of: call, in: tree) else {
      let type = call.ref.flatMap { tree[$0]?.type }
      note(type.map { .method(of: $0, call.method) } ?? registry.modules.missing(call.module, call.method))
      return
    }
    let key = UUID()
    let id = id
    let task = Task { @PageActor [weak self] in
      guard let self else { return }
      defer { self.calls[key] = nil }
      do {
        switch method {
        // Of a component: its script has gone on without the result.
        case .immediate(let body): _ = try body(call, self.configuration)
        case .deferred(_, let body): try await body(call, self)
        case .promised(let body):
          let result: Result<ScriptValue, any Error>
          do {
            result = .success(try await body(call, self))
          } catch {
            result = .failure(error)
          }
          guard let ticket = deferred.ticket else { return _ = try result.get() }
          try await self.enter { try await $0.settle(id, ticket, result) }
        }
      } catch {
        if error is CancellationError || Task.isCancelled { return }
        self.report(ScriptException(message: "\(self.name(of: call)): \(error)"))
      }
    }
    calls[key] = PageCall(task: task, isRequest: call.ref == nil && call.module == "stream")
  }

  /// The call's name: `module.method` or `component.method`.
  private func name(of call: ModuleCall) -> String {
    "\(call.ref.map { tree[$0]?.type ?? "element \($0)" } ?? call.module).\(call.method)"
  }
}
