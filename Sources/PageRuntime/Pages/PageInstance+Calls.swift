import Foundation
import ScriptEngine

extension PageInstance {
  func start(_ timer: EntryOutcome.Timer) {
    let id = id
    timers[timer.id] = Task { @PageActor [weak self] in
      repeat {
        do {
          try await Task.sleep(for: timer.delay)
          try await self?.enter { try await $0.fireTimer(id, timer.id) }
        } catch {
          return
        }
      } while timer.repeats && self != nil && !Task.isCancelled
      self?.timers[timer.id] = nil
    }
  }

  func dispatch(_ deferred: EntryOutcome.DeferredCall) {
    let call = deferred.call
    guard let method = registry.method(of: call, in: tree) else {
      let type = call.ref.flatMap { tree[$0]?.type } ?? call.module
      note(registry.modules.missing(type, call.method))
      return
    }
    let key = UUID()
    let id = id
    work[key] = Task { @PageActor [weak self] in
      guard let self else { return }
      defer { self.work[key] = nil }
      do {
        switch method {
        case .immediate: break
        case .deferred(_, let body): try await body(call, self)
        case .promised(let body):
          let result: Result<ScriptValue, any Error>
          do {
            result = .success(try await body(call, self))
          } catch {
            result = .failure(error)
          }
          if let ticket = deferred.ticket { try await self.enter { try await $0.settle(id, ticket, result) } }
        }
      } catch {
        if error is CancellationError || Task.isCancelled { return }
        self.report(ScriptException(message: "\(call.module).\(call.method): \(error)"))
      }
    }
  }
}
