import HTTPTransport

/// An object of the settings' file, whose members are taken one by one; a member that is not taken is an error.
package struct SettingsObject {
  private var members: [String: JSONValue]
  /// The file and the place in it, for messages.
  package let place: String

  /// - Throws: ``SettingsError`` if the value is not an object.
  package init(_ value: JSONValue, place: String) throws {
    guard case .object(let members) = value else {
      throw SettingsError.unreadableFile(path: place, reason: "expected a JSON object")
    }
    self.members = members
    self.place = place
  }

  /// - Throws: ``SettingsError`` for the first member that was not taken.
  package func end() throws {
    if let key = members.keys.min() { throw SettingsError.unknownKey(key: key, file: place) }
  }

  /// Takes a member as text. Returns `nil` if it does not exist.
  package mutating func text(_ key: String) throws -> String? {
    switch members.removeValue(forKey: key) {
    case nil: nil
    case .string(let text)?: text
    case .integer(let number)?: "\(number)"
    case .number(let number)?: "\(number)"
    case let value?: throw bad(key, value, "a text or a number")
    }
  }

  /// Takes and parses a member, if it exists.
  package mutating func take<Value>(
    _ key: String, into value: inout Value, expecting expected: String, _ read: (String) -> Value?
  ) throws {
    guard let text = try text(key) else { return }
    guard let found = read(text) else { throw bad(key, .string(text), expected) }
    value = found
  }

  package mutating func list(_ key: String) throws -> [JSONValue]? {
    switch members.removeValue(forKey: key) {
    case nil: nil
    case .array(let values)?: values
    case let value?: throw bad(key, value, "a list")
    }
  }

  package mutating func texts(_ key: String, expecting expected: String, _ read: (String) -> String?) throws
    -> [String]?
  {
    try list(key)?.map { value in
      guard case .string(let text) = value, let found = read(text) else { throw bad(key, value, expected) }
      return found
    }
  }

  package func bad(_ key: String, _ value: JSONValue, _ expected: String) -> SettingsError {
    let text = if case .string(let text) = value { text } else { String(decoding: value.text, as: UTF8.self) }
    return .badValue(key: key, value: text, source: place, expected: expected)
  }
}
