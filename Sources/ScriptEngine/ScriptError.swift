/// An error of running a script, or of a value that goes to it or comes from it.
public enum ScriptError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The script threw an exception.
  case exception(ScriptException)
  /// One entry into the script took more processor time than the limit.
  case timeLimit(Duration)
  /// The process had more resident memory than the limit while the script ran; both in bytes.
  case memoryLimit(limit: Int64, found: Int64)
  /// An argument has another type than the Swift function takes. The index counts from 0.
  case wrongArgument(index: Int, expected: String, found: String)
  /// A value is too deep or too large, or refers to itself, and so cannot leave its context.
  case notPlainData(String)
  /// The script has ended, or was stopped by its owner.
  case closed
  /// The script engine failed or is not installed, or a native function refuses a call.
  case engine(String)

  public var description: String {
    switch self {
    case .exception(let exception): exception.description
    case .timeLimit(let limit): "the script ran for longer than \(limit)"
    case .memoryLimit(let limit, let found):
      "the script took \(found >> 20) MiB of memory, \(limit >> 20) MiB are allowed"
    case .wrongArgument(let index, let expected, let found):
      "argument \(index + 1) must be \(expected), it is \(found)"
    case .notPlainData(let reason): "the value is not plain data: \(reason)"
    case .closed: "the page's script has ended"
    case .engine(let reason): "the script engine failed: \(reason)"
    }
  }
}

/// An exception of a script.
public struct ScriptException: Hashable, Sendable, Codable, CustomStringConvertible {
  /// The thrown error or value as text.
  public var message: String
  /// The script's URL or name, if the engine knows it.
  public var url: String?
  /// The line, from 1, if the engine knows it.
  public var line: Int?
  /// The column, from 1, if the engine knows it.
  public var column: Int?
  /// The calls, one per line, the innermost first.
  public var stack: String?

  package init(
    message: String, url: String? = nil, line: Int? = nil, column: Int? = nil, stack: String? = nil
  ) {
    self.message = message
    self.url = url
    self.line = line
    self.column = column
    self.stack = stack
  }

  public var description: String {
    guard let line else { return message }
    return "\(message) (\(url ?? "script"):\(line)\(column.map { ":\($0)" } ?? ""))"
  }
}
