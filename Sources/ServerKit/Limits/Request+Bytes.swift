import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1

extension Request {
  /// The whole body.
  ///
  /// - Throws: `HTTPError`: 413 if it has more bytes, 400 if its chunks are not valid.
  package func bytes(upTo limit: Int) async throws -> [UInt8] {
    do {
      return Array(buffer: try await body.collect(upTo: limit))
    } catch is NIOTooManyBytesError {
      throw HTTPError(.contentTooLarge, message: "the body has more than \(limit) bytes")
    } catch is HTTPParserError {
      throw HTTPError.invalidBody
    }
  }
}

extension HTTPError {
  /// RFC 9112 §7.1: where a body goes wrong nothing behind it can be trusted.
  static var invalidBody: HTTPError { LimitsMiddleware.closing(.badRequest, "the request's body is not valid HTTP") }
}
