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
