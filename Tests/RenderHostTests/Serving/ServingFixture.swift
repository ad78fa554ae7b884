import CurlTransport
import Fleet
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import PageKit
import PageTesting
import TestSupport
import Testing

@testable import RenderHost
@testable import ServerKit

/// A host with a served folder on its own port, and a client for it.
struct ServingFixture: Sendable {
  let serving: Serving
  let record: HostRecord
  let port: Int
  let transport: CurlTransport
  let directory: TemporaryDirectory

  struct Answer: Sendable {
    let status: Int
    let fields: HTTPFields
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    subscript(name: String) -> String? { HTTPField.Name(name).flatMap { fields[$0] } }
  }

  var feed: ReleaseFeed { serving.feed }

  /// The served folder.
  var folder: String { directory.file("bundles") }

  static let home = "// home\n" + String(repeating: "var d = weex.document\n", count: 200)
  static let picture = "<svg width='4' height='3'>" + String(repeating: "<g/>", count: 60) + "</svg>"

  /// Makes a host for a folder with a script and a picture, and waits until it is ready.
  static func folder(
    _ directory: TemporaryDirectory? = nil, _ body: @escaping @Sendable (ServingFixture) async throws -> Void
  ) async throws {
    let known = directory != nil
    let directory = try directory ?? TemporaryDirectory()
    if !known {
      try write(home, to: directory.file("bundles/home.js"))
      try write(picture, to: directory.file("bundles/images/logo.svg"))
    }
    try await running(directory, { $0.bundles = directory.file("bundles") }, body)
  }

  static func running(
    _ directory: TemporaryDirectory, _ change: (inout Settings) -> Void, fleet: FleetMember? = nil,
    _ body: @escaping @Sendable (ServingFixture) async throws -> Void
  ) async throws {
    var settings = Settings()
    settings.store = StoreDirectory(directory.file("store"))
    settings.webhookSecret = "secret"
    change(&settings)
    var logger = Logger(label: "test")
    logger.logLevel = .error
    var configuration = HostConfiguration(manifest: try Serving.source(settings), store: settings.store)
    try Serving.configure(&configuration, settings)
    configuration.logger = logger
    configuration.network.retry = RetryPolicy(attempts: 1)
    let record = HostRecord()
    let serving = try Serving(
      settings, host: PageHost(configuration), record: record, executable: RunningProgram.built("renderhost"),
      fleet: fleet, logger: logger)
    let router = Router(context: HostRequestContext.self)
    serving.add(to: router)
    let fleetHost = FleetHost(gateway: nil, purge: nil, serving: serving, hits: { nil }, logger: logger)
    let services = serving.services + [fleet?.service(fleetHost)].compactMap(\.self)
    let application = Application(router: router, services: services, logger: logger)
    let transport = try CurlTransport(.init(connectionsPerHost: 64))
    try await application.serve { client in
      let fixture = ServingFixture(
        serving: serving, record: record, port: client.port, transport: transport,
        directory: directory)
      try await fixture.wait { $0.readiness.hasAsked }
      try await body(fixture)
    }
  }

  static func write(_ text: String, to path: String) throws {
    let url = URL(fileURLWithPath: path)
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  func write(_ text: String, _ path: String) throws { try Self.write(text, to: "\(folder)/\(path)") }

  // MARK: Requests

  func get(_ path: String, _ fields: [String: String] = [:], _ method: HTTPRequest.Method = .get, body: String = "")
    async throws -> Answer
  {
    let response = try await transport.send(request(path, fields, method, body: body))
    var bytes: [UInt8] = []
    for try await chunk in response.body { bytes += chunk }
    return Answer(status: response.head.status.code, fields: response.head.headerFields, body: bytes)
  }

  func request(
    _ path: String, _ fields: [String: String] = [:], _ method: HTTPRequest.Method = .get, body: String = ""
  ) -> TransportRequest {
    var head = HTTPRequest(method: method, scheme: "http", authority: "127.0.0.1:\(port)", path: path)
    for (name, value) in fields { HTTPField.Name(name).map { head.headerFields[$0] = value } }
    return TransportRequest(head, body: Array(body.utf8))
  }

  /// The answer once it has a date, which is absent in the first second.
  func dated(_ path: String) async throws -> Answer {
    let deadline = ContinuousClock.now + .seconds(20)
    while true {
      let answer = try await get(path)
      if answer.fields.contains(.lastModified) || ContinuousClock.now > deadline { return answer }
      try await Task.sleep(for: .milliseconds(50))
    }
  }

  func manifest() async throws -> Manifest { try Manifest(reading: try await get("/manifest.json").body) }

  /// The value of a counter; 0 if nothing was counted.
  func count(_ name: String, _ labels: [String: String] = [:]) throws -> Double {
    try StrictMetrics(record.metrics.registry.text(.prometheus)).value(name, labels) ?? 0
  }

  /// The secret that signs webhook calls.
  static func signature(_ body: String) throws -> String {
    let digest = try #require(WebhookSignature(secret: "secret").digest(of: Array(body.utf8)))
    return "sha256=" + digest.map { String(format: "%02x", $0) }.joined()
  }

  // MARK: Waiting

  struct NotSo: Error {
    let readiness: ReleaseReadiness
  }

  /// Waits until the feed satisfies a condition; the feed signals each change.
  func wait(
    within limit: Duration = .seconds(30), until isSo: @escaping @Sendable (ReleaseFeed) -> Bool
  ) async throws {
    let changes = try #require(feed.changes())
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        if isSo(feed) { return }
        for await _ in changes where isSo(feed) { return }
      }
      group.addTask {
        try await Task.sleep(for: limit)
        throw NotSo(readiness: feed.readiness)
      }
      try await group.next()
      group.cancelAll()
    }
  }

  /// Waits for a release whose path has this text.
  func waitForRelease(_ path: String, _ text: String?, within limit: Duration = .seconds(30)) async throws {
    let md5 = try text.map { try ContentDigests(of: Array($0.utf8)).md5 }
    try await wait(within: limit) { feed in feed.current?.entry(at: path)?.bundle.md5 == md5 }
  }
}
