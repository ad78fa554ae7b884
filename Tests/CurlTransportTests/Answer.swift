import CurlTransport
import HTTPTypes
import PageCore
import PageTesting
import TestServers
import Testing

/// A whole answer in memory.
struct Answer: Sendable {
  let head: HTTPResponse
  let body: [UInt8]
  let summary: TransferSummary

  var text: String { String(decoding: body, as: UTF8.self) }
}

extension CurlTransport {
  /// Sends a request and reads its answer to the end.
  func answer(to request: TransportRequest) async throws -> Answer {
    let response = try await send(request)
    var body: [UInt8] = []
    for try await chunk in response.body { body += chunk }
    return Answer(head: response.head, body: body, summary: await response.body.transferSummary())
  }

  /// What a transfer that must not succeed ends with, before its head or in its body.
  func failure(
    of request: TransportRequest, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TransportError {
    try await #require(throws: TransportError.self, sourceLocation: sourceLocation) {
      try await answer(to: request)
    }
  }
}

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
  /// A name that the test knows to be one.
  static func named(_ name: String) throws -> HTTPField.Name {
    try #require(HTTPField.Name(name))
  }
}

/// Bytes that no mistake leaves the same, as big as wanted and cheap to make: random blocks, each with its number.
enum SeededContent {
  static func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var generator = SeededGenerator(seed: seed)
    let block = generator.bytes(min(count, 64 << 10))
    guard count > block.count else { return block }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + block.count)
    var number: UInt32 = 0
    while bytes.count < count {
      withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
      bytes.append(contentsOf: block)
      number += 1
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}

/// Compares big bodies: a failure tells their sizes and where they part, not their bytes.
func expectSame(_ found: [UInt8], _ expected: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) {
  guard found != expected else { return }
  let parting = zip(found, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
  Issue.record(
    "\(found.count) bytes instead of \(expected.count), different from byte \(parting ?? min(found.count, expected.count))",
    sourceLocation: sourceLocation)
}
