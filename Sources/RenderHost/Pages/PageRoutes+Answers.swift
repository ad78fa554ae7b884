import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import PageKit
import PageWorkers
import ServerKit

extension PageRoutes {
  /// Reads a request's body as JSON.
  ///
  /// - Parameter shape: the expected shape, for the error.
  /// - Throws: ``PageFailure/badRequest(_:)``, `HTTPError`.
  func json<Value: Decodable & Sendable>(of request: Request, shape: String) async throws -> Value {
    let bytes = try await request.bytes(upTo: bodyLimit)
    do {
      return try await JSONValue.decode(Value.self, from: bytes)
    } catch {
      throw PageFailure.badRequest("the body is not \(shape): \(error.jsonReason)")
    }
  }

  static func format(of request: Request, default format: PageView.Format) throws -> PageView.Format {
    if let name = request.uri.queryParameters["format"] {
      guard let format = PageView.Format(rawValue: String(name)) else {
        let known = PageView.Format.allCases.map(\.rawValue).joined(separator: ", ")
        throw PageFailure.badRequest("there is no format \"\(name)\": use one of \(known)")
      }
      return format
    }
    guard let accepted = request.headers[.accept] else { return format }
    // RFC 9110 §12.5.1, for three types: the first one that the field names.
    for range in accepted.split(separator: ",") {
      switch range.split(separator: ";").first?.trimmingCharacters(in: [" "]).lowercased() {
      case "application/json": return .json
      case "text/plain": return .outline
      case "text/html": return .html
      default: continue
      }
    }
    return format
  }

  static func view(_ format: PageView.Format, _ request: Request) -> PageView {
    PageView(format: format, withStyles: request.uri.queryParameters["styles"] != nil)
  }

  /// The origin that a browser has requested, from which the preview loads its pictures; `nil` if it is unknown.
  static func origin(of request: Request) -> String? {
    guard let host = request.head.authority, !host.isEmpty,
      host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || ".:-[]".contains($0)) })
    else { return nil }
    return "\(request.head.scheme ?? "http")://\(host)"
  }

  static func response(
    _ page: OpenedPage, _ tree: [UInt8], status: HTTPResponse.Status = .ok
  ) -> Response {
    // The tree is JSON already and is inserted as it is.
    var bytes = JSONValue.object(page.json).text.dropLast()
    if page.id.isEmpty { bytes = JSONValue.object(page.json.filter { $0.key != "id" }).text.dropLast() }
    bytes += Array(",\"tree\":".utf8) + (tree.isEmpty ? Array("null".utf8) : tree) + Array("}".utf8)
    return JSONAnswer.text(Array(bytes), status: status)
  }

  static func response(text: [UInt8]) -> Response {
    Response(
      status: .ok, headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: text + [10])))
  }

  /// - Parameter pictures: the origin that pictures and fonts may come from besides the document's own.
  static func response(html: [UInt8], pictures: String) -> Response {
    let sources = "data: \(pictures)".trimmingCharacters(in: [" "])
    let policy =
      "default-src 'none'; style-src 'unsafe-inline'; img-src \(sources); font-src \(sources); "
      + "base-uri 'none'; form-action 'none'; sandbox"
    var headers: HTTPFields = [
      .contentType: "text/html; charset=utf-8", .cacheControl: "no-store", .contentSecurityPolicy: policy,
      .xContentTypeOptions: "nosniff",
    ]
    if let name = HTTPField.Name("Referrer-Policy") { headers[name] = "no-referrer" }
    return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: html)))
  }
}
