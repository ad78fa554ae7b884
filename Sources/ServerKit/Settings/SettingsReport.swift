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
