/// Why a script did not run to its end.
public enum ScriptError: Error, Hashable, Sendable, CustomStringConvertible {
  case exception(ScriptException)
  /// It ran for longer than allowed.
  case timeLimit(Duration)
  /// The process took more memory than allowed while it ran; both in bytes.
  case memoryLimit(limit: Int64, found: Int64)
  /// A value is not what a Swift function takes.
  case wrongArgument(index: Int, expected: String, found: String)
  /// A value that cannot leave its context: too deep, or it refers to itself.
  case notPlainData(String)
  /// The context was closed.
  case closed
  case engine(String)

  public var description: String {
    switch self {
    case .exception(let exception): exception.description
    case .timeLimit(let limit): "the script ran for longer than \(limit)"
    case .memoryLimit(let limit, let found):
      "the script took \(found >> 20) MiB of memory, \(limit >> 20) MiB are allowed"
    case .wrongArgument(let index, let expected, let found):
      "argument \(index + 1) must be \(expected), it is \(found)"
    case .notPlainData(let reason): "the value is no plain data: \(reason)"
    case .closed: "the page's script has ended"
    case .engine(let reason): "the script engine failed: \(reason)"
    }
  }
}

/// What a script threw.
public struct ScriptException: Hashable, Sendable, CustomStringConvertible {
  public var message: String
  /// Where it was thrown, as far as the engine knows.
  public var url: String?
  /// From 1.
  public var line: Int?
  /// From 1.
  public var column: Int?
  /// One call a line, the innermost first.
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
