/// The name of a setting: `page-time` is `--page-time` as a flag, `RENDERHOST_PAGE_TIME` in the environment and
/// `"page-time"` in the file. Parts name theirs in extensions.
package struct SettingKey: Hashable, Sendable {
  package let rawValue: String

  package init(_ rawValue: String) { self.rawValue = rawValue }

  package var flag: String { "--\(rawValue)" }
  package var variable: String { "RENDERHOST_" + rawValue.uppercased().replacing("-", with: "_") }
}
