/// The values that a setting takes.
package enum SettingForm: Sendable {
  /// One value.
  case value
  /// Several values: a repeated flag, commas in the environment, an array in the file.
  case list
  /// True or false; its flag has no value, and means true.
  case toggle
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

// MARK: - Keys

/// The name of a setting: `page-time` is `--page-time` as a flag, `RENDERHOST_PAGE_TIME` in the environment and
/// `"page-time"` in the file. Parts add theirs in extensions.
package struct SettingKey: Hashable, Sendable {
  package let rawValue: String

  package init(_ rawValue: String) { self.rawValue = rawValue }

  package var flag: String { "--\(rawValue)" }
  package var variable: String { "RENDERHOST_" + rawValue.uppercased().replacing("-", with: "_") }
}
