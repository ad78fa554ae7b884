import HTTPTransport
import HTTPTypes
import Hummingbird
import NIOCore
import ServerKit

/// The gateway's own response to a TRACE or OPTIONS request at its last hop. RFC 9110 §9.3.7, §9.3.8.
enum TerminalResponse {
  /// The fields with credentials, which TRACE must not send back.
  private static let secret: Set<HTTPField.Name> = [.authorization, .cookie, .proxyAuthorization]

  static func to(_ head: HTTPRequest, version: RequestVersion) -> Response {
    guard head.method == .trace else { return Response(status: .ok, headers: [.contentLength: "0"]) }
    let host = head.authority.map { ["Host: \($0)"] } ?? []
    let fields = head.headerFields.filter { !secret.contains($0.name) }.map { "\($0.name.rawName): \($0.value)" }
    let lines = ["TRACE \(head.path ?? "*") HTTP/\(version.rawValue)"] + host + fields
    let text = lines.joined(separator: "\r\n") + "\r\n\r\n"
    let body = ByteBuffer(bytes: OpaqueText.bytes(of: text.utf8))
    return Response(
      status: .ok, headers: [.contentType: "message/http", .contentLength: "\(body.readableBytes)"],
      body: ResponseBody(byteBuffer: body))
  }
}
