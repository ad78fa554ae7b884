/// A JavaScript value as plain data, free of its context: what goes between threads.
public enum ScriptValue: Hashable, Sendable {
  case undefined
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([ScriptValue])
  case object([String: ScriptValue])
  /// An `ArrayBuffer` or a typed array.
  case data([UInt8])

  public var isNothing: Bool { self == .undefined || self == .null }

  public var string: String? { if case .string(let value) = self { value } else { nil } }
  public var number: Double? { if case .number(let value) = self { value } else { nil } }
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  public var array: [ScriptValue]? { if case .array(let value) = self { value } else { nil } }
  public var object: [String: ScriptValue]? { if case .object(let value) = self { value } else { nil } }

  /// A whole number that an `Int` can hold.
  public var int: Int? { number.flatMap { Int(exactly: $0) } }

  /// A member of an object; ``undefined`` where there is none.
  public subscript(name: String) -> ScriptValue { object?[name] ?? .undefined }
  /// An element of an array; ``undefined`` where there is none.
  public subscript(index: Int) -> ScriptValue {
    guard let array, array.indices.contains(index) else { return .undefined }
    return array[index]
  }
}

extension ScriptValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int) { self = .number(Double(value)) }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(arrayLiteral elements: ScriptValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, ScriptValue)...) {
    self = .object(Dictionary(elements, uniquingKeysWith: { $1 }))
  }
  public init(nilLiteral: ()) { self = .null }
}
