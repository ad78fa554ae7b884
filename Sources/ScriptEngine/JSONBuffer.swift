import CJavaScriptCore

/// An object of a script in whose member `text` the script collects JSON for native code, so that much of it crosses at
/// once. Only for the group's thread.
package final class JSONBuffer {
  /// The object.
  package let object: ScriptReference
  private let empty: ScriptReference
  private let name: JSStringRef?

  /// Makes an empty buffer.
  package init(in context: ScriptContext) {
    object = context.reference(to: [:])
    empty = context.reference(to: "")
    name = "text".withEngineString { JSStringRetain($0) }
    clear()
  }

  deinit { if let name { JSStringRelease(name) } }

  private func clear() {
    JSObjectSetProperty(
      object.context.raw, object.raw, name, empty.raw, JSPropertyAttributes(kJSPropertyAttributeNone), nil)
  }

  /// Reads the text, if there is any, and empties the buffer. No script runs.
  ///
  /// - Throws: the errors of `body`.
  package func take(_ body: (inout JSONTextReader) throws -> Void) throws {
    let raw = object.context.raw
    guard let value = JSObjectGetProperty(raw, object.raw, name, nil), JSValueGetType(raw, value) == kJSTypeString,
      let text = JSValueToStringCopy(raw, value, nil)
    else { return }
    defer { JSStringRelease(text) }
    guard JSStringGetLength(text) > 0 else { return }
    clear()
    try JSONTextReader.read(text, body)
  }
}
