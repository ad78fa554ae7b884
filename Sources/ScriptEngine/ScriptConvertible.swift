/// A type whose values go to scripts and come from them as plain data, as arguments and results of module methods.
public protocol ScriptConvertible: SendableMetatype {
  /// Returns `nil` if the value is not of this type.
  init?(scriptValue: ScriptValue)
  /// The value for scripts.
  var scriptValue: ScriptValue { get }
  /// The type's name in errors, such as `a number`.
  static var scriptDescription: String { get }
}

extension ScriptValue: ScriptConvertible {
  /// Takes any value.
  public init?(scriptValue: ScriptValue) { self = scriptValue }
  /// The value itself.
  public var scriptValue: ScriptValue { self }
  /// `a value`.
  public static var scriptDescription: String { "a value" }

  /// The kind of the value in errors, such as `a number`.
  package var kind: String {
    switch self {
    case .undefined: "undefined"
    case .null: "null"
    case .bool: "a boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    case .data: "binary data"
    }
  }
}

extension String: ScriptConvertible {
  /// Takes a string.
  public init?(scriptValue: ScriptValue) {
    guard let text = scriptValue.string else { return nil }
    self = text
  }
  /// The text as a string.
  public var scriptValue: ScriptValue { .string(self) }
  /// `a string`.
  public static var scriptDescription: String { "a string" }
}

extension Bool: ScriptConvertible {
  /// Takes a boolean.
  public init?(scriptValue: ScriptValue) {
    guard let value = scriptValue.bool else { return nil }
    self = value
  }
  /// The value as a boolean.
  public var scriptValue: ScriptValue { .bool(self) }
  /// `a boolean`.
  public static var scriptDescription: String { "a boolean" }
}

extension Double: ScriptConvertible {
  /// Takes a number.
  public init?(scriptValue: ScriptValue) {
    guard let number = scriptValue.number else { return nil }
    self = number
  }
  /// The value as a number.
  public var scriptValue: ScriptValue { .number(self) }
  /// `a number`.
  public static var scriptDescription: String { "a number" }
}

extension Int: ScriptConvertible {
  /// Takes a whole number in the range of `Int`.
  public init?(scriptValue: ScriptValue) {
    guard let number = scriptValue.int else { return nil }
    self = number
  }
  /// The value as a number.
  public var scriptValue: ScriptValue { .number(Double(self)) }
  /// `a whole number`.
  public static var scriptDescription: String { "a whole number" }
}

extension Optional: ScriptConvertible where Wrapped: ScriptConvertible {
  /// Takes `undefined` and `null` as `nil`, and values of the wrapped type.
  public init?(scriptValue: ScriptValue) {
    if scriptValue.isNothing {
      self = .none
    } else {
      guard let wrapped = Wrapped(scriptValue: scriptValue) else { return nil }
      self = .some(wrapped)
    }
  }
  /// The wrapped value; `null` for `nil`.
  public var scriptValue: ScriptValue { map(\.scriptValue) ?? .null }
  /// The wrapped type's name, or nothing.
  public static var scriptDescription: String { "\(Wrapped.scriptDescription), or nothing" }
}

extension Array: ScriptConvertible where Element: ScriptConvertible {
  /// Takes an array in which every element is of the element type.
  public init?(scriptValue: ScriptValue) {
    guard let elements = scriptValue.array else { return nil }
    var converted: [Element] = []
    for element in elements {
      guard let value = Element(scriptValue: element) else { return nil }
      converted.append(value)
    }
    self = converted
  }
  /// The elements as an array.
  public var scriptValue: ScriptValue { .array(map(\.scriptValue)) }
  /// An array, with the element type's name.
  public static var scriptDescription: String { "an array in which each is \(Element.scriptDescription)" }
}

extension Dictionary: ScriptConvertible where Key == String, Value: ScriptConvertible {
  /// Takes an object in which every member is of the value type.
  public init?(scriptValue: ScriptValue) {
    guard let members = scriptValue.object else { return nil }
    var converted: [String: Value] = [:]
    for (name, member) in members {
      guard let value = Value(scriptValue: member) else { return nil }
      converted[name] = value
    }
    self = converted
  }
  /// The members as an object.
  public var scriptValue: ScriptValue { .object(mapValues(\.scriptValue)) }
  /// An object, with the value type's name.
  public static var scriptDescription: String { "an object in which each is \(Value.scriptDescription)" }
}
