import CacheGateway
import Foundation
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
    try SettingsCheck.combinations(merged.settings)
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
