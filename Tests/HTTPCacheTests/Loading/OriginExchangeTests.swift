import HTTPCaching
import HTTPTypes
import PageTesting
import Synchronization
import TestSupport
import Testing

@testable import HTTPCache
@testable import HTTPTransport

/// Requests that were begun without a task.
struct OriginExchangeTests {
  /// Answers with each response in turn, and can begin no request once it is busy.
  private final class ScriptedTransport: CallbackTransporting {
    private let responses: Mutex<[TransportResponse]>
    let isBusy = Atomic(false)
    let count = Atomic(0)

    init(_ responses: [(status: Int, fields: HTTPFields)]) {
      self.responses = Mutex(
        responses.reversed().map { status, fields in
          TransportResponse(head: HTTPResponse(status: .init(code: status), headerFields: fields), body: Body([65]))
        })
    }

    private func next(_ request: TransportRequest) throws -> TransportResponse {
      count.add(1, ordering: .relaxed)
      return try responses.withLock { responses in
        guard let response = responses.popLast() else { throw TransportError.shutDown(url: request.url) }
        return response
      }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse { try next(request) }

    var mayBegin: Bool { true }

    func begin(
      _ request: TransportRequest, on loop: @escaping EventLoopCall,
      _ receive: @escaping @Sendable (Result<TransportResponse, any Error>) -> Void
    ) -> (@Sendable () -> Void)? {
      guard !isBusy.load(ordering: .relaxed) else { return nil }
      let result = Result { try next(request) }
      loop { receive(result) }
      return {}
    }
  }

  private let folder: TemporaryDirectory
  private let request: ResourceRequest

  init() throws {
    folder = try TemporaryDirectory()
    var request = ResourceRequest("https://a.example/a", followsRedirects: false)
    request.partition = .shared
    // Others wait for the network for a time only, which takes a task.
    request.behavior = .protocolCache
    self.request = request
  }

  private func loader(_ transport: ScriptedTransport) throws -> ResourceLoader {
    var options = ResponseStore.Options()
    (options.remembersKeys, options.readsAtOnce) = (true, true)
    let store = try ResponseStore(at: ResponseDirectory(folder.file("responses")), options: options)
    return ResourceLoader(
      cache: try ResponseCache(
        store: store, memoryCapacity: 1 << 20, allowingNone: true, policy: CachePolicy(mode: .shared)),
      transport: transport)
  }

  /// Begins the request, and returns the exchange that a task is to go on with.
  private func begun(_ loader: ResourceLoader) async throws -> BegunExchange? {
    let received = Mutex<BegunResponse?>(nil)
    // A first look at the index may have to wait for the disk, and only tasks look for changes of others.
    try await eventually("it is begun") {
      _ = await loader.cache.responses(for: CacheKey(named: "other"))
      return loader.begin(request, on: { $0() }) { (nil, { response in received.withLock { $0 = response } }) } != nil
    }
    try await eventually("there is a response") { received.withLock { $0 != nil } }
    guard case .unfinished(let begun) = received.withLock(\.self) else {
      Issue.record("it needs no task")
      return nil
    }
    return begun
  }

  private func markAway(_ loader: ResourceLoader) throws {
    let url = try #require(PageURL("https://a.example/a"))
    for _ in 0..<2 { loader.reachability.record(TransportError.cannotConnect(url: url.text, reason: "test"), for: url) }
  }

  @Test("a request that could not be begun in its turn is not sent to a server that counts as unreachable by then")
  func notBegun() async throws {
    let transport = ScriptedTransport([(200, [.cacheControl: "no-store"]), (200, [.cacheControl: "no-store"])])
    let loader = try loader(transport)
    _ = try await loader.response(for: request).body.collect()
    transport.isBusy.store(true, ordering: .relaxed)
    var later = request
    later.begun = try await begun(loader)
    try markAway(loader)
    await #expect(throws: LoadError.self) { try await loader.response(for: later) }
    #expect(transport.count.load(ordering: .relaxed) == 1)
  }

  @Test(
    "a request that becomes conditional after it was begun is not sent to a server that counts as unreachable by then")
  func becameConditional() async throws {
    let transport = ScriptedTransport([
      (200, [.cacheControl: "no-store"]), (503, [:]), (200, [.cacheControl: "no-cache", .eTag: #""a""#]), (304, [:]),
    ])
    let loader = try loader(transport)
    _ = try await loader.response(for: request).body.collect()
    var later = request
    later.begun = try await begun(loader)
    // Another request's response is stored meanwhile.
    _ = try await loader.response(for: request).body.collect()
    try markAway(loader)
    await #expect(throws: LoadError.self) { try await loader.response(for: later) }
    #expect(transport.count.load(ordering: .relaxed) == 3)
  }
}
