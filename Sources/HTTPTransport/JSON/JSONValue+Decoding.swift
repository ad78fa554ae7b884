extension JSONValue {
  /// Decodes a value of a type, as `JSONDecoder` does from text.
  ///
  /// - Parameter type: the type to decode.
  /// - Throws: `DecodingError`, whose coding path names the place.
  public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
    try JSONValueDecoder(value: self, place: .root).decoded(as: type)
  }

  /// The name of the value's type for messages.
  package var noun: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .integer, .number: "a number"
    case .string: "a text"
    case .array: "a list"
    case .object: "an object"
    }
  }
}

extension Error {
  /// The reason why a text is not valid JSON, or cannot be decoded as a type.
  package var jsonReason: String { (self as? DecodingError)?.placeAndReason ?? "\(self)" }
}

extension DecodingError {
  /// The place and the fault, such as `options.type: expected a text, found a number`.
  package var placeAndReason: String {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      var place = ""
      for key in context.codingPath {
        place += key.intValue.map { "[\($0)]" } ?? (place.isEmpty ? key.stringValue : ".\(key.stringValue)")
      }
      return place.isEmpty ? context.debugDescription : "\(place): \(context.debugDescription)"
    @unknown default: return "\(self)"
    }
  }
}

/// The path of a value in the text. It is converted to a coding path only for an error.
private indirect enum Place {
  case root
  case member(String, of: Place)
  case element(Int, of: Place)

  var codingPath: [any CodingKey] {
    var keys: [any CodingKey] = []
    var place = self
    while true {
      switch place {
      case .root: return keys.reversed()
      case .member(let name, let outer):
        keys.append(AnyKey(name))
        place = outer
      case .element(let index, let outer):
        keys.append(AnyKey(index))
        place = outer
      }
    }
  }
}

/// Decodes a ``JSONValue`` that was read before. Members of the type ``JSONValue`` are not decoded again.
struct JSONValueDecoder: Decoder, SingleValueDecodingContainer {
  let value: JSONValue
  fileprivate let place: Place

  var codingPath: [any CodingKey] { place.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let members) = value else { throw mismatch([String: Any].self, "an object") }
    return KeyedDecodingContainer(MemberContainer(members: members, place: place))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = value else { throw mismatch([Any].self, "a list") }
    return ElementContainer(elements: elements, place: place)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  // MARK: Values

  func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
    if Value.self == JSONValue.self, let value = value as? Value { return value }
    return try Value(from: self)
  }

  func decode(_ type: Bool.Type) throws -> Bool {
    guard case .bool(let bool) = value else { throw mismatch(Bool.self, "true or false") }
    return bool
  }

  func decode(_ type: String.Type) throws -> String {
    guard case .string(let text) = value else { throw mismatch(String.self, "a text") }
    return text
  }

  fileprivate func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Integer {
    switch value {
    case .integer(let number):
      if let integer = Integer(exactly: number) { return integer }
      throw unfit("Number \(number) does not fit into \(type)")
    case .number(let number):
      if let integer = Integer(exactly: number) { return integer }
      throw unfit("Number \(number) is not a whole one that fits into \(type)")
    default: throw mismatch(type, "a whole number")
    }
  }

  fileprivate func number<Number: BinaryFloatingPoint>(_ type: Number.Type) throws -> Number {
    switch value {
    case .integer(let number): return Number(number)
    case .number(let number): return Number(number)
    default: throw mismatch(type, "a number")
    }
  }

  func decodeNil() -> Bool { value == .null }
  func decode(_ type: Double.Type) throws -> Double { try number(type) }
  func decode(_ type: Float.Type) throws -> Float { try number(type) }
  func decode(_ type: Int.Type) throws -> Int { try integer(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoded(as: type) }

  private func mismatch(_ type: any Any.Type, _ expected: String) -> DecodingError {
    let context = DecodingError.Context(
      codingPath: codingPath, debugDescription: "expected \(expected), found \(value.noun)")
    return value == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  private func unfit(_ reason: String) -> DecodingError {
    .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: reason))
  }
}

private struct MemberContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let members: [String: JSONValue]
  let place: Place

  var codingPath: [any CodingKey] { place.codingPath }
  var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

  private func decoder(_ key: any CodingKey) throws -> JSONValueDecoder {
    guard let value = members[key.stringValue] else {
      throw DecodingError.keyNotFound(
        key, .init(codingPath: codingPath, debugDescription: "\"\(key.stringValue)\" is missing"))
    }
    return JSONValueDecoder(value: value, place: .member(key.stringValue, of: place))
  }

  func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).value == .null }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder(key).decode(type) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder(key).decode(type) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoder(key).number(type) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decoder(key).number(type) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decoder(key).integer(type) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try decoder(key).integer(type) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try decoder(key).integer(type) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try decoder(key).integer(type) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try decoder(key).integer(type) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try decoder(key).integer(type) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try decoder(key).integer(type) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try decoder(key).integer(type) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try decoder(key).integer(type) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try decoder(key).integer(type) }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try decoder(key).decoded(as: type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { try decoder(key).container(keyedBy: type) }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }
  func superDecoder() throws -> any Decoder { try decoder(AnyKey("super")) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}

private struct ElementContainer: UnkeyedDecodingContainer {
  let elements: [JSONValue]
  let place: Place
  var currentIndex = 0

  init(elements: [JSONValue], place: Place) { (self.elements, self.place) = (elements, place) }

  var codingPath: [any CodingKey] { place.codingPath }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex == elements.count }

  /// Advances to the next element only if this one could be decoded.
  private mutating func next<Value>(_ decode: (JSONValueDecoder) throws -> Value) throws -> Value {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        Value.self, .init(codingPath: codingPath, debugDescription: "the list has only \(elements.count) elements"))
    }
    let value = try decode(JSONValueDecoder(value: elements[currentIndex], place: .element(currentIndex, of: place)))
    currentIndex += 1
    return value
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, elements[currentIndex] == .null else { return false }
    currentIndex += 1
    return true
  }
  mutating func decode(_ type: Bool.Type) throws -> Bool { try next { try $0.decode(type) } }
  mutating func decode(_ type: String.Type) throws -> String { try next { try $0.decode(type) } }
  mutating func decode(_ type: Double.Type) throws -> Double { try next { try $0.number(type) } }
  mutating func decode(_ type: Float.Type) throws -> Float { try next { try $0.number(type) } }
  mutating func decode(_ type: Int.Type) throws -> Int { try next { try $0.integer(type) } }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try next { try $0.integer(type) } }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try next { try $0.integer(type) } }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try next { try $0.integer(type) } }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try next { try $0.integer(type) } }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try next { try $0.integer(type) } }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try next { try $0.integer(type) } }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try next { try $0.integer(type) } }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try next { try $0.integer(type) } }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try next { try $0.integer(type) } }
  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next { try $0.decoded(as: type) } }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> { try next { try $0.container(keyedBy: type) } }
  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next { try $0.unkeyedContainer() }
  }
  mutating func superDecoder() throws -> any Decoder { try next { $0 } }
}
