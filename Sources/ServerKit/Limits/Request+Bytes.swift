import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTP1

extension Request {
  /// Reads the whole body.
  ///
  /// - Throws: `HTTPError`: 413 if it exceeds the limit, 400 if its chunks are invalid.
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
  /// RFC 9112 §7.1: after an invalid body the rest of the connection cannot be interpreted.
  static var invalidBody: HTTPError { LimitsMiddleware.closing(.badRequest, "the request's body is not valid HTTP") }
}
