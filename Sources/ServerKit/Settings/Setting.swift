import Foundation
import HTTPTransport

/// The values that a setting takes.
package enum SettingForm: Hashable, Sendable {
  /// One value.
  case value
  /// Several values: a repeated flag, commas in the environment, an array in the file.
  case list
  /// True or false; its flag has no value, and means true.
  case toggle
  /// One value; its flag without one means this.
  case valueOr(String)
}

/// One setting of a part: its name, its help, and the functions that read and show it.
///
/// Flags, the environment, the file, `--help` and the report of all settings use a table of these.
package struct Setting<Root>: Sendable {
  package let key: SettingKey
  package let form: SettingForm
  /// The sentence in `--help`, and the text after it.
  package let help: String
  package let discussion: String
  /// The value's name in `--help`; empty for a toggle.
  package let valueName: String
  /// `true` if its value must not be printed.
  package let isSecret: Bool
  /// The setting that the file named here contains.
  package let contentOf: SettingKey?
  /// Parses a given value and stores it.
  ///
  /// - Throws: ``SettingsError/badValue(key:value:source:expected:)``.
  package let assign: @Sendable (GivenValue, inout Root) throws -> Void
  /// Returns the value as text; `nil` if there is none.
  package let show: @Sendable (Root) -> String?

  package init(
    _ key: SettingKey, form: SettingForm = .value, help: String, discussion: String = "", valueName: String = "",
    isSecret: Bool = false, contentOf: SettingKey? = nil,
    assign: @escaping @Sendable (GivenValue, inout Root) throws -> Void,
    show: @escaping @Sendable (Root) -> String? = { _ in nil }
  ) {
    (self.key, self.form, self.isSecret, self.contentOf) = (key, form, isSecret, contentOf)
    (self.help, self.discussion, self.valueName) = (help, discussion, valueName)
    (self.assign, self.show) = (assign, show)
  }

  /// Returns the same setting for a structure that has this part at `path`.
  package func at<Whole>(_ path: any WritableKeyPath<Whole, Root> & Sendable) -> Setting<Whole> {
    Setting<Whole>(
      key, form: form, help: help, discussion: discussion, valueName: valueName, isSecret: isSecret,
      contentOf: contentOf,
      assign: { [assign] value, whole in try assign(value, &whole[keyPath: path]) },
      show: { [show] whole in show(whole[keyPath: path]) })
  }
}

/// Settings of one value, which is stored at a key path.
extension Setting {
  package static func path(
    _ key: SettingKey, _ path: any WritableKeyPath<Root, String?> & Sendable, help: String, discussion: String = "",
    valueName: String
  ) -> Setting {
    one(key, path, help, discussion, valueName, { try $0.path() }, { $0 })
  }

  package static func text(
    _ key: SettingKey, _ path: any WritableKeyPath<Root, String?> & Sendable, help: String, discussion: String = "",
    valueName: String
  ) -> Setting {
    one(key, path, help, discussion, valueName, { try $0.line() }, { $0 })
  }

  package static func time(
    _ key: SettingKey, _ path: any WritableKeyPath<Root, Duration> & Sendable, atLeast least: Duration, help: String
  ) -> Setting {
    one(key, path, help, "", "seconds", { try $0.duration(atLeast: least) }, { SettingText.text($0) })
  }

  package static func size<Bytes: BinaryInteger & Sendable>(
    _ key: SettingKey, _ path: any WritableKeyPath<Root, Bytes> & Sendable, atLeast least: Int64,
    atMost most: Int64 = 1 << 40, help: String
  ) -> Setting {
    one(key, path, help, "", "size", { Bytes(try $0.size(atLeast: least, atMost: most)) }, { "\($0)" })
  }

  package static func count(
    _ key: SettingKey, _ path: any WritableKeyPath<Root, Int> & Sendable, in range: ClosedRange<Int>, help: String
  ) -> Setting {
    one(key, path, help, "", "n", { try $0.count(in: range) }, { "\($0)" })
  }

  private static func one<Value>(
    _ key: SettingKey, _ path: any WritableKeyPath<Root, Value> & Sendable, _ help: String, _ discussion: String,
    _ valueName: String, _ read: @escaping @Sendable (GivenValue) throws -> Value,
    _ show: @escaping @Sendable (Value) -> String?
  ) -> Setting {
    Setting(
      key, help: help, discussion: discussion, valueName: valueName,
      assign: { value, root in root[keyPath: path] = try read(value) }, show: { show($0[keyPath: path]) })
  }

  /// A setting of several values, each of which adds to a list.
  package static func list(
    _ key: SettingKey, _ path: any WritableKeyPath<Root, [String]> & Sendable, help: String, discussion: String = "",
    valueName: String, read: @escaping @Sendable (GivenValue) throws -> String
  ) -> Setting {
    Setting(
      key, form: .list, help: help, discussion: discussion, valueName: valueName,
      assign: { value, root in
        let item = try read(value)
        root[keyPath: path] = (value.isFirst ? [] : root[keyPath: path]) + [item]
      },
      show: { root in
        root[keyPath: path].isEmpty ? nil : root[keyPath: path].joined(separator: ", ")
      })
  }
}

// MARK: - Keys

/// The name of a setting: `page-time` is `--page-time` as a flag, `RENDERHOST_PAGE_TIME` in the environment and
/// `"page-time"` in the file. Parts add theirs in extensions.
package struct SettingKey: Hashable, Sendable {
  package let rawValue: String

  package init(_ rawValue: String) { self.rawValue = rawValue }

  package var flag: String { "--\(rawValue)" }
  package var variable: String { "RENDERHOST_" + rawValue.uppercased().replacing("-", with: "_") }
}

/// A value that was given for a setting, and the types it can be read as.
package struct GivenValue {
  package let key: SettingKey
  package let text: String
  /// The flag, the variable or the file that gave it.
  package let source: String
  /// `true` for the first value of a list, which replaces the default.
  package let isFirst: Bool
  /// `true` if its text must not be printed.
  package let isSecret: Bool

  package init(
    key: SettingKey, text: String, source: String, isFirst: Bool, isSecret: Bool
  ) {
    self.key = key
    self.text = text
    self.source = source
    self.isFirst = isFirst
    self.isSecret = isSecret
  }

  /// An error that names the value.
  ///
  /// - Parameter given: the invalid part of the value; all of it by default.
  package func bad(_ expected: String, given: String? = nil) -> SettingsError {
    .badValue(key: key.rawValue, value: isSecret ? "…" : given ?? text, source: source, expected: expected)
  }

  package func path() throws -> String { try line("a path") }

  /// The text, if it is not empty.
  package func line(_ expected: String = "text") throws -> String {
    guard !text.isEmpty, !text.contains("\0") else { throw bad(expected) }
    return text
  }

  package func count(in range: ClosedRange<Int>) throws -> Int {
    guard let count = SettingText.count(text), range.contains(count) else {
      throw bad("a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return count
  }

  package func duration(atLeast least: Duration) throws -> Duration {
    guard let duration = Duration(text: text), duration >= least else {
      throw bad("a time of at least \(SettingText.text(least)) seconds, like 5, 250ms or 10m")
    }
    return duration
  }

  package func size(atLeast least: Int64, atMost most: Int64 = 1 << 40) throws -> Int64 {
    guard let size = SettingText.size(text), (least...most).contains(size) else {
      throw bad("a size from \(least) to \(most) bytes, like 65536 or 256MB")
    }
    return size
  }

  /// - Parameter example: valid addresses, for the error.
  package func address(like example: String) throws -> (host: String, port: Int) {
    guard let address = SettingText.address(text) else { throw bad("HOST:PORT, like \(example)") }
    return address
  }

  package func truth() throws -> Bool {
    guard let isTrue = SettingText.truth(text) else { throw bad("true or false") }
    return isTrue
  }

  /// The text, if it is long enough for a secret: short ones can be guessed.
  package func secret() throws -> String { try secret(text) }

  /// The secret in the file that the text names.
  package func secretOfFile() throws -> String {
    try secret(contents().trimmingCharacters(in: .whitespacesAndNewlines))
  }

  /// The secrets, each on a line.
  package func secrets() throws -> [String] { try secrets(text) }

  /// The secrets in the file that the text names, each on a line.
  package func secretsOfFile() throws -> [String] { try secrets(contents()) }

  private func contents() throws -> String {
    guard let data = FileManager.default.contents(atPath: text) else {
      throw bad("a readable file")
    }
    return String(decoding: data, as: UTF8.self)
  }

  private func secrets(_ text: String) throws -> [String] {
    let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
    let secrets = try lines.filter { !$0.isEmpty }.map(secret)
    guard !secrets.isEmpty else { throw bad("16 bytes or more") }
    return secrets
  }

  private func secret(_ secret: String) throws -> String {
    guard secret.utf8.count >= 16, secret.utf8.count <= 4096 else { throw bad("16 bytes or more") }
    return secret
  }
}

/// Parses and writes the values of settings.
package enum SettingText {
  /// Reads a number of bytes, or one with a unit of powers of 1024: `65536`, `256MB`, `1.5GiB`.
  package static func size(_ text: String) -> Int64? { Int64(size: text) }

  /// Returns a host as it is written before a port: an IPv6 address in brackets. RFC 3986 §3.2.2.
  package static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

  /// Reads `host:port`, with an IPv6 address in brackets.
  package static func address(_ text: String) -> (host: String, port: Int)? {
    guard let colon = text.lastIndex(of: ":"), let port = count(text[text.index(after: colon)...]), port < 65_536 else {
      return nil
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    return host.isEmpty ? nil : (String(host), port)
  }

  static func truth(_ text: String) -> Bool? {
    switch text {
    case "true", "1": true
    case "false", "0": false
    default: nil
    }
  }

  package static func count(_ text: some StringProtocol) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
  }

  /// Writes a number, without a fraction that it does not have.
  package static func text(_ number: Double) -> String {
    number == number.rounded() && abs(number) < 1e15 ? "\(Int64(number))" : "\(number)"
  }

  /// Writes a duration: seconds as a decimal.
  package static func text(_ duration: Duration) -> String { text(duration / .seconds(1)) }
}

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

/// All settings with their values and sources; secrets are masked.
package struct SettingsReport: Sendable {
  package struct Line: Codable, Equatable, Sendable {
    package var key: String
    package var value: String?
    /// A flag, a variable, a file, or `default`.
    package var source: String

    package init(key: String, value: String?, source: String) {
      (self.key, self.value, self.source) = (key, value, source)
    }
  }

  package let lines: [Line]

  package init(_ lines: [Line]) { self.lines = lines }

  /// - Parameters:
  ///   - table: all settings, in the order of the lines. A setting that names the file of another has no line of its
  ///     own: the other is shown.
  ///   - sources: the flag, the variable or the file that gave each setting.
  package init<Root>(_ table: [Setting<Root>], of root: Root, sources: [SettingKey: String]) {
    lines = table.filter { $0.contentOf == nil }.map { setting in
      let file = table.first { $0.contentOf == setting.key }?.key
      let source = file.flatMap { sources[$0] } ?? sources[setting.key] ?? "default"
      let value = setting.show(root)
      return Line(
        key: setting.key.rawValue, value: setting.isSecret ? value.map { _ in "********" } : value, source: source)
    }
  }

  /// The report in columns.
  package var text: String {
    let keys = lines.map(\.key.count).max() ?? 0
    let values = min(48, lines.map { ($0.value ?? "-").count }.max() ?? 0)
    return lines.map { line in
      let value = line.value ?? "-"
      return Self.padded(line.key, keys) + "  " + Self.padded(value, values) + "  " + line.source
    }.joined(separator: "\n")
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}

/// An error in the settings.
package enum SettingsError: Error, Equatable, CustomStringConvertible {
  /// An invalid value; `source` is a flag, a variable or a file.
  case badValue(key: String, value: String, source: String, expected: String)
  case unknownKey(key: String, file: String)
  case unreadableFile(path: String, reason: String)
  case combination(String)

  package var description: String {
    switch self {
    case .badValue(let key, let value, let source, let expected):
      "\(source): \(key) is \"\(value)\", expected \(expected)"
    case .unknownKey(let key, let file): "\(file): there is no setting \"\(key)\""
    case .unreadableFile(let path, let reason): "\(path): \(reason)"
    case .combination(let reason): reason
    }
  }
}
