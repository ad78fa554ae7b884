import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging

/// Gives each request an id, in its log lines and in `X-Request-Id` of its response. A client's own id is used if it is
/// short and plain, so that it cannot forge log lines.
package struct RequestIDMiddleware: RouterMiddleware {

  package init() {}
  package typealias Context = HostRequestContext

  /// The name of the id in log lines.
  static let logKey = "hb.request.id"

  package func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let id = Self.given(request.head, context.replay) ?? Self.newID()
    var context = context
    context.requestID = id
    var response = try await next(request, context)
    response.headers[.requestID] = id
    return response
  }

  /// Returns the client's own id, with which the response must not be replayed; `nil` if there is none.
  static func given(_ head: HTTPRequest, _ replay: ReplayContext?) -> String? {
    let given = sane(head.headerFields[.requestID])
    if given != nil { replay?.forbid() }
    return given
  }

  /// Returns 16 hexadecimal digits.
  static func newID() -> String { Hex.encode(UniqueNumber.next()) }

  /// Returns the id if it has at most 128 letters, digits, `-`, `_`, `.`, `:`; otherwise `nil`.
  static func sane(_ id: String?) -> String? {
    guard let id, !id.isEmpty, id.utf8.count <= 128 else { return nil }
    let isPlain = id.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x3A, 0x5F: true
      default: false
      }
    }
    return isPlain ? id : nil
  }
}

extension HTTPField.Name {
  static let requestID = HTTPField.Name("X-Request-Id") ?? .from
}
