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
}
