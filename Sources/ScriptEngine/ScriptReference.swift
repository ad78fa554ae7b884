import CJavaScriptCore

/// A reference to a JavaScript value in its context, which keeps the value alive. Only for the group's thread.
package final class ScriptReference {
  package let context: ScriptContext
  let raw: JSValueRef

  init(_ raw: JSValueRef, in context: ScriptContext) {
    self.raw = raw
    self.context = context
    JSValueProtect(context.raw, raw)
  }

  deinit { JSValueUnprotect(context.raw, raw) }

  // MARK: Kinds

  package var isUndefined: Bool { JSValueIsUndefined(context.raw, raw) }
  package var isObject: Bool { JSValueIsObject(context.raw, raw) }
  package var isFunction: Bool { object.map { JSObjectIsFunction(context.raw, $0) } ?? false }

  var object: JSObjectRef? { isObject ? raw : nil }

  /// The exception of an error object of any context, returned rather than thrown; `nil` for other values.
  package var errorGiven: ScriptException? {
    guard isObject, let describe = try? context.global["Object"]["prototype"]["toString"],
      let kind = try? describe.call([], this: self).text, kind == "[object Error]"
    else { return nil }
    return context.exception(raw)
  }

  // MARK: Members

  /// A member; `undefined` if there is none.
  ///
  /// - Throws: ``ScriptError/exception(_:)`` if a getter throws.
  package subscript(name: String) -> ScriptReference {
    get throws {
      guard let object else { return context.undefined }
      var thrown: JSValueRef?
      let value = name.withEngineString { JSObjectGetProperty(context.raw, object, $0, &thrown) }
      try context.rethrow(thrown)
      return value.map { ScriptReference($0, in: context) } ?? context.undefined
    }
  }

  /// Sets a member.
  ///
  /// - Throws: ``ScriptError/exception(_:)`` if a setter throws, or the object cannot be extended.
  package func set(_ name: String, _ value: ScriptReference) throws {
    guard let object else { return }
    var thrown: JSValueRef?
    name.withEngineString {
      JSObjectSetProperty(context.raw, object, $0, value.raw, JSPropertyAttributes(kJSPropertyAttributeNone), &thrown)
    }
    try context.rethrow(thrown)
  }

  package func set(_ name: String, _ value: ScriptValue) throws { try set(name, context.reference(to: value)) }

  /// The names of the enumerable properties, own and inherited.
  private var propertyNames: [String] {
    guard let object, let names = JSObjectCopyPropertyNames(context.raw, object) else { return [] }
    defer { JSPropertyNameArrayRelease(names) }
    return (0..<JSPropertyNameArrayGetCount(names)).compactMap { index in
      JSPropertyNameArrayGetNameAtIndex(names, index).map { String(consuming: JSStringRetain($0)) }
    }
  }

  // MARK: Calls

  /// Calls the value as a function.
  ///
  /// - Parameter this: the receiver; `nil` for the global object.
  /// - Throws: ``ScriptError``.
  @discardableResult
  package func call(_ arguments: [ScriptReference], this: ScriptReference? = nil) throws -> ScriptReference {
    guard let object, JSObjectIsFunction(context.raw, object) else {
      throw ScriptError.exception(ScriptException(message: "the value is not a function"))
    }
    var thrown: JSValueRef?
    let values = arguments.map { Optional($0.raw) }
    let result = withExtendedLifetime(arguments) {
      JSObjectCallAsFunction(context.raw, object, this?.object, values.count, values, &thrown)
    }
    try context.rethrow(thrown)
    return result.map { ScriptReference($0, in: context) } ?? context.undefined
  }

  @discardableResult
  package func call(_ arguments: ScriptValue...) throws -> ScriptReference {
    try call(arguments.map { context.reference(to: $0) })
  }

  /// Calls a method of the object.
  @discardableResult
  package func invoke(_ method: String, _ arguments: [ScriptReference]) throws -> ScriptReference {
    let function = try self[method]
    guard function.isFunction else {
      throw ScriptError.exception(ScriptException(message: "there is no function \(method)"))
    }
    return try function.call(arguments, this: self)
  }

  // MARK: Data

  /// Returns the value as plain data; functions become `undefined`.
  ///
  /// - Throws: ``ScriptError/notPlainData(_:)``; ``ScriptError/exception(_:)`` if a getter throws.
  package func value() throws -> ScriptValue { try context.read(raw) }

  /// The value for a person to read: objects without a text of their own, and arrays, as JSON.
  package var description: String {
    let text = text
    guard isObject, !isFunction, text == "[object Object]" || JSValueIsArray(context.raw, raw) else { return text }
    var thrown: JSValueRef?
    if let json = JSValueCreateJSONString(context.raw, raw, 0, &thrown) { return String(consuming: json) }
    // It refers to itself, or a getter throws.
    let names = propertyNames
    return "an object with \(names.prefix(20).joined(separator: ", "))\(names.count > 20 ? ", …" : "")"
  }

  /// The value as JavaScript converts it to a string; empty if it cannot.
  package var text: String {
    guard let string = JSValueToStringCopy(context.raw, raw, nil) else { return "" }
    return String(consuming: string)
  }
}

// MARK: - Promises

extension ScriptContext {
  /// Makes a promise for a script.
  ///
  /// - Returns: the promise, and a function that resolves or rejects it once, on the group's thread. The function throws
  ///   ``ScriptError`` if one that waits for the promise fails.
  package func makePromise() throws -> (
    promise: ScriptReference, settle: (Result<ScriptValue, any Error>) throws -> Void
  ) {
    var resolve: JSObjectRef?
    var reject: JSObjectRef?
    var thrown: JSValueRef?
    let promise = JSObjectMakeDeferredPromise(raw, &resolve, &reject, &thrown)
    try rethrow(thrown)
    guard let promise, let resolve, let reject else { throw ScriptError.engine("no promise can be made") }
    let (onValue, onError) = (ScriptReference(resolve, in: self), ScriptReference(reject, in: self))
    return (
      ScriptReference(promise, in: self),
      { result in
        switch result {
        case .success(let value): try onValue.call([onValue.context.reference(to: value)])
        case .failure(let error):
          let context = onError.context
          try onError.call([ScriptReference(context.makeError("\(error)"), in: context)])
        }
      }
    )
  }
}
