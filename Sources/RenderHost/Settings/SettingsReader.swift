import Configuration
import Foundation
import Synchronization

/// Merges flags, environment and file, in that order, into ``Settings``.
package struct SettingsReader: Sendable {
  /// The settings, and where each that was given came from.
  package struct Merged: Sendable {
    package var settings = Settings()
    package var sources: [SettingKey: String] = [:]
    /// Variables that look like settings and are none: `RENDERHOST_…`.
    package var unknownVariables: [String] = []
  }

  private let flags: [SettingKey: [String]]
  private let environment: [String: String]
  private let file: String?

  package init(flags: [SettingKey: [String]], environment: [String: String], file: String?) {
    (self.flags, self.environment, self.file) = (flags, environment, file)
  }

  /// - Throws: ``SettingsError`` for the first value that is wrong.
  package func merged() throws -> Merged {
    let reporter = SourceReporter()
    let contents = try file.map { try SettingsFile(at: $0) }
    let reader = ConfigReader(providers: providers(contents), accessReporter: reporter)
    var given: [SettingKey: (values: [String], layer: Layer)] = [:]
    for key in SettingKey.allCases {
      let name = ConfigKey([key.rawValue])
      let values =
        key.isList
        ? reader.stringArray(forKey: name)
        : reader.string(forKey: name, isSecret: key.isSecret).map { [$0] }
      if let values, let layer = reporter.layer { given[key] = (values, layer) }
    }
    try dropCoveredSecrets(&given)
    return try assigned(given, origins: contents?.origins)
  }

  /// A secret and the file that holds it are one setting: the earlier layer wins.
  private func dropCoveredSecrets(_ given: inout [SettingKey: (values: [String], layer: Layer)]) throws {
    for (key, file) in [(SettingKey.adminToken, SettingKey.adminTokenFile), (.webhookSecret, .webhookSecretFile)] {
      guard let direct = given[key], let named = given[file] else { continue }
      guard direct.layer != named.layer else {
        throw SettingsError.combination(
          "\(source(of: key, in: direct.layer)) and \(source(of: file, in: named.layer)) say the same: give one of them"
        )
      }
      given[direct.layer.rank < named.layer.rank ? file : key] = nil
    }
  }

  private func assigned(
    _ given: [SettingKey: (values: [String], layer: Layer)], origins: [OriginSettings]?
  ) throws -> Merged {
    var merged = Merged()
    merged.settings.origins = origins ?? []
    if let origin = given[.origin], origins != nil {
      throw SettingsError.combination(
        "\(source(of: .origin, in: origin.layer)) and the origins of \(file ?? "") exclude each other: give one of them"
      )
    }
    for key in SettingKey.allCases {
      guard let (values, layer) = given[key] else { continue }
      let source = source(of: key, in: layer)
      for (index, value) in values.enumerated() {
        try SettingAssignment(key: key, value: value, source: source, isFirst: index == 0)
          .apply(to: &merged.settings)
      }
      merged.sources[key] = source
    }
    merged.unknownVariables = unknownVariables
    try SettingsCheck.combinations(merged.settings)
    return merged
  }

  private func providers(_ contents: SettingsFile?) -> [any ConfigProvider] {
    let variables = SettingKey.allCases.compactMap { key in
      environment[key.variable].map { (key, key.isList ? $0.split(separator: ",").map(Self.trimmed) : [$0]) }
    }
    var layers: [any ConfigProvider] = [
      provider(.flags, flags), provider(.environment, Dictionary(uniqueKeysWithValues: variables)),
    ]
    if let contents { layers.append(provider(.file, contents.values)) }
    return layers
  }

  private func provider(_ layer: Layer, _ values: [SettingKey: [String]]) -> InMemoryProvider {
    var entries: [AbsoluteConfigKey: ConfigValue] = [:]
    for (key, texts) in values {
      let content: ConfigContent = key.isList ? .stringArray(texts) : .string(texts.last ?? "")
      entries[AbsoluteConfigKey([key.rawValue])] = ConfigValue(content, isSecret: key.isSecret)
    }
    return InMemoryProvider(name: layer.rawValue, values: entries)
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

  fileprivate enum Layer: String, CaseIterable {
    case flags, environment, file

    var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  /// Remembers which layer the last value came from.
  private final class SourceReporter: AccessReporter {
    private let last = Mutex<Layer?>(nil)
    var layer: Layer? { last.withLock { $0 } }

    func report(_ event: AccessEvent) {
      let given = event.providerResults.first { result in
        if case .success(let lookup) = result.result { lookup.value != nil } else { false }
      }
      let layer = given.flatMap { given in
        Layer.allCases.first { given.providerName == "InMemoryProvider[\($0.rawValue)]" }
      }
      last.withLock { $0 = layer }
    }
  }
}
