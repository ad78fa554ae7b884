import Foundation

/// The settings a JSON file holds: an object whose keys are the flags' names.
enum SettingsFile {
  /// - Throws: ``SettingsError`` where the file cannot be read, is no such object, or names what does not exist.
  static func values(at path: String) throws -> [SettingKey: [String]] {
    let data: Data
    do { data = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
      throw SettingsError.unreadableFile(path: path, reason: "the file cannot be read (\(error.localizedDescription))")
    }
    return try values(in: data, path: path)
  }

  static func values(in data: Data, path: String) throws -> [SettingKey: [String]] {
    let object: [String: Entry]
    do { object = try JSONDecoder().decode([String: Entry].self, from: data) } catch {
      throw SettingsError.unreadableFile(
        path: path, reason: "expected a JSON object of settings, whose values are texts, numbers or lists of texts")
    }
    var values: [SettingKey: [String]] = [:]
    for (name, entry) in object.sorted(by: { $0.key < $1.key }) {
      guard let key = SettingKey(rawValue: name) else { throw SettingsError.unknownKey(key: name, file: path) }
      guard key.isList || !entry.isList else {
        throw SettingsError.badValue(key: name, value: "a list", source: path, expected: "one value")
      }
      values[key] = entry.texts
    }
    return values
  }

  /// One value of the file.
  private struct Entry: Decodable {
    var texts: [String]
    var isList = false

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let text = try? container.decode(String.self) {
        texts = [text]
      } else if let number = try? container.decode(Int.self) {
        texts = ["\(number)"]
      } else if let number = try? container.decode(Double.self) {
        texts = ["\(number)"]
      } else if let pairs = try? container.decode([String: String].self) {
        (texts, isList) = (pairs.map { "\($0)=\($1)" }.sorted(), true)
      } else {
        (texts, isList) = (try container.decode([String].self), true)
      }
    }
  }
}
