import Blobs
import Foundation
import HTTPCache
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging
import PageKit
import PageTesting
import ServiceLifecycle
import TestServers

@testable import CacheGateway
@testable import RenderHost
@testable import ServerKit

/// A gateway on a port of its own, and an origin behind it.
final class GatewayFixture: Sendable {
  let origin: FaultOrigin
  let port: Int
  let report: GatewayReport
  let record: HostRecord
  let gateway: Gateway
  /// The recorded responses of its listener.
  let recalled: RecordedResponses
  /// The answers that its listener makes without waiting.
  let prompt: PromptAnswers
  let purge: GatewayPurge
  private let group: ServiceGroup
  private let end: Task<Void, any Error>
  private let directory: TemporaryDirectory

  struct NotRunning: Error {}

  private init(
    _ origin: FaultOrigin, now: (@Sendable () -> HTTPDate)?, lines: Monitor<[Data]>?,
    _ change: (inout Settings) -> Void
  ) async throws {
    self.origin = origin
    directory = try TemporaryDirectory()
    var settings = Settings()
    settings.store = StoreDirectory(directory.file("store"))
    settings.gateway.address = ("127.0.0.1", 0)
    settings.gateway.origins = PageURL(origin.url(for: "/")).map { [OriginSettings(url: $0)] } ?? []
    change(&settings)
    var logger = Logger(label: "test")
    logger.logLevel = .error
    if let lines {
      logger = Logger(label: "test") { JSONLogHandler(label: $0) { line in lines.change { $0.append(line) } } }
    }
    record = HostRecord()
    let metrics = record.metrics
    guard let address = settings.gateway.address else { throw NotRunning() }
    gateway = try Gateway(
      settings.gateway.origins, store: settings.store, isSecure: settings.certificate != nil, record: record,
      logger: logger, now: now ?? ResourceLoader.Configuration().now)
    var tls: TLSReloader?
    if let certificate = settings.certificate, let key = settings.privateKey {
      tls = try TLSReloader(TLSFiles(certificate: certificate, privateKey: key))
    }
    report = GatewayReport(gateway: gateway, metrics: metrics)
    purge = GatewayPurge(of: gateway, metrics: metrics)
    let bound = Monitor<Int?>(nil)
    let server = GatewayServer(
      gateway: gateway, settings: settings.server, metrics: metrics, logger: logger,
      whenRunning: { address in bound.change { $0 = address?.port ?? -1 } })
    (recalled, prompt) = (server.answers, server.prompt)
    let group = ServiceGroup(
      configuration: .init(services: [try server.service(address, tls: tls)], logger: logger))
    self.group = group
    end = Task { try await group.run() }
    try await bound.wait(within: .seconds(20), until: { $0 != nil })
    guard let port = bound.read({ $0 }), port > 0 else { throw NotRunning() }
    self.port = port
  }

  /// Another cache on the same folder, as another process would open it.
  func otherCache() throws -> ResponseCache {
    try ResponseCache(
      memoryCapacity: 1 << 20, diskCapacity: 1 << 30,
      directory: ResponseDirectory(directory.file("store") + "/gateway/origin"),
      policy: CachePolicy(mode: .shared))
  }

  /// - Parameter lines: receives the log lines.
  static func running(
    _ change: (inout Settings) -> Void = { _ in }, now: (@Sendable () -> HTTPDate)? = nil,
    lines: Monitor<[Data]>? = nil,
    _ body: (GatewayFixture) async throws -> Void
  ) async throws {
    let origin = try await FaultOrigin.start()
    let fixture = try await GatewayFixture(origin, now: now, lines: lines, change)
    do { try await body(fixture) } catch {
      await fixture.stop()
      throw error
    }
    await fixture.stop()
  }

  /// A fixture whose clients connect over TLS.
  static func secure(
    _ change: (inout Settings) -> Void = { _ in }, _ body: (GatewayFixture) async throws -> Void
  ) async throws {
    let folder = try TemporaryDirectory()
    let files = try await TLSFiles.made("gateway", in: folder)
    try await running {
      ($0.certificate, $0.privateKey) = (files.certificate, files.privateKey)
      change(&$0)
    } _: {
      try await body($0)
    }
  }

  func stop() async {
    await group.triggerGracefulShutdown()
    _ = try? await end.value
    try? await origin.stop()
  }

  /// The number of requests to the first origin with a result.
  func answers(_ result: GatewayResult) -> Int64 { report.origins.first?.answers[result.rawValue] ?? 0 }

  /// `true` if requests are sent to the first origin.
  var isUp: Bool { report.origins.first?.isUp ?? false }

  struct Answer: Sendable {
    let status: Int
    let fields: [(name: String, value: String)]
    let body: String

    subscript(name: String) -> String? {
      let values = fields.filter { $0.name == name }.map(\.value)
      return values.isEmpty ? nil : values.joined(separator: ", ")
    }
  }

  /// A client on a connection that stays open, whose request the origin has and holds until ``FaultOrigin/release(_:)``.
  ///
  /// - Parameters:
  ///   - earlier: requests that are sent before it.
  ///   - later: bytes that are sent with it, behind it.
  func held(_ path: String, after earlier: String = "", behind later: String = "") async throws -> RawClient {
    origin.hold(path)
    let (count, client) = (origin.requestCount(path: path), try RawClient(port: port))
    client.send(earlier + "GET \(path) HTTP/1.1\r\nHost: api.example.com\r\n\r\n" + later)
    try await origin.waitForRequests(count + 1, to: path)
    return client
  }

  /// Sends one request on its own connection, and reads to the connection's end.
  func get(
    _ path: String, _ fields: [String] = [], method: String = "GET", body: String? = nil,
    host: String = "api.example.com"
  ) async throws -> Answer {
    let client = try RawClient(port: port)
    let lines =
      ["\(method) \(path) HTTP/1.1", "Host: \(host)", "Connection: close"] + fields
      + (body.map { ["Content-Length: \($0.utf8.count)"] } ?? [])
    client.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
    let text = try await client.readToEnd()
    guard let border = text.range(of: "\r\n\r\n") else { return Answer(status: 0, fields: [], body: text) }
    let head = text[..<border.lowerBound].components(separatedBy: "\r\n")
    let parts = head.dropFirst().map { line in
      let pair = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      return (name: (pair.first ?? "").lowercased(), value: pair.count > 1 ? pair[1] : "")
    }
    let status = Int(head.first?.split(separator: " ").dropFirst().first ?? "") ?? 0
    return Answer(status: status, fields: parts, body: String(text[border.upperBound...]))
  }
}
