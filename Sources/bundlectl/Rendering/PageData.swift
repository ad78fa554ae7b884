import ArgumentParser
import Foundation
import PageKit

/// A page's data as an argument: a JSON object, or `@FILE` with one.
enum PageData {
  /// - Throws: `ValidationError` if the text is not a JSON object; ``CommandError`` if a file cannot be read or is not
  ///   one.
  static func read(_ text: String) throws -> ScriptValue {
    if let path = file(text) {
      guard let found = try? String(contentsOfFile: path, encoding: .utf8) else {
        throw CommandError("the data file \(path) cannot be read")
      }
      guard let value = ScriptValue(json: found), value.object != nil else {
        throw CommandError("the data file \(path) does not contain a JSON object\(reason(found))")
      }
      return value
    }
    guard let value = ScriptValue(json: text) else {
      throw ValidationError("--data is not JSON\(reason(text)). Write it as --data '{\"key\": \"value\"}'.")
    }
    guard value.object != nil else {
      throw ValidationError(
        "--data must be a JSON object, it is \(text.quotedForMessage). Write it as --data '{\"key\": \"value\"}'.")
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
