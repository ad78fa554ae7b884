import CJavaScriptCore
import Foundation

/// A global object and its values. Only for the group's thread.
package final class ScriptContext {
  let raw: JSGlobalContextRef
  let limiter: ScriptLimiter
  /// The context's id, for other threads.
  package let id: Int
  /// An object of the owner, for native functions.
  package var attachment: AnyObject?
  /// Called when the context closes. It lets go of the references to values that the attachment has: native functions hold
  /// the attachment, and a reference holds the context, which would hold the functions.
  package var onClose: (() -> Void)?

  init(_ id: Int, in group: JSContextGroupRef, named name: String, limiter: ScriptLimiter) throws {
    guard let raw = JSGlobalContextCreateInGroup(group, nil) else {
      throw ScriptError.engine("no context can be made")
    }
    self.raw = raw
    (self.id, self.limiter) = (id, limiter)
    name.withEngineString { JSGlobalContextSetName(raw, $0) }
  }

  deinit { JSGlobalContextRelease(raw) }

  /// The prototype of native functions, looked up once. A reference to it would own the context.
  private(set) lazy var functionPrototype: JSValueRef? = try? global["Function"]["prototype"].raw

  // MARK: Values

  /// The global object.
  package var global: ScriptReference { ScriptReference(JSContextGetGlobalObject(raw), in: self) }
  /// The value `undefined`.
  package var undefined: ScriptReference { ScriptReference(JSValueMakeUndefined(raw), in: self) }

  /// Brings plain data into the context.
  package func reference(to value: ScriptValue) -> ScriptReference {
    ScriptReference(write(value), in: self)
  }

  /// Reads JSON as the engine's `JSON.parse` does: members keep their order. Returns `nil` if the text is not JSON.
  package func reference(parsing json: String) -> ScriptReference? {
    json.withEngineString { JSValueMakeFromJSONString(raw, $0) }.map { ScriptReference($0, in: self) }
  }

  /// The value as one of this context; both contexts must be of one group.
  package func adopting(_ reference: ScriptReference) -> ScriptReference { ScriptReference(reference.raw, in: self) }

  // MARK: Running

  /// Runs a script.
  ///
  /// - Parameters:
  ///   - url: the script's name in errors.
  /// - Throws: ``ScriptError``.
  @discardableResult
  package func evaluate(_ source: String, url: String? = nil) throws -> ScriptReference {
    try evaluate(ScriptSource(source), url: url)
  }

  /// Runs a script.
  ///
  /// - Parameters:
  ///   - url: the script's name in errors.
  /// - Throws: ``ScriptError``.
  @discardableResult
  package func evaluate(_ source: ScriptSource, url: String? = nil) throws -> ScriptReference {
    var thrown: JSValueRef?
    let result = (url ?? "").withEngineString {
      JSEvaluateScript(raw, source.raw, nil, url == nil ? nil : $0, 1, &thrown)
    }
    do {
      try rethrow(thrown)
    } catch ScriptError.exception(let exception) where exception.stack == nil && exception.column == nil {
      throw ScriptError.exception(located(exception, in: source.text, url: url))
    }
    return result.map { ScriptReference($0, in: self) } ?? undefined
  }

  /// Collects garbage before it returns; `JSGarbageCollect` only schedules it.
  package func collectGarbage() { JSSynchronousGarbageCollectForDebugging(raw) }

  /// Sets whether scripts may make code of text with `eval` and `Function`.
  package func setEvalAllowed(_ isAllowed: Bool) {
    "code may not be made of text here".withEngineString { JSGlobalContextSetEvalEnabled(raw, isAllowed, $0) }
  }

  /// Makes a handler of rejected promises, for ``onUnhandledRejection(_:)``.
  package func makeRejectionHandler(_ report: @escaping (ScriptException) -> Void) -> ScriptReference {
    makeFunction(named: "unhandledRejection") { context, arguments in
      if arguments.count > 1 { report(context.exception(arguments[1].raw)) }
      return context.undefined
    }
  }

  /// Sets the handler of rejected promises that the script does not handle.
  ///
  /// - Parameter handler: a handler of this context, or of another one of the group. The engine frees neither the handler
  ///   nor the handler's context before the group: a context that is closed before gets the handler of one that is not.
  package func onUnhandledRejection(_ handler: ScriptReference) {
    if let object = handler.object { JSGlobalContextSetUnhandledRejectionCallback(raw, object, nil) }
  }

  /// Releases the owner's references to values of the context.
  func close() {
    onClose?()
    (attachment, onClose) = (nil, nil)
  }

  // MARK: Errors

  func rethrow(_ thrown: JSValueRef?) throws {
    // A script that is stopped in a promise's continuation throws nothing.
    if let stopped = limiter.reason { throw stopped }
    guard let thrown else { return }
    throw ScriptError.exception(exception(thrown))
  }

  /// The exception of a thrown value.
  func exception(_ thrown: JSValueRef) -> ScriptException {
    let reference = ScriptReference(thrown, in: self)
    guard reference.isObject else { return ScriptException(message: reference.text.shortened) }
    func member(_ name: String) -> ScriptReference? { (try? reference[name]).flatMap { $0.isUndefined ? nil : $0 } }
    func number(_ name: String) -> Int? {
      member(name).map { JSValueToNumber(raw, $0.raw, nil) }.flatMap { Int(exactly: $0) }
    }
    let text = reference.description
    return ScriptException(
      message: text.isEmpty ? "an object was thrown" : text.shortened, url: member("sourceURL")?.text.shortened,
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
  /// The text within a limit. A longer one is cut between two characters of Unicode, and ends with `…`.
  ///
  /// - Parameter limit: the largest number of bytes of UTF-8, with those of the mark; at least 3.
  package func cut(toBytes limit: Int) -> String {
    let mark = "…"
    guard utf8.count > limit else { return self }
    var end = utf8.index(startIndex, offsetBy: max(0, limit - mark.utf8.count))
    while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
    return self[..<end] + mark
  }

  /// The text of an exception within its limit: what a script throws may be of any length.
  fileprivate var shortened: String { cut(toBytes: 10_000) }
}

/// The text of a script, and the engine's copy of it: evaluations share the copy. Only for the group's thread.
package final class ScriptSource {
  package let text: String
  let raw: JSStringRef

  package init(_ text: String) {
    self.text = text
    raw = text.makeEngineString()
  }

  deinit { JSStringRelease(raw) }
}

extension String {
  /// Lends the engine a copy of the text. It lives until `body` returns.
  func withEngineString<Result>(_ body: (JSStringRef) throws -> Result) rethrows -> Result {
    let string = makeEngineString()
    defer { JSStringRelease(string) }
    return try body(string)
  }

  /// Makes a copy of the text for the engine. The caller releases it.
  func makeEngineString() -> JSStringRef {
    // The engine reads up to a zero byte.
    let plain = withCString { strlen($0) == utf8.count ? JSStringCreateWithUTF8CString($0) : nil }
    return plain ?? Self.engineString(utf16: Array(utf16))
  }

  private static func engineString(utf16 units: [UInt16]) -> JSStringRef {
    units.withUnsafeBufferPointer { JSStringCreateWithCharacters($0.baseAddress, $0.count) }
  }

  /// Takes over a string that a copying function of the engine returned.
  init(consuming string: JSStringRef) {
    defer { JSStringRelease(string) }
    let characters = UnsafeBufferPointer(
      start: JSStringGetCharactersPtr(string), count: JSStringGetLength(string))
    self = String(decoding: characters, as: UTF16.self)
  }
}
