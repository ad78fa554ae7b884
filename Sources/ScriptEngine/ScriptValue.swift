import CJavaScriptCore

/// A JavaScript value as plain data, for arguments and results of modules, attributes of elements and events.
///
///     let item: ScriptValue = ["name": "Milk", "prices": [1.2, 1.5], "note": nil]
///     print(item["name"].string ?? "", item["prices"][0].number ?? 0, item["note"].isNothing)
public enum ScriptValue: Hashable, Sendable {
  /// `undefined`, and a function.
  case undefined
  /// `null`.
  case null
  /// A boolean.
  case bool(Bool)
  /// A number.
  case number(Double)
  /// A string. A date is a string too, as in JSON.
  case string(String)
  /// An array.
  case array([ScriptValue])
  /// An object, with its enumerable properties.
  case object([String: ScriptValue])
  /// The bytes of an `ArrayBuffer` or of a typed array.
  case data([UInt8])

  /// `true` for `undefined` and `null`.
  public var isNothing: Bool { self == .undefined || self == .null }

  /// The text of a string; `nil` for other values.
  public var string: String? { if case .string(let value) = self { value } else { nil } }
  /// The value of a number; `nil` for other values.
  public var number: Double? { if case .number(let value) = self { value } else { nil } }
  /// The value of a boolean; `nil` for other values.
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  /// The elements of an array; `nil` for other values.
  public var array: [ScriptValue]? { if case .array(let value) = self { value } else { nil } }
  /// The members of an object; `nil` for other values.
  public var object: [String: ScriptValue]? { if case .object(let value) = self { value } else { nil } }

  /// The value of a whole number in the range of `Int`; `nil` for other values.
  public var int: Int? { number.flatMap { Int(exactly: $0) } }

  /// A member of an object; ``undefined`` if there is none.
  public subscript(name: String) -> ScriptValue { object?[name] ?? .undefined }
  /// An element of an array; ``undefined`` if there is none.
  public subscript(index: Int) -> ScriptValue {
    guard let array, array.indices.contains(index) else { return .undefined }
    return array[index]
  }
}

extension ScriptValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
  /// A string.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A boolean.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// A number.
  public init(integerLiteral value: Int) { self = .number(Double(value)) }
  /// A number.
  public init(floatLiteral value: Double) { self = .number(value) }
  /// An array.
  public init(arrayLiteral elements: ScriptValue...) { self = .array(elements) }
  /// An object. The last of equal names counts.
  public init(dictionaryLiteral elements: (String, ScriptValue)...) {
    self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
  }
  /// `null`.
  public init(nilLiteral: ()) { self = .null }
}

// MARK: - Reading

extension ScriptContext {
  /// The largest depth. A deeper value refers to itself, or is an attack.
  private static let depthLimit = 512
  private static let elementLimit = 4_000_000

  /// Reads a value as plain data.
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
      try rethrow(thrown)
      if let member { members[String(consuming: JSStringRetain(name))] = try read(member, depth: depth + 1, &budget) }
    }
    return .object(members)
  }

  private func readArray(_ array: JSObjectRef, depth: Int, _ budget: inout Int) throws -> ScriptValue {
    var thrown: JSValueRef?
    let lengthValue = "length".withEngineString { JSObjectGetProperty(raw, array, $0, &thrown) }
    try rethrow(thrown)
    let length = lengthValue.map { JSValueToNumber(raw, $0, nil) } ?? 0
    guard length >= 0, length < Double(budget) else { throw ScriptError.notPlainData("it has too many elements") }
    var elements: [ScriptValue] = []
    for index in 0..<UInt32(length) {
      let element = JSObjectGetPropertyAtIndex(raw, array, index, &thrown)
      try rethrow(thrown)
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

// MARK: - Writing

extension ScriptContext {
  /// Makes a value of plain data.
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
    guard let function = try? global["Object"]["defineProperty"],
      let descriptor = JSObjectMake(raw, nil, nil)
    else { return }
    let attributes = ScriptReference(descriptor, in: self)
    try? attributes.set("value", ScriptReference(value, in: self))
    for attribute in ["writable", "enumerable", "configurable"] { try? attributes.set(attribute, true) }
    _ = try? function.call([
      ScriptReference(object, in: self), reference(to: .string(name)), attributes,
    ])
  }

  private func buffer(_ bytes: [UInt8]) -> JSValueRef? {
    let copy = UnsafeMutableRawPointer.allocate(byteCount: max(1, bytes.count), alignment: 16)
    copy.copyMemory(from: bytes, byteCount: bytes.count)
    return JSObjectMakeArrayBufferWithBytesNoCopy(raw, copy, bytes.count, { bytes, _ in bytes?.deallocate() }, nil, nil)
  }
}
