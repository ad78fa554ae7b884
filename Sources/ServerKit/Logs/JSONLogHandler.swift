import Foundation
import Logging

/// Writes each log line as one JSON object: `time`, `level`, `logger`, `message`, and the metadata beside them.
struct JSONLogHandler: LogHandler {
  let label: String
  var logLevel = Logger.Level.info
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?
  private let write: @Sendable (Data) -> Void

  init(label: String, write: @escaping @Sendable (Data) -> Void) {
    self.label = label
    self.write = write
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    guard let line = line(event, at: Date()) else { return }
    write(line)
  }

  /// One object and a newline.
  func line(_ event: LogEvent, at now: Date) -> Data? {
    var fields: [String: LogField] = [:]
    for (key, value) in (metadataProvider?.get() ?? [:]) { fields[key] = LogField(value) }
    for (key, value) in metadata { fields[key] = LogField(value) }
    for (key, value) in event.metadata ?? [:] { fields[key] = LogField(value) }
    fields["time"] = .text(now.formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true)) + "Z")
    fields["level"] = .text(event.level.rawValue)
    fields["logger"] = .text(label)
    fields["message"] = .text(event.message.description)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard var line = try? encoder.encode(fields) else { return nil }
    line.append(0x0A)
    return line
  }
}

/// A value of a log line.
private enum LogField: Encodable {
  case text(String)
  case number(Double)
  case list([LogField])
  case fields([String: LogField])

  init(_ value: Logger.Metadata.Value) {
    switch value {
    case .string(let text): self = .text(text)
    case .stringConvertible(let number as Int): self = .number(Double(number))
    case .stringConvertible(let number as Double): self = .number(number)
    case .stringConvertible(let value): self = .text(value.description)
    case .array(let values): self = .list(values.map(LogField.init))
    case .dictionary(let values): self = .fields(values.mapValues(LogField.init))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .text(let text): try container.encode(text)
    case .number(let number): try container.encode(number)
    case .list(let values): try container.encode(values)
    case .fields(let values): try container.encode(values)
    }
  }
}
