import Foundation
import HTTPTransport

/// A file that the user names.
enum InputFile {
  /// - Throws: ``CommandError`` if it cannot be read.
  static func bytes(_ path: String) throws -> [UInt8] {
    guard let data = FileManager.default.contents(atPath: path) else { throw CommandError("\(path) cannot be read") }
    return Array(data)
  }

  /// Reads what a file contains.
  ///
  /// - Throws: ``CommandError``, which names the file.
  static func read<Value>(_ path: String, _ body: ([UInt8]) throws -> Value) throws -> Value {
    let bytes = try bytes(path)
    do {
      return try body(bytes)
    } catch {
      throw CommandError("\(path): \(error.sentence)")
    }
  }
}
