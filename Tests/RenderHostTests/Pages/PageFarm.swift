import Foundation
import Hummingbird
import LivePages
import Logging
import PageKit
import PageTesting
import PageWorkers
import TestServers
import Testing

@testable import RenderHost
@testable import ServerKit

/// The pages of a daemon with a real origin and real worker processes.
struct PageFarm {
  let origin: FaultOrigin
  let running: PageRunning
  let record: HostRecord
  let client: ApplicationClient

  static func running<Result: Sendable>(
    _ bundles: [String: String], files: [String: String] = [:], workers: Int = 2, pageTime: Duration = .seconds(20),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, change: (inout Settings) -> Void = { _ in },
    changePool: (inout WorkerPool.Configuration) -> Void = { _ in },
    _ body: @escaping @Sendable (PageFarm) async throws -> Result
  ) async throws -> Result {
    let origin = try await FaultOrigin.start()
    let folder = try TemporaryDirectory()
    try publish(bundles, files: files, release: "r1", at: origin)
    var settings = Settings()
    settings.workers = workers
    settings.pageTime = pageTime
    settings.allowedOrigins = [origin.url(for: "")]
    change(&settings)
    let access = AccessGuard(try AccessPolicy(allowed: settings.allowedOrigins))
    var configuration = try HostConfiguration(
      manifest: origin.url(for: "/manifest.json"), store: StoreDirectory(folder.file("store")))
    configuration.logger = .init(label: "test") { _ in SwiftLogNoOpLogHandler() }
    try settings.configureScripts(&configuration)
    let host = try PageHost(configuration, transport: access.transport())
    _ = await host.preload().report()
    var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    logger.logLevel = .error
    let feed = ReleaseFeed()
    let record = access.record
    let variants = VariantDirectory(store: folder.file("store"), logger: logger)
    let representations = RepresentationStore(
      store: host.store, downloader: host.downloader, variants: variants, logger: logger)
    try await ReleasePublisher(
      host: host, feed: feed, representations: representations,
      deltas: DeltaStore(store: host.store, representations: representations, variants: variants), record: record,
      logger: logger
    ).publishStored()
    let running = PageRunning(
      host: host, access: access, settings: settings, executable: Daemon.executable,
      locations: PublicLocations(feed: feed, settings: settings), record: record, now: now, logger: logger,
      configure: { changePool(&$1) })
    let router = Router(context: HostRequestContext.self)
    let routes = PageRoutes(directory: running.directory, bodyLimit: settings.limits.body, heartbeat: .milliseconds(10))
    routes.add(to: router)
    LiveRoutes(pages: routes, sessions: BrowserSessions()).add(to: router)
    var application = Application(router: router, logger: logger)
    application.addServices(running)
    let result: Swift.Result<Result, any Error>
    do {
      result = .success(
        try await application.serve { client in
          let farm = PageFarm(origin: origin, running: running, record: record, client: client)
          try await farm.until { await running.workers.status().ready >= workers }
          return try await body(farm)
        })
    } catch {
      result = .failure(error)
    }
    try await origin.stop()
    return try result.get()
  }

  private static func publish(
    _ bundles: [String: String], files: [String: String], release: String, at origin: FaultOrigin
  ) throws {
    func entry(_ name: String, _ path: String, _ text: String) throws -> Manifest.Entry {
      let bytes = Array(text.utf8)
      let digests = try ContentDigests(of: bytes)
      origin.serve("/b/\(path)", bytes)
      return Manifest.Entry(name: name, path: path, size: digests.size, md5: digests.md5)
    }
    let manifest = Manifest(
      release: release, sequence: 1, base: "b/",
      bundles: try bundles.sorted { $0.key < $1.key }.map { try entry($0.key, "\($0.key).js", $0.value) },
      files: try files.sorted { $0.key < $1.key }.map { try entry($0.key, $0.key, $0.value) })
    origin.serve("/manifest.json", Array(try JSONEncoder().encode(manifest)), etag: "\"\(release)\"")
  }

  /// Serves another release, and brings it into the daemon's store.
  func publish(_ bundles: [String: String], files: [String: String] = [:], release: String) async throws {
    try Self.publish(bundles, files: files, release: release, at: origin)
    let host = running.directory.answers.host
    try await host.refresh()
    _ = await host.preload().report()
  }

  struct Answer: Sendable {
    let status: Int
    let headers: HTTPFields
    let body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    var json: JSONValue {
      (try? JSONValue(reading: Array(text.utf8), limits: JSONLimits(depth: 1_000, values: 1_000_000))) ?? .null
    }
  }

  func ask(
    _ method: HTTPRequest.Method = .get, _ path: String, _ body: String? = nil, headers: HTTPFields = [:]
  ) async throws -> Answer {
    let answer = try await client.execute(uri: path, method: method, headers: headers, body: body)
    return Answer(status: answer.status.code, headers: answer.headers, body: answer.body)
  }

  /// Opens a bundle, and returns the page's id.
  func open(_ name: String) async throws -> String {
    let answer = try await ask(.post, "/pages", "{\"name\":\"\(name)\"}")
    guard answer.status == 201, let id = answer.json["id"].text else { throw Unexpected(answer: "\(answer)") }
    return id
  }

  /// Waits for a condition with a time limit.
  func until(within limit: Duration = .seconds(60), _ isSo: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !isSo() {
      guard .now < deadline else { throw Unexpected(answer: "it did not come within \(limit)") }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// The value of a metric; `nil` if it was not set.
  func metric(_ name: String, _ labels: [String: String] = [:]) throws -> Double? {
    try StrictMetrics(record.metrics.registry.text(.prometheus)).value(name, labels)
  }

  func log(of id: String) async throws -> EventLog { try await running.directory.page(id).log }

  struct Unexpected: Error {
    let answer: String
  }
}

extension JSONValue {
  subscript(name: String) -> JSONValue { if case .object(let members) = self { members[name] ?? .null } else { .null } }
  var text: String? { if case .string(let text) = self { text } else { nil } }
  var count: Int? { if case .integer(let value) = self { Int(value) } else { nil } }
  var list: [JSONValue] { if case .array(let values) = self { values } else { [] } }
}

/// Bundles for tests.
enum Script {
  static let head = "// { \"framework\": \"Vanilla\" }\n"

  /// Shows a text; a click changes it.
  static let counter =
    head + """
      var d = weex.document, b = d.createBody('div'), n = 0
      d.documentElement.appendChild(b)
      var t = d.createElement('text', { attr: { value: 'clicks: 0' } })
      t.addEvent('click', function () { n += 1; t.setAttr('value', 'clicks: ' + n) })
      b.appendChild(t)
      """

  /// A script that creates a body and then runs `more`.
  static func page(_ more: String) -> String {
    head + "var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)\n" + more
  }

  static let endless = page("while (true) {}")
  /// The engine cannot stop this script.
  static let promises = page(";(function f() { Promise.resolve().then(f) })()")
  static let memory = page("var a = []; while (true) a.push(new Array(100000).fill(a.length))")
}
