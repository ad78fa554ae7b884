import CJavaScriptCore

extension ScriptContext {
  /// Makes a promise for a script, and the means to settle it once, on the group's thread.
  package func makePending() throws -> (promise: ScriptReference, pending: PendingPromise) {
    let (promise, resolve, reject) = try makePromise()
    return (promise, PendingPromise(resolve: resolve, reject: reject))
  }

  private func makePromise() throws -> (promise: ScriptReference, resolve: ScriptReference, reject: ScriptReference) {
    var resolve: JSObjectRef?
    var reject: JSObjectRef?
    var thrown: JSValueRef?
    let promise = JSObjectMakeDeferredPromise(raw, &resolve, &reject, &thrown)
    try rethrow(thrown)
    guard let promise, let resolve, let reject else { throw ScriptError.engine("no promise can be made") }
    return (
      ScriptReference(promise, in: self), ScriptReference(resolve, in: self), ScriptReference(reject, in: self)
    )
  }

  /// Makes a function that returns a promise of its result. Its work is cancelled with the context.
  package func makeAsyncFunction<each Argument: ScriptConvertible & Sendable, Result: ScriptConvertible & Sendable>(
    named name: String, in group: ScriptGroup,
    _ body: @escaping @Sendable (repeat each Argument) async throws -> Result
  ) -> ScriptReference {
    makeFunction(named: name) { context, arguments in
      var index = 0
      let values = (repeat try arguments.next(&index, (each Argument).self))
      let (promise, pending) = try context.makePending()
      let ticket = context.hold(pending)
      guard let id = context.id else { throw ScriptError.closed }
      let work = Task { [weak group] in
        let result: Swift.Result<ScriptValue, any Error>
        do {
          result = .success(try await body(repeat each values).scriptValue)
        } catch {
          result = .failure(error)
        }
        await group?.settle(id, ticket, result)
      }
      context.work[ticket] = work
      return promise
    }
  }
}

/// A promise of a script that is not settled yet.
package final class PendingPromise {
  private let resolve: ScriptReference
  private let reject: ScriptReference

  init(resolve: ScriptReference, reject: ScriptReference) {
    self.resolve = resolve
    self.reject = reject
  }

  /// Resolves or rejects the promise.
  ///
  /// - Throws: ``ScriptError`` if a function that waits for it fails.
  package func settle(_ result: Swift.Result<ScriptValue, any Error>) throws {
    switch result {
    case .success(let value): try resolve.call([resolve.context.reference(to: value)])
    case .failure(let error):
      let context = reject.context
      try reject.call([ScriptReference(context.makeError("\(error)"), in: context)])
    }
  }
}

extension ScriptGroup {
  fileprivate func settle(
    _ id: ContextID, _ ticket: Int, _ result: Swift.Result<ScriptValue, any Error>
  ) async {
    // A context that was closed waits for nothing.
    try? await perform { group in
      guard let pending = try group.context(id).release(ticket) else { return }
      try pending.settle(result)
    }
  }

  /// Waits for a promise and returns its result; returns other values at once.
  ///
  /// - Throws: ``ScriptError/exception(_:)`` if it is rejected; ``ScriptError/closed`` if its context is closed before.
  package func settled(
    _ make: @Sendable (isolated ScriptGroup) throws -> ScriptReference
  ) async throws -> ScriptValue {
    let reference = try limiter.entering { try make(self) }
    guard reference.isThenable else { return try reference.value() }
    let context = reference.context
    return try await withCheckedThrowingContinuation { continuation in
      let waiter = context.wait(continuation)
      do {
        let onValue = context.makeFunction(named: "resolved") { context, arguments in
          context.finish(waiter, Swift.Result { try arguments.first?.value() ?? .undefined })
          return context.undefined
        }
        let onError = context.makeFunction(named: "rejected") { context, arguments in
          let exception =
            arguments.first.map { context.exception($0.raw) } ?? ScriptException(message: "the promise was rejected")
          context.finish(waiter, .failure(ScriptError.exception(exception)))
          return context.undefined
        }
        _ = try limiter.entering { try reference.invoke("then", [onValue, onError]) }
      } catch {
        context.finish(waiter, .failure(error))
      }
    }
  }
}
