/// What goes to scripts and comes from them as plain data.
public protocol ScriptConvertible: SendableMetatype {
  /// Nil where the value is none of this type.
  init?(scriptValue: ScriptValue)
  var scriptValue: ScriptValue { get }
  /// What an error calls the type: `a number`.
  static var scriptDescription: String { get }
}

extension ScriptValue: ScriptConvertible {
  public init?(scriptValue: ScriptValue) { self = scriptValue }
  public var scriptValue: ScriptValue { self }
  public static var scriptDescription: String { "a value" }

  /// What an error calls it.
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
  public init?(scriptValue: ScriptValue) {
    guard let text = scriptValue.string else { return nil }
    self = text
  }
  public var scriptValue: ScriptValue { .string(self) }
  public static var scriptDescription: String { "a string" }
}

extension Bool: ScriptConvertible {
  public init?(scriptValue: ScriptValue) {
    guard let value = scriptValue.bool else { return nil }
    self = value
  }
  public var scriptValue: ScriptValue { .bool(self) }
  public static var scriptDescription: String { "a boolean" }
}

extension Double: ScriptConvertible {
  public init?(scriptValue: ScriptValue) {
    guard let number = scriptValue.number else { return nil }
    self = number
  }
  public var scriptValue: ScriptValue { .number(self) }
  public static var scriptDescription: String { "a number" }
}

extension Int: ScriptConvertible {
  public init?(scriptValue: ScriptValue) {
    guard let number = scriptValue.int else { return nil }
    self = number
  }
  public var scriptValue: ScriptValue { .number(Double(self)) }
  public static var scriptDescription: String { "a whole number" }
}

extension Optional: ScriptConvertible where Wrapped: ScriptConvertible {
  public init?(scriptValue: ScriptValue) {
    if scriptValue.isNothing {
      self = .none
    } else {
      guard let wrapped = Wrapped(scriptValue: scriptValue) else { return nil }
      self = .some(wrapped)
    }
  }
  public var scriptValue: ScriptValue { map(\.scriptValue) ?? .null }
  public static var scriptDescription: String { "\(Wrapped.scriptDescription), or nothing" }
}

extension Array: ScriptConvertible where Element: ScriptConvertible {
  public init?(scriptValue: ScriptValue) {
    guard let elements = scriptValue.array else { return nil }
    var converted: [Element] = []
    for element in elements {
      guard let value = Element(scriptValue: element) else { return nil }
      converted.append(value)
    }
    self = converted
  }
  public var scriptValue: ScriptValue { .array(map(\.scriptValue)) }
  public static var scriptDescription: String { "an array in which each is \(Element.scriptDescription)" }
}

extension Dictionary: ScriptConvertible where Key == String, Value: ScriptConvertible {
  public init?(scriptValue: ScriptValue) {
    guard let members = scriptValue.object else { return nil }
    var converted: [String: Value] = [:]
    for (name, member) in members {
      guard let value = Value(scriptValue: member) else { return nil }
      converted[name] = value
    }
    self = converted
  }
  public var scriptValue: ScriptValue { .object(mapValues(\.scriptValue)) }
  public static var scriptDescription: String { "an object in which each is \(Value.scriptDescription)" }
}
