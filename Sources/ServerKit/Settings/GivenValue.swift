import Foundation
import HTTPTransport

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

  func truth() throws -> Bool {
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
