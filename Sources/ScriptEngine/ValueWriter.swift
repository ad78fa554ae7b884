import CJavaScriptCore

/// Makes JavaScript values of plain data.
struct ValueWriter {
  private let context: ScriptContext
  private var raw: JSContextRef { context.raw }

  init(_ context: ScriptContext) { self.context = context }

  func write(_ value: ScriptValue) -> JSValueRef {
    switch value {
    case .undefined: return JSValueMakeUndefined(raw)
    case .null: return JSValueMakeNull(raw)
    case .bool(let value): return JSValueMakeBoolean(raw, value)
    case .number(let value): return JSValueMakeNumber(raw, value)
    case .string(let text): return text.withEngineString { JSValueMakeString(raw, $0) }
    case .array(let elements): return array(elements)
    case .object(let members): return object(members)
    case .data(let bytes): return buffer(bytes) ?? JSValueMakeUndefined(raw)
    }
  }

  private func array(_ elements: [ScriptValue]) -> JSValueRef {
    // The array is protected and holds its elements, so that a collection frees none of them.
    guard let array = JSObjectMakeArray(raw, 0, nil, nil) else { return JSValueMakeUndefined(raw) }
    JSValueProtect(raw, array)
    defer { JSValueUnprotect(raw, array) }
    for (index, element) in elements.enumerated() {
      JSObjectSetPropertyAtIndex(raw, array, UInt32(index), write(element), nil)
    }
    return array
  }

  private func object(_ members: [String: ScriptValue]) -> JSValueRef {
    guard let object = JSObjectMake(raw, nil, nil) else { return JSValueMakeUndefined(raw) }
    JSValueProtect(raw, object)
    defer { JSValueUnprotect(raw, object) }
    for (name, member) in members.sorted(by: { $0.key < $1.key }) {
      let value = write(member)
      if Self.inherited.contains(name) {
        define(name, of: object, value)
      } else {
        name.withEngineString {
          JSObjectSetProperty(raw, object, $0, value, JSPropertyAttributes(kJSPropertyAttributeNone), nil)
        }
      }
    }
    return object
  }

  /// Names that every object inherits: setting them could change its prototype, or fail.
  private static let inherited: Set<String> = [
    "__proto__", "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString",
    "valueOf", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__",
  ]

  private func define(_ name: String, of object: JSObjectRef, _ value: JSValueRef) {
    guard let function = try? context.global["Object"]["defineProperty"],
      let descriptor = JSObjectMake(raw, nil, nil)
    else { return }
    let attributes = ScriptReference(descriptor, in: context)
    try? attributes.set("value", ScriptReference(value, in: context))
    for attribute in ["writable", "enumerable", "configurable"] { try? attributes.set(attribute, true) }
    _ = try? function.call([
      ScriptReference(object, in: context), context.reference(to: .string(name)), attributes,
    ])
  }

  private func buffer(_ bytes: [UInt8]) -> JSValueRef? {
    let copy = UnsafeMutableRawPointer.allocate(byteCount: max(1, bytes.count), alignment: 16)
    copy.copyMemory(from: bytes, byteCount: bytes.count)
    return JSObjectMakeArrayBufferWithBytesNoCopy(raw, copy, bytes.count, { bytes, _ in bytes?.deallocate() }, nil, nil)
  }
}
