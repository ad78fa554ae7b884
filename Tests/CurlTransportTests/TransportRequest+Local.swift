import HTTPTransport
import HTTPTypes
import PageTesting
import TestServers
import Testing

extension FaultOrigin {
  func request(
    _ path: String, _ method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: [UInt8] = [],
    limits: TransferLimits = .standard
  ) -> TransportRequest {
    .local(port: port, path, method, fields: fields, body: body, limits: limits)
  }
}

extension NginxServer {
  func request(_ path: String, limits: TransferLimits = .standard) -> TransportRequest {
    .local("https", port: port, path, limits: limits)
  }
}

extension TransportRequest {
  static func local(
    _ scheme: String = "http", port: Int, _ path: String, _ method: HTTPRequest.Method = .get,
    fields: HTTPFields = [:], body: [UInt8] = [], limits: TransferLimits = .standard
  ) -> TransportRequest {
    let head = HTTPRequest(
      method: method, scheme: scheme, authority: "127.0.0.1:\(port)", path: path, headerFields: fields)
    return TransportRequest(head, body: body, limits: limits)
  }
}

extension HTTPField.Name {
  /// A field name that is known to be valid.
  static func named(_ name: String) throws -> HTTPField.Name {
    try #require(HTTPField.Name(name))
  }
}
