import CJavaScriptCore

/// An argument of a native function, valid until the function returns. Only for the group's thread.
package struct ScriptArgument {
  let raw: JSValueRef
  let context: ScriptContext

  /// The argument as a reference, which may be kept after the call.
  package var reference: ScriptReference { ScriptReference(raw, in: context) }

  /// Returns the argument as plain data, as ``ScriptReference/value()`` does.
  ///
  /// - Throws: ``ScriptError/notPlainData(_:)``; ``ScriptError/exception(_:)`` if a getter throws.
  package func value() throws -> ScriptValue { try ValueReader(context).read(raw) }

  /// Returns the argument as JSON has it, several times as fast for objects: without binary data, and without members that
  /// are undefined.
  ///
  /// - Throws: ``ScriptError/notPlainData(_:)``; ``ScriptError/exception(_:)`` if it refers to itself.
  package func plainValue() throws -> ScriptValue {
    guard JSValueIsObject(context.raw, raw) else { return try value() }
    var thrown: JSValueRef?
    let text = JSValueCreateJSONString(context.raw, raw, 0, &thrown)
    try context.rethrow(thrown)
    guard let text else { return .undefined }
    defer { JSStringRelease(text) }
    return try PlainReader.read(text)
  }
}
