import CJavaScriptCore

/// Reads JavaScript values as plain data.
struct ValueReader {
  private let context: ScriptContext
  private var raw: JSContextRef { context.raw }

  /// The largest depth. A deeper value refers to itself, or is an attack.
  private static let depthLimit = 512
  private static let elementLimit = 4_000_000

  init(_ context: ScriptContext) { self.context = context }

  func read(_ value: JSValueRef) throws -> ScriptValue {
    var budget = Self.elementLimit
    return try read(value, depth: 0, &budget)
  }

  private func read(_ value: JSValueRef, depth: Int, _ budget: inout Int) throws -> ScriptValue {
    switch JSValueGetType(raw, value) {
    case kJSTypeNull: return .null
    case kJSTypeBoolean: return .bool(JSValueToBoolean(raw, value))
    case kJSTypeNumber: return .number(JSValueToNumber(raw, value, nil))
    case kJSTypeString: return .string(string(value))
    case kJSTypeObject:
      budget -= 1
      guard depth < Self.depthLimit else { throw ScriptError.notPlainData("it is nested too deeply") }
      guard budget > 0 else { throw ScriptError.notPlainData("it has too many members") }
      return try readObject(value, value, depth: depth, &budget)
    default: return .undefined
    }
  }

  private func readObject(_ object: JSObjectRef, _ value: JSValueRef, depth: Int, _ budget: inout Int) throws
    -> ScriptValue
  {
    if JSObjectIsFunction(raw, object) { return .undefined }
    if JSValueIsArray(raw, value) { return try readArray(object, depth: depth, &budget) }
    if JSValueIsDate(raw, value) { return try isoText(object).map { .string($0) } ?? .null }
    if let data = data(object, value) { return .data(data) }
    guard let names = JSObjectCopyPropertyNames(raw, object) else { return .object([:]) }
    defer { JSPropertyNameArrayRelease(names) }
    var members: [String: ScriptValue] = [:]
    for index in 0..<JSPropertyNameArrayGetCount(names) {
      guard let name = JSPropertyNameArrayGetNameAtIndex(names, index) else { continue }
      var thrown: JSValueRef?
      let member = JSObjectGetProperty(raw, object, name, &thrown)
      try context.rethrow(thrown)
      if let member { members[String(consuming: JSStringRetain(name))] = try read(member, depth: depth + 1, &budget) }
    }
    return .object(members)
  }

  private func readArray(_ array: JSObjectRef, depth: Int, _ budget: inout Int) throws -> ScriptValue {
    var thrown: JSValueRef?
    let lengthValue = "length".withEngineString { JSObjectGetProperty(raw, array, $0, &thrown) }
    try context.rethrow(thrown)
    let length = lengthValue.map { JSValueToNumber(raw, $0, nil) } ?? 0
    guard length >= 0, length < Double(budget) else { throw ScriptError.notPlainData("it has too many elements") }
    var elements: [ScriptValue] = []
    for index in 0..<UInt32(length) {
      let element = JSObjectGetPropertyAtIndex(raw, array, index, &thrown)
      try context.rethrow(thrown)
      budget -= 1
      elements.append(try element.map { try read($0, depth: depth + 1, &budget) } ?? .undefined)
    }
    return .array(elements)
  }

  private func string(_ value: JSValueRef) -> String {
    JSValueToStringCopy(raw, value, nil).map { String(consuming: $0) } ?? ""
  }

  /// The date as in JSON; `nil` for an invalid date.
  private func isoText(_ date: JSObjectRef) throws -> String? {
    var thrown: JSValueRef?
    guard let text = JSValueCreateJSONString(raw, date, 0, &thrown) else { return nil }
    return String(consuming: text).unquoted
  }

  private func data(_ object: JSObjectRef, _ value: JSValueRef) -> [UInt8]? {
    switch JSValueGetTypedArrayType(raw, value, nil) {
    case kJSTypedArrayTypeNone: return nil
    case kJSTypedArrayTypeArrayBuffer:
      return bytes(
        JSObjectGetArrayBufferBytesPtr(raw, object, nil), 0, JSObjectGetArrayBufferByteLength(raw, object, nil))
    default:
      return bytes(
        JSObjectGetTypedArrayBytesPtr(raw, object, nil), JSObjectGetTypedArrayByteOffset(raw, object, nil),
        JSObjectGetTypedArrayByteLength(raw, object, nil))
    }
  }

  private func bytes(_ start: UnsafeMutableRawPointer?, _ offset: Int, _ count: Int) -> [UInt8] {
    start.map { Array(UnsafeRawBufferPointer(start: $0 + offset, count: count)) } ?? []
  }
}

extension String {
  fileprivate var unquoted: String? {
    hasPrefix("\"") && hasSuffix("\"") && count > 1 ? String(dropFirst().dropLast()) : nil
  }
}
