import ArgumentParser
import Foundation
import HTTPTransport
import PageWorkers

/// A JSON object whose members are named where it is printed.
///
/// An optional without a value is encoded as `null`; ``adding(ifPresent:)`` leaves it out.
struct JSONObject: Encodable, ExpressibleByDictionaryLiteral {
  private var members: [String: any Encodable]

  init(dictionaryLiteral members: (String, any Encodable)...) {
    self.members = Dictionary(members) { _, last in last }
  }

  /// The object with further members, of which those without a value are left out.
  func adding(ifPresent members: [String: (any Encodable)?]) -> JSONObject {
    var object = self
    object.members.merge(members.compactMapValues(\.self)) { _, last in last }
    return object
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: AnyKey.self)
    for (name, value) in members { try container.encode(value, forKey: AnyKey(name)) }
  }
}

/// One JSON object on standard output.
enum JSONOutput {
  static func print(_ object: JSONObject) throws { try print(object as any Encodable) }

  static func print(_ value: any Encodable) throws { Terminal.output.line(try text(value)) }

  /// The text of a value, with sorted members on lines of their own.
  static func text(_ value: any Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}

/// A command that prints its failure as JSON if it prints JSON.
protocol JSONCommand: AsyncParsableCommand {
  var json: Bool { get }

  func perform() async throws
}

extension JSONCommand {
  func run() async throws {
    do {
      try await perform()
    } catch let error where json && !(error is ExitCode || error is ValidationError || error is CleanExit) {
      try JSONOutput.print(["error": error.message])
      throw ExitCode.failure
    }
  }
}
