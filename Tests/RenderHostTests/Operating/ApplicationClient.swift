import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PageTesting
import ServiceLifecycle
import TestServers
import Testing

/// A client of an application that runs on loopback. Each request has a connection of its own.
struct ApplicationClient: Sendable {
  let port: Int

  struct Answer: Sendable {
    let status: HTTPResponse.Status
    let headers: HTTPFields
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// Parses all bytes of a connection that the server has closed.
    init(_ bytes: [UInt8]) throws {
      let end = try #require(bytes.firstRange(of: Array("\r\n\r\n".utf8)), "no head in \(bytes.count) bytes")
      let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
      let code = lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) }
      status = .init(code: try #require(code, "\(lines[0])"))
      var headers = HTTPFields()
      for line in lines.dropFirst() {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = try #require(HTTPField.Name(String(parts[0])), "\(line)")
        headers.append(HTTPField(name: name, value: parts.count == 2 ? String(parts[1]) : ""))
      }
      self.headers = headers
      let rest = bytes[end.upperBound...]
      body = headers[.transferEncoding] == "chunked" ? try Self.joined(rest) : Array(rest)
    }

    /// The content of a chunked body. RFC 9112 §7.1.
    private static func joined(_ chunks: ArraySlice<UInt8>) throws -> [UInt8] {
      var (rest, body): (ArraySlice<UInt8>, [UInt8]) = (chunks, [])
      while true {
        let line = try #require(rest.firstRange(of: Array("\r\n".utf8)), "a chunk without its size")
        let size = try #require(Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16))
        rest = rest[line.upperBound...]
        guard size > 0 else { return body }
        try #require(rest.count >= size + 2, "a chunk without its end")
        body += rest.prefix(size)
        rest = rest.dropFirst(size + 2)
      }
    }
  }

  /// Sends a request with `Host: localhost`, and reads the answer.
  func execute(
    uri: String, method: HTTPRequest.Method, headers: HTTPFields = [:], body: String? = nil
  ) async throws -> Answer {
    var lines = ["\(method.rawValue) \(uri) HTTP/1.1", "Host: localhost", "Connection: close"]
    lines += headers.map { "\($0.name.rawName): \($0.value)" }
    if let body { lines.append("Content-Length: \(body.utf8.count)") }
    let client = try RawClient(port: port)
    client.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
    return try Answer(try await client.bytesToEnd())
  }

  /// Sends a request, and checks the answer.
  @discardableResult
  func execute<Value>(
    uri: String, method: HTTPRequest.Method, headers: HTTPFields = [:], body: String? = nil,
    _ check: (Answer) throws -> Value
  ) async throws -> Value {
    try check(try await execute(uri: uri, method: method, headers: headers, body: body))
  }
}

extension ApplicationProtocol {
  /// Runs the application on a free port of loopback until `body` ends.
  ///
  /// - Throws: the error of `body`, or that of the application if it ends first.
  func serve<Value: Sendable>(
    _ body: @escaping @Sendable (ApplicationClient) async throws -> Value
  ) async throws -> Value {
    let application = LoopbackApplication(base: self)
    let services = ServiceGroup(
      configuration: .init(services: [.init(service: application)], logger: application.logger))
    return try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask {
        try await services.run()
        return nil
      }
      group.addTask {
        try await application.port.wait(within: .seconds(60), until: { $0 != nil })
        let port = try #require(application.port.read { $0 })
        let result: Result<Value, any Error>
        do { result = .success(try await body(ApplicationClient(port: port))) } catch { result = .failure(error) }
        await services.triggerGracefulShutdown()
        return try result.get()
      }
      var value: Value?
      for try await result in group { value = result ?? value }
      return try #require(value, "the application ended early")
    }
  }
}

/// An application on a free port of loopback, which it reports.
private struct LoopbackApplication<Base: ApplicationProtocol>: ApplicationProtocol {
  typealias Responder = Base.Responder

  let base: Base
  let port = Monitor<Int?>(nil)

  var responder: Responder { get async throws { try await base.responder } }
  var configuration: ApplicationConfiguration { base.configuration.with(address: .hostname("127.0.0.1", port: 0)) }
  var logger: Logger { base.logger }
  var services: [any Service] { base.services }
  var processesRunBeforeServerStart: [@Sendable () async throws -> Void] { base.processesRunBeforeServerStart }

  @Sendable func onServerRunning(_ channel: any Channel) async {
    await base.onServerRunning(channel)
    port.change { $0 = channel.localAddress?.port }
  }
}
