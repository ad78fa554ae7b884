import CurlTransport
import Foundation
import HTTPCaching
import HTTPTypes
import PageTesting
import TestSupport
import Testing

@testable import Bundles
@testable import HTTPCache
@testable import HTTPTransport

/// An origin, and a loader with a cache of its own whose time stands still until it is moved.
struct ResourceFixture {
  let origin: FaultOrigin
  let folder: TemporaryDirectory
  let time: Timepiece
  let store: ResponseStore
  let cache: ResponseCache
  let transport: CurlTransport
  let loader: ResourceLoader
  /// Every URL the network was to be asked for, in order.
  let asked: Recorder<String>

  struct Options {
    var cookies: (any CookieStoring)?
    var bundles: BundleStore?
    var memoryCapacity = 4 << 20
    var saver = DataSaver()
    var mode = CachePolicy.Mode.private
    var sharesCookies = false
    /// Stands for the store that responses are kept in.
    var wrapStore: (ResponseStore) -> any ResponseStoring = { $0 }
    var configure: (inout ResourceLoader.Configuration, FaultOrigin) throws -> Void = { _, _ in }
  }

  private init(origin: FaultOrigin, folder: TemporaryDirectory, options: Options) throws {
    self.origin = origin
    self.folder = folder
    let time = Timepiece()
    let asked = Recorder<String>()
    self.time = time
    self.asked = asked
    store = try ResponseStore(at: ResponseDirectory(folder.file("responses")))
    var policy = CachePolicy(mode: options.mode)
    policy.sharesCookies = options.sharesCookies
    cache = try ResponseCache(
      store: options.wrapStore(store), memoryCapacity: options.memoryCapacity, allowingNone: true, policy: policy)
    transport = try CurlTransport()
    var configuration = ResourceLoader.Configuration()
    configuration.now = { time.date }
    // A machine that is busy with all the other tests is slow, and not wrong.
    configuration.limits.lowSpeedTime = .seconds(60)
    try options.configure(&configuration, origin)
    let permission = configuration.permission
    configuration.permission = { url in
      asked.append(url.text)
      try permission(url)
    }
    loader = ResourceLoader(
      cache: cache, transport: transport, cookies: options.cookies,
      files: options.bundles.map { ReleaseFiles($0).file },
      reachability: Reachability(now: { time.instant }), saver: options.saver, configuration: configuration)
  }

  static func running<Result>(
    _ options: Options = Options(), _ body: (ResourceFixture) async throws -> Result
  ) async throws -> Result {
    try await FaultOrigin.running { origin in
      let folder = try TemporaryDirectory()
      defer { withExtendedLifetime(folder) {} }
      return try await body(try ResourceFixture(origin: origin, folder: folder, options: options))
    }
  }

  static func running<Result>(
    configuring configure: @escaping (inout ResourceLoader.Configuration, FaultOrigin) throws -> Void,
    _ body: (ResourceFixture) async throws -> Result
  ) async throws -> Result {
    try await running(Options(configure: configure), body)
  }

  // MARK: Serving

  func serve(
    _ path: String, _ text: String, etag: String? = nil, cacheControl: String? = nil, headers: HTTPFields = [:]
  ) {
    var fields = headers
    if let cacheControl { fields[.cacheControl] = cacheControl }
    origin.serve(path, Array(text.utf8), contentType: "text/plain", etag: etag, headers: fields)
  }

  func url(_ path: String) throws -> PageURL { try #require(PageURL(origin.url(for: path), ignoring: [])) }

  // MARK: Asking

  func request(
    _ path: String, _ behavior: LoadBehavior? = nil, method: HTTPRequest.Method = .get, fields: HTTPFields = [:],
    body: String = "", type: ResourceType = .other, priority: LoadPriority = .normal
  ) -> ResourceRequest {
    ResourceRequest(
      path.hasPrefix("/") ? origin.url(for: path) : path, type: type, method: method, fields: fields,
      body: Array(body.utf8), behavior: behavior, priority: priority)
  }

  @discardableResult
  func load(
    _ path: String, _ behavior: LoadBehavior? = nil, method: HTTPRequest.Method = .get, fields: HTTPFields = [:],
    body: String = "", type: ResourceType = .other
  ) async throws -> Answer {
    try await load(request(path, behavior, method: method, fields: fields, body: body, type: type))
  }

  @discardableResult
  func load(_ request: ResourceRequest) async throws -> Answer {
    let loaded = try await loader.response(for: request)
    return Answer(loaded: loaded, bytes: try await loaded.body.collect())
  }

  /// Answers, each with its text.
  func updates(_ request: ResourceRequest) async throws -> [String] {
    var lines: [String] = []
    for await update in loader.updates(for: request) { lines.append(try await update.line) }
    return lines
  }

  func outgoing(_ request: ResourceRequest) throws -> OutgoingRequest {
    guard case .network(let outgoing, _) = try loader.requests.prepare(request) else {
      throw LoadError.invalidReference(request.reference)
    }
    return outgoing
  }

  /// The stored body of a path, as text.
  func stored(_ path: String) async throws -> String? {
    let outgoing = try outgoing(request(path))
    guard let found = await cache.responses(for: outgoing.key, fields: outgoing.head.headerFields).last else {
      return nil
    }
    let body = try #require(await cache.body(of: found))
    return String(decoding: try body.read(at: 0, upTo: Int(body.count)), as: UTF8.self)
  }

  /// Returns when so many wait for the same answer as this request.
  func waitForPassengers(_ count: Int, _ request: ResourceRequest) async throws {
    let outgoing = try outgoing(request)
    let key = FlightKey(outgoing, outgoing.head)
    try await eventually("\(count) wait") { loader.inFlight.passengers(of: key) == count }
  }

  /// Returns when nothing is under way any more, and nothing was left behind by what was.
  func waitUntilIdle() async throws {
    await loader.finishBackgroundWork()
    try await eventually("nothing is under way") {
      loader.inFlight.isEmpty && loader.gate.counts.expected == 0
    }
  }
}

struct Answer {
  let loaded: Resource
  let bytes: [UInt8]

  var text: String { String(decoding: bytes, as: UTF8.self) }
  var status: Int { loaded.status }
  var source: Resource.Source { loaded.source }
  var fields: HTTPFields { loaded.response.headerFields }
}

extension ResourceUpdate {
  var line: String {
    get async throws {
      func text(_ loaded: Resource) async throws -> String {
        String(decoding: try await loaded.body.collect(), as: UTF8.self)
      }
      switch self {
      case .cached(let loaded): return "cached: \(try await text(loaded))"
      case .network(let loaded): return "network: \(try await text(loaded))"
      case .notModified(let loaded): return "notModified: \(try await text(loaded))"
      case .failed(let failure):
        guard let answer = failure.answer else { return "failed" }
        return "failed: \(answer.status) \(try await text(answer))"
      }
    }
  }
}
