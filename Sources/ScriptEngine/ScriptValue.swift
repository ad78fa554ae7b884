/// A JavaScript value as plain data, for arguments and results of modules, attributes of elements and events.
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
