import CacheGateway
import Foundation
import HTTPTransport
import ServerKit

/// The settings in a JSON file: an object whose keys are the names of flags, and `origins`.
struct SettingsFile {
  private(set) var values: [SettingKey: [String]] = [:]
  /// The origins of the gateway; `nil` if the file has none.
  private(set) var origins: [OriginSettings]?

  /// - Throws: ``SettingsError`` if the file cannot be read, is not an object, or names an unknown setting.
  init(at path: String) throws {
    let data: Data
    do { data = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
      throw SettingsError.unreadableFile(path: path, reason: "the file cannot be read (\(error.plainReason))")
    }
    try self.init(data, path: path)
  }

  init(_ data: Data, path: String) throws {
    let object: [String: JSONValue]
    do { object = try JSONValue(reading: Array(data)).decoded() } catch {
      throw SettingsError.unreadableFile(path: path, reason: "expected a JSON object of settings: \(error.jsonReason)")
    }
    for (name, value) in object.sorted(by: { $0.key < $1.key }) {
      if name == "origins" {
        guard case .array(let list) = value else {
          throw SettingsError.badValue(key: name, value: "not a list", source: path, expected: "a list of origins")
        }
        origins = try OriginsFile.origins(in: list, path: path)
        continue
      }
      guard let setting = Settings.setting(SettingKey(name)) else {
        throw SettingsError.unknownKey(key: name, file: path)
      }
      guard let entry = Entry(value, isSwitch: setting.form == .toggle) else {
        let expected = setting.form == .toggle ? "true or false" : "a text, a number or a list of texts"
        throw SettingsError.badValue(key: name, value: "not a text", source: path, expected: expected)
      }
      guard setting.form == .list || !entry.isList else {
        throw SettingsError.badValue(key: name, value: "a list", source: path, expected: "one value")
      }
      values[setting.key] = entry.texts
    }
  }

  /// One value of the file.
  private struct Entry {
    var texts: [String]
    var isList = false

    /// Returns `nil` for a value of a type that the setting cannot have.
    init?(_ value: JSONValue, isSwitch: Bool) {
      switch value {
      case .bool(let value) where isSwitch: texts = ["\(value)"]
      case .string(let text): texts = [text]
      case .integer(let number): texts = ["\(number)"]
      case .number(let number): texts = ["\(number)"]
      case .object(let pairs):
        texts = pairs.map { name, value in
          let text = if case .string(let text) = value { text } else { String(decoding: value.text, as: UTF8.self) }
          return "\(name)=\(text)"
        }.sorted()
        isList = true
      case .array(let values):
        texts = values.compactMap { if case .string(let text) = $0 { text } else { nil } }
        guard texts.count == values.count else { return nil }
        isList = true
      case .null, .bool: return nil
      }
    }
  }
}
