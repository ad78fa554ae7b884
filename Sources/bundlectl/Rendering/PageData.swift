import ArgumentParser
import Foundation
import PageKit

/// Data of a page or an event as an argument: a JSON object, or `@FILE` with one.
enum PageData {
  enum Purpose {
    case page
    case event

    fileprivate var noun: String { self == .page ? "data" : "event" }
    fileprivate var subject: String { self == .page ? "--data" : "the data of --fire" }
    fileprivate var example: String {
      self == .page ? #"--data '{"key": "value"}'"# : #"--fire '12:input:{"value": "text"}'"#
    }
  }

  /// - Throws: `ValidationError` if the text is not a JSON object; ``CommandError`` if a file cannot be read or is not
  ///   one.
  static func read(_ text: String, for purpose: Purpose = .page) throws -> ScriptValue {
    if let path = file(text) {
      guard let found = try? String(contentsOfFile: path, encoding: .utf8) else {
        throw CommandError("the \(purpose.noun) file \(path) cannot be read")
      }
      guard let value = ScriptValue(json: found), value.object != nil else {
        throw CommandError("the \(purpose.noun) file \(path) does not contain a JSON object\(reason(found))")
      }
      return value
    }
    guard let value = ScriptValue(json: text) else {
      throw ValidationError("\(purpose.subject) is not JSON\(reason(text)). Write it as \(purpose.example).")
    }
    guard value.object != nil else {
      throw ValidationError(
        "\(purpose.subject) must be a JSON object, it is \(text.quotedForMessage). Write it as \(purpose.example).")
    }
    return value
  }

  static func file(_ text: String?) -> String? {
    text.flatMap { $0.hasPrefix("@") ? String($0.dropFirst()) : nil }
  }

  /// The reason of the reader, if it gives one.
  private static func reason(_ text: String) -> String {
    do {
      _ = try JSONValue(reading: Array(text.utf8))
      return ""
    } catch {
      return ": \(error.sentence)"
    }
  }
}
