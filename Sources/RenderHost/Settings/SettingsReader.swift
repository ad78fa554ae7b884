import CacheGateway
import Foundation
import HTTPTransport
import ServerKit

/// Merges flags, environment and file into ``Settings``. Flags win over the environment, the environment over the file.
package struct SettingsReader: Sendable {
  /// The settings, and the source of each one that was given.
  package struct Merged: Sendable {
    package var settings = Settings()
    package var sources: [SettingKey: String] = [:]
    /// The variables with the prefix `RENDERHOST_` that belong to no setting.
    package var unknownVariables: [String] = []

    package init(settings: Settings = Settings(), sources: [SettingKey: String] = [:]) {
      (self.settings, self.sources) = (settings, sources)
    }
  }

  private let flags: [SettingKey: [String]]
  private let environment: [String: String]
  private let file: String?

  package init(flags: [SettingKey: [String]], environment: [String: String], file: String?) {
    (self.flags, self.environment, self.file) = (flags, environment, file)
  }

  /// The values of one setting, and the layer that gave them.
  private typealias Given = [SettingKey: (values: [String], layer: Layer)]

  /// - Throws: ``SettingsError`` for the first invalid value.
  package func merged() throws -> Merged {
    let contents = try file.map { try SettingsFile(at: $0) }
    let layers: [(Layer, [SettingKey: [String]])] = [
      (.flags, flags), (.environment, variables), (.file, contents?.values ?? [:]),
    ]
    var given: Given = [:]
    for (layer, values) in layers {
      for (key, values) in values where given[key] == nil { given[key] = (values, layer) }
    }
    try dropCoveredSecrets(&given)
    return try assigned(given, origins: contents?.origins)
  }

  /// Treats a secret and the file that contains it as one setting: the earlier layer wins.
  private func dropCoveredSecrets(_ given: inout Given) throws {
    for setting in Settings.table {
      let file = setting.key
      guard let key = setting.contentOf, let direct = given[key], let named = given[file] else { continue }
      guard direct.layer != named.layer else {
        throw SettingsError.combination(
          "\(source(of: key, in: direct.layer)) and \(source(of: file, in: named.layer)) set one secret: give only one of them"
        )
      }
      given[direct.layer < named.layer ? file : key] = nil
    }
  }

  private func assigned(_ given: Given, origins: [OriginSettings]?) throws -> Merged {
    var merged = Merged()
    merged.settings.gateway.origins = origins ?? []
    if let origin = given[.origin], origins != nil {
      throw SettingsError.combination(
        "\(source(of: .origin, in: origin.layer)) and the origins of \(file ?? "") exclude each other: give only one of them"
      )
    }
    for setting in Settings.table {
      guard let (values, layer) = given[setting.key] else { continue }
      let source = source(of: setting.key, in: layer)
      // For a single value, the last one counts.
      for (index, text) in (setting.form == .list ? values[...] : values.suffix(1)).enumerated() {
        let value = GivenValue(
          key: setting.key, text: text, source: source, isFirst: index == 0, isSecret: setting.isSecret)
        try setting.assign(value, &merged.settings)
      }
      merged.sources[setting.key] = source
    }
    merged.unknownVariables = unknownVariables
    try merged.settings.locateReleases(environment)
    try merged.settings.checkCombinations()
    return merged
  }

  private var variables: [SettingKey: [String]] {
    var values: [SettingKey: [String]] = [:]
    for setting in Settings.table {
      guard let text = environment[setting.key.variable] else { continue }
      values[setting.key] = setting.form == .list ? text.split(separator: ",").map(Self.trimmed) : [text]
    }
    return values
  }

  private func source(of key: SettingKey, in layer: Layer) -> String {
    switch layer {
    case .flags: key.flag
    case .environment: key.variable
    case .file: file ?? "file"
    }
  }

  private var unknownVariables: [String] {
    let known = Set(SettingKey.allCases.map(\.variable) + ["RENDERHOST_CONFIG"])
    return environment.keys.filter { $0.hasPrefix("RENDERHOST_") && !known.contains($0) }.sorted()
  }

  private static func trimmed(_ text: Substring) -> String { text.trimmingCharacters(in: .whitespaces) }

  /// The layers that give settings; an earlier one wins.
  private enum Layer: Int, Comparable {
    case flags, environment, file

    static func < (a: Layer, b: Layer) -> Bool { a.rawValue < b.rawValue }
  }
}

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
      guard let entry = Self.entry(value, isSwitch: setting.form == .toggle) else {
        let expected = setting.form == .toggle ? "true or false" : "a text, a number or a list of texts"
        throw SettingsError.badValue(key: name, value: "not a text", source: path, expected: expected)
      }
      guard setting.form == .list || !entry.isList else {
        throw SettingsError.badValue(key: name, value: "a list", source: path, expected: "one value")
      }
      values[setting.key] = entry.texts
    }
  }

  /// The texts of one value of the file, and whether it is a list; `nil` for a value of a type that the setting cannot
  /// have.
  private static func entry(_ value: JSONValue, isSwitch: Bool) -> (texts: [String], isList: Bool)? {
    switch value {
    case .bool(let value) where isSwitch: return (["\(value)"], false)
    case .string(let text): return ([text], false)
    case .integer(let number): return (["\(number)"], false)
    case .number(let number): return (["\(number)"], false)
    case .object(let pairs):
      let texts = pairs.map { name, value in
        let text = if case .string(let text) = value { text } else { String(decoding: value.text, as: UTF8.self) }
        return "\(name)=\(text)"
      }
      return (texts.sorted(), true)
    case .array(let values):
      let texts = values.compactMap { value -> String? in if case .string(let text) = value { text } else { nil } }
      return texts.count == values.count ? (texts, true) : nil
    case .null, .bool: return nil
    }
  }
}

extension SettingsReport {
  /// The report of all settings. The origins of the settings' file have a line each, in the place of `--origin`.
  ///
  /// - Parameter sources: the flag, the variable or the file that gave each setting.
  package init(_ settings: Settings, sources: [SettingKey: String] = [:]) {
    var lines = SettingsReport(Settings.table, of: settings, sources: sources).lines
    if sources[.origin] == nil {
      for index in lines.indices where lines[index].key == SettingKey.origin.rawValue { lines[index].value = nil }
      lines += settings.gateway.origins.map(Self.line)
    }
    self.init(lines)
  }

  private static func line(_ origin: OriginSettings) -> Line {
    let places = (origin.hosts.isEmpty ? ["any host"] : origin.hosts) + origin.prefixes
    return Line(
      key: "origins[\(origin.name)]", value: "\(origin.url.origin) for \(places.joined(separator: ", "))",
      source: "file")
  }
}
