import CJavaScriptCore

/// One global object with what belongs to it. Only for the group's thread.
package final class ScriptContext {
  let raw: JSGlobalContextRef
  let limiter: ScriptLimiter
  /// Its name for other threads.
  package internal(set) var id: ScriptGroup.ContextID?
  /// Something of the owner's that functions called by the script need.
  package var attachment: AnyObject?
  /// Work that promises of the script's wait for.
  var work: [Int: Task<Void, Never>] = [:]
  private var pending: [Int: PendingPromise] = [:]
  private var waiters: [Int: CheckedContinuation<ScriptValue, any Error>] = [:]
  private var lastTicket = 0

  init(in group: JSContextGroupRef, named name: String, limiter: ScriptLimiter) throws {
    guard let raw = JSGlobalContextCreateInGroup(group, nil) else {
      throw ScriptError.engine("no context can be made")
    }
    self.raw = raw
    self.limiter = limiter
    name.withEngineString { JSGlobalContextSetName(raw, $0) }
  }

  deinit { JSGlobalContextRelease(raw) }

  /// Of the functions we make; looked up once. Unowned by a reference, which would own the context.
  private(set) lazy var functionPrototype: JSValueRef? = try? global["Function"]["prototype"].raw

  // MARK: Values

  package var global: ScriptReference { ScriptReference(JSContextGetGlobalObject(raw), in: self) }
  package var undefined: ScriptReference { ScriptReference(JSValueMakeUndefined(raw), in: self) }

  package func reference(to value: ScriptValue) -> ScriptReference {
    ScriptReference(ValueWriter(self).write(value), in: self)
  }

  /// The same value seen from this context; both must be of one group.
  package func adopting(_ reference: ScriptReference) -> ScriptReference { ScriptReference(reference.raw, in: self) }

  // MARK: Running

  /// Runs a script.
  ///
  /// - Parameters:
  ///   - url: what errors call it.
  /// - Throws: ``ScriptError``.
  @discardableResult
  package func evaluate(_ source: String, url: String? = nil) throws -> ScriptReference {
    var thrown: JSValueRef?
    let result = source.withEngineString { script in
      (url ?? "").withEngineString { JSEvaluateScript(raw, script, nil, url == nil ? nil : $0, 1, &thrown) }
    }
    do {
      try rethrow(thrown)
    } catch ScriptError.exception(let exception) where exception.stack == nil && exception.column == nil {
      throw ScriptError.exception(SyntaxCheck(self, source, url: url).located(exception))
    }
    return result.map { ScriptReference($0, in: self) } ?? undefined
  }

  /// Frees what nothing refers to before it returns; `JSGarbageCollect` only asks for it.
  package func collectGarbage() { JSSynchronousGarbageCollectForDebugging(raw) }

  /// Whether scripts may make code of text with `eval` and `Function`.
  package func setEvalAllowed(_ isAllowed: Bool) {
    "code may not be made of text here".withEngineString { JSGlobalContextSetEvalEnabled(raw, isAllowed, $0) }
  }

  /// What to do with promises that are rejected and never looked at.
  ///
  /// - Parameter home: a context of the same group that outlives this one. The engine never lets go of the function, nor
  ///   that of the context it is from: without one, this context's memory is free only when its group ends.
  package func onUnhandledRejection(from home: ScriptContext? = nil, _ report: @escaping (ScriptException) -> Void) {
    let function = (home ?? self).makeFunction(named: "unhandledRejection") { context, arguments in
      if arguments.count > 1 { report(context.exception(arguments[1].raw)) }
      return context.undefined
    }
    if let object = function.object { JSGlobalContextSetUnhandledRejectionCallback(raw, object, nil) }
  }

  // MARK: Promises

  func hold(_ promise: PendingPromise) -> Int {
    lastTicket += 1
    pending[lastTicket] = promise
    return lastTicket
  }

  func release(_ ticket: Int) -> PendingPromise? {
    work[ticket] = nil
    return pending.removeValue(forKey: ticket)
  }

  func wait(_ continuation: CheckedContinuation<ScriptValue, any Error>) -> Int {
    lastTicket += 1
    waiters[lastTicket] = continuation
    return lastTicket
  }

  /// How many wait for promises of its.
  var waiterCount: Int { waiters.count }

  func finish(_ waiter: Int, _ result: Swift.Result<ScriptValue, any Error>) {
    waiters.removeValue(forKey: waiter)?.resume(with: result)
  }

  /// Nobody waits for anything any more.
  func close() {
    for task in work.values { task.cancel() }
    work = [:]
    pending = [:]
    for waiter in waiters.values { waiter.resume(throwing: ScriptError.closed) }
    waiters = [:]
    attachment = nil
  }

  // MARK: Errors

  func rethrow(_ thrown: JSValueRef?) throws {
    // What is stopped in a promise's continuation throws nothing.
    if let stopped = limiter.reason { throw stopped }
    guard let thrown else { return }
    throw ScriptError.exception(exception(thrown))
  }

  /// What was thrown, in words.
  func exception(_ thrown: JSValueRef) -> ScriptException {
    let reference = ScriptReference(thrown, in: self)
    guard reference.isObject else { return ScriptException(message: reference.text.shortened) }
    func member(_ name: String) -> ScriptReference? { (try? reference[name]).flatMap { $0.isUndefined ? nil : $0 } }
    func number(_ name: String) -> Int? {
      member(name).map { JSValueToNumber(raw, $0.raw, nil) }.flatMap { Int(exactly: $0) }
    }
    let text = reference.description
    return ScriptException(
      message: text.isEmpty ? "an object was thrown" : text.shortened, url: member("sourceURL")?.text,
      line: number("line"),
      column: number("column"), stack: member("stack")?.text.shortened)
  }

  /// An error object with this message.
  func makeError(_ message: String) -> JSValueRef {
    let text = message.withEngineString { JSValueMakeString(raw, $0) }
    var arguments: [JSValueRef?] = [text]
    return JSObjectMakeError(raw, 1, &arguments, nil) ?? JSValueMakeUndefined(raw)
  }
}

extension String {
  /// As much as anybody reads of what a script throws.
  fileprivate var shortened: String { utf8.count <= 10_000 ? self : prefix(10_000) + "…" }
}
