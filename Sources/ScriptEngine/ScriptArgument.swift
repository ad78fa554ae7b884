import CJavaScriptCore

/// What a script gave a function of ours; good until that returns. Only for the group's thread.
package struct ScriptArgument {
  let raw: JSValueRef
  let context: ScriptContext

  /// To be kept beyond the call.
  package var reference: ScriptReference { ScriptReference(raw, in: context) }

  /// As ``ScriptReference/value()``.
  ///
  /// - Throws: ``ScriptError/notPlainData(_:)``, ``ScriptError/exception(_:)`` where a getter throws.
  package func value() throws -> ScriptValue { try ValueReader(context).read(raw) }

  /// What JSON keeps of it, several times as fast for objects: no binary data, and nothing for what is undefined.
  ///
  /// - Throws: ``ScriptError/notPlainData(_:)``, ``ScriptError/exception(_:)`` where it refers to itself.
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
