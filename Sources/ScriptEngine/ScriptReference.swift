import CJavaScriptCore

/// A JavaScript value that stays in its context; it keeps the value alive. Only for the group's thread.
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
  /// Whether it can be waited for.
  package var isThenable: Bool { isObject && ((try? self["then"].isFunction) ?? false) }

  var object: JSObjectRef? { isObject ? raw : nil }

  /// What it says, where it is an error: of any context's, given rather than thrown. Nil where it is none.
  package var errorGiven: ScriptException? {
    guard isObject, let describe = try? context.global["Object"]["prototype"]["toString"],
      let kind = try? describe.call([], this: self).text, kind == "[object Error]"
    else { return nil }
    return context.exception(raw)
  }

  // MARK: Members

  /// - Throws: ``ScriptError/exception(_:)`` where a getter throws.
  package subscript(name: String) -> ScriptReference {
    get throws {
      guard let object else { return context.undefined }
      var thrown: JSValueRef?
      let value = name.withEngineString { JSObjectGetProperty(context.raw, object, $0, &thrown) }
      try context.rethrow(thrown)
      return value.map { ScriptReference($0, in: context) } ?? context.undefined
    }
  }

  /// - Throws: ``ScriptError/exception(_:)`` where a setter throws, or the object takes no more.
  package func set(_ name: String, _ value: ScriptReference) throws {
    guard let object else { return }
    var thrown: JSValueRef?
    name.withEngineString {
      JSObjectSetProperty(context.raw, object, $0, value.raw, JSPropertyAttributes(kJSPropertyAttributeNone), &thrown)
    }
    try context.rethrow(thrown)
  }

  package func set(_ name: String, _ value: ScriptValue) throws { try set(name, context.reference(to: value)) }

  /// Names of its own and inherited properties that can be enumerated.
  package var propertyNames: [String] {
    guard let object, let names = JSObjectCopyPropertyNames(context.raw, object) else { return [] }
    defer { JSPropertyNameArrayRelease(names) }
    return (0..<JSPropertyNameArrayGetCount(names)).compactMap { index in
      JSPropertyNameArrayGetNameAtIndex(names, index).map { String(consuming: JSStringRetain($0)) }
    }
  }

  // MARK: Calls

  /// Calls it as a function.
  ///
  /// - Parameter this: the receiver; nil for the global object.
  /// - Throws: ``ScriptError``.
  @discardableResult
  package func call(_ arguments: [ScriptReference], this: ScriptReference? = nil) throws -> ScriptReference {
    guard let object, JSObjectIsFunction(context.raw, object) else {
      throw ScriptError.exception(ScriptException(message: "the value is no function"))
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

  /// Calls one of its methods.
  @discardableResult
  package func invoke(_ method: String, _ arguments: [ScriptReference]) throws -> ScriptReference {
    let function = try self[method]
    guard function.isFunction else {
      throw ScriptError.exception(ScriptException(message: "there is no function \(method)"))
    }
    return try function.call(arguments, this: self)
  }

  // MARK: Data

  /// What it is as plain data; functions become `undefined`.
  ///
  /// - Throws: ``ScriptError/notPlainData(_:)``, ``ScriptError/exception(_:)`` where a getter throws.
  package func value() throws -> ScriptValue { try ValueReader(context).read(raw) }

  /// As a person reads it: objects and arrays that say nothing of themselves with what is in them.
  package var description: String {
    let text = text
    guard isObject, !isFunction, text == "[object Object]" || JSValueIsArray(context.raw, raw) else { return text }
    var thrown: JSValueRef?
    if let json = JSValueCreateJSONString(context.raw, raw, 0, &thrown) { return String(consuming: json) }
    // It refers to itself, or a getter throws.
    let names = propertyNames
    return "an object with \(names.prefix(20).joined(separator: ", "))\(names.count > 20 ? ", …" : "")"
  }

  /// As JavaScript makes text of it; empty where it cannot.
  package var text: String {
    guard let string = JSValueToStringCopy(context.raw, raw, nil) else { return "" }
    return String(consuming: string)
  }
}
