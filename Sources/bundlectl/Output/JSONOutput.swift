import ArgumentParser
import Foundation

/// An optional value that is encoded as `null`, not omitted.
struct Nullable<Value: Encodable & Sendable>: Encodable, Sendable {
  let value: Value?

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let value { try container.encode(value) } else { try container.encodeNil() }
  }
}

/// One JSON object on standard output.
enum JSONOutput {
  static func print(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    Terminal.output.line(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  private struct Failure: Encodable {
    let error: String
  }

  /// Runs a command's body; with `--json` an error is printed as an object too.
  static func reporting(_ isJSON: Bool, _ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch let error where isJSON && !(error is ExitCode || error is ValidationError || error is CleanExit) {
      try print(Failure(error: "\(error)"))
      throw ExitCode.failure
    }
  }
}
