import HTTPTypes
import NIOHTTP1

/// Writes the heads of HTTP/1.1 messages.
enum HeadText {
  /// A status line, the fields, and the empty line.
  ///
  /// - Parameter phrase: empty for the one that usually goes with the code.
  static func bytes(_ code: Int, _ fields: HTTPFields, phrase: String = "") -> [UInt8] {
    let phrase = phrase.isEmpty ? HTTPResponseStatus(statusCode: code).reasonPhrase : phrase
    return Array("HTTP/1.1 \(code) \(phrase)\r\n".utf8) + lines(fields) + Array("\r\n".utf8)
  }

  /// The fields, one a line, without the empty line that ends them.
  static func lines(_ fields: HTTPFields) -> [UInt8] {
    fields.flatMap { Array("\($0.name.rawName): \($0.value)\r\n".utf8) }
  }
}
