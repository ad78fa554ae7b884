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

  /// Gives the first response to the event loop while that is cancelled, and then cuts its body, once it is told to; later
  /// ones are whole.
  private final class CuttingTransport: CallbackTransporting {
    private final class Reader: CallbackReading {
      var summary: TransferSummary { TransferSummary() }

      func next(
        on loop: @escaping EventLoopCall, _ receive: @escaping @Sendable (Result<[UInt8]?, any Error>) -> Void
      ) { Issue.record("it is read by an event loop") }
    }

    private let head = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"])
    private let (isTold, told) = AsyncStream.makeStream(of: Void.self)

    func cut() { told.finish() }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
      TransportResponse(head: head, body: Body([66]))
    }

    var mayBegin: Bool { true }

    func begin(
      _ request: TransportRequest, on loop: @escaping EventLoopCall,
      _ receive: @escaping @Sendable (Result<TransportResponse, any Error>) -> Void
    ) -> (@Sendable () -> Void)? {
      let body = Body(
        next: { [isTold] in
          for await _ in isTold {}
          throw TransportError.closedEarly(url: request.url, received: 0, reason: "it was cut")
        }, summary: { TransferSummary() }, callbacks: Reader())
      return { [head] in loop { receive(.success(TransportResponse(head: head, body: body))) } }
    }
  }

  /// Keeps the first response until it is released; later ones come at once.
  private final class HoldingTransport: CallbackTransporting {
    private let first: TransportResponse
    private let held = Mutex<(@Sendable () -> Void)?>(nil)

    init(_ status: Int) {
      let head = HTTPResponse(status: .init(code: status), headerFields: [.cacheControl: "no-store"])
      first = TransportResponse(head: head, body: Body([65]))
    }

    /// - Returns: `false` if no request was begun.
    func release() -> Bool {
      let give = held.withLock { held in
        defer { held = nil }
        return held
      }
      give?()
      return give != nil
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
      TransportResponse(head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "no-store"]), body: Body([66]))
    }

    var mayBegin: Bool { true }

    func begin(
      _ request: TransportRequest, on loop: @escaping EventLoopCall,
      _ receive: @escaping @Sendable (Result<TransportResponse, any Error>) -> Void
    ) -> (@Sendable () -> Void)? {
      held.withLock { [first] held in held = { loop { receive(.success(first)) } } }
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

  private func cache() throws -> ResponseCache {
    var options = ResponseStore.Options()
    (options.remembersKeys, options.readsAtOnce) = (true, true)
    let store = try ResponseStore(at: ResponseDirectory(folder.file("responses")), options: options)
    return try ResponseCache(
      store: store, memoryCapacity: 1 << 20, allowingNone: true, policy: CachePolicy(mode: .shared))
  }

  private func loader(_ transport: some CallbackTransporting) throws -> ResourceLoader {
    ResourceLoader(cache: try cache(), transport: transport)
  }

  /// Begins a request, and returns the exchange that a task is to go on with.
  private func begun(_ loader: ResourceLoader, _ request: ResourceRequest? = nil) async throws -> BegunExchange? {
    let request = request ?? self.request
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

  @Test("a request that was begun gets what its exchange has brought, whatever was stored meanwhile")
  func storedMeanwhile() async throws {
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
    #expect(try await loader.response(for: later).status == 503)
    #expect(transport.count.load(ordering: .relaxed) == 3)
  }

  @Test(
    "a server's error that is stored is given as it came, and is not asked for again",
    arguments: [
      [.cacheControl: "max-age=60"], [.cacheControl: "max-age=0", .eTag: #""a""#],
      [.cacheControl: "max-age=0, stale-while-revalidate=60", .eTag: #""a""#],
    ] as [HTTPFields], [[:], [.cacheControl: "no-cache"]] as [HTTPFields])
  func storedError(_ fields: HTTPFields, to asked: HTTPFields) async throws {
    let transport = ScriptedTransport([(503, fields), (304, fields)])
    let loader = try loader(transport)
    var later = request
    later.fields = asked
    later.begun = try await begun(loader, later)
    try await eventually("it is stored") { loader.inFlight.isEmpty }
    let response = try await loader.response(for: later)
    #expect(response.status == 503 && response.source == .network)
    #expect(response.cacheStatus == CacheStatus(.forwarded(.notStored), isStored: true))
    #expect(try await response.body.collect() == [65])
    await loader.finishBackgroundWork()
    #expect(transport.count.load(ordering: .relaxed) == 1)
  }

  @Test("another loader does not go on with an exchange")
  func otherLoader() async throws {
    let transport = ScriptedTransport([(503, [:]), (200, [.cacheControl: "no-store"])])
    var later = request
    later.begun = try await begun(try loader(transport))
    #expect(try await loader(transport).response(for: later).status == 200)
    #expect(transport.count.load(ordering: .relaxed) == 2)
  }

  @Test("an event loop does not look for the changes of other processes")
  func noLook() async throws {
    let cache = try cache()
    let hasPassed = Atomic(false)
    var configuration = ResourceLoader.Configuration()
    let now = configuration.now
    configuration.now = {
      // As if it had looked a second ago: between its first look at the cache and the exchange.
      if hasPassed.exchange(false, ordering: .relaxed) { cache.foreignChanges.expire() }
      return now()
    }
    let transport = ScriptedTransport([(200, [.cacheControl: "no-store"])])
    let loader = ResourceLoader(cache: cache, transport: transport, configuration: configuration)
    try await eventually("it is begun") {
      _ = await cache.responses(for: CacheKey(named: "other"))
      hasPassed.store(true, ordering: .relaxed)
      return loader.begin(request, on: { $0() }) { (nil, { _ in }) } != nil
    }
    #expect(!hasPassed.load(ordering: .relaxed) && !cache.isWatched)
  }

  @Test("a response that arrives while the last client goes away is given to no later one, which it would be cut for")
  func cancelledAtHead() async throws {
    let transport = CuttingTransport()
    let loader = try loader(transport)
    let leave = Mutex<(@Sendable () -> Void)?>(nil)
    try await eventually("it is begun") {
      _ = await loader.cache.responses(for: CacheKey(named: "other"))
      guard case .asked(let cancel) = loader.begin(request, on: { $0() }, { (nil, { _ in }) }) else { return false }
      leave.withLock { $0 = cancel }
      return true
    }
    let other = Task { [request] in try await loader.response(for: request) }
    try await eventually("it has joined") { loader.inFlight.passengerCount == 2 }
    let goAway = try #require(leave.withLock { $0 })
    goAway()
    #expect(loader.inFlight.passengerCount == 1)
    other.cancel()
    let outcome = await other.result
    let next = try await loader.response(for: request)
    transport.cut()
    #expect(try await next.body.collect() == [66])
    withExtendedLifetime(outcome) {}
  }

  @Test(
    "a client that goes away while its response is handed to a task leaves nothing under way, and no place taken",
    .timeLimit(.minutes(1)), arguments: [503, 200])
  func leftAtArrival(_ status: Int) async throws {
    let transport = HoldingTransport(status)
    let goAway = Mutex<(@Sendable () -> Void)?>(nil)
    var configuration = ResourceLoader.Configuration()
    configuration.transfers = 1
    let now = configuration.now
    configuration.now = {
      // It is asked for between the arrival of the response and what goes on with it.
      let leave = goAway.withLock { goAway in
        defer { goAway = nil }
        return goAway
      }
      leave?()
      return now()
    }
    let loader = ResourceLoader(cache: try cache(), transport: transport, configuration: configuration)
    let received = Atomic(0)
    var leave: (@Sendable () -> Void)?
    try await eventually("it is begun") {
      _ = await loader.cache.responses(for: CacheKey(named: "other"))
      let begun = loader.begin(request, on: { $0() }) { (nil, { _ in received.add(1, ordering: .relaxed) }) }
      if case .asked(let cancel) = begun { leave = cancel }
      return leave != nil
    }
    goAway.withLock { $0 = leave }
    #expect(transport.release())
    #expect(goAway.withLock { $0 == nil }, "the client has left while the response arrived")
    try await eventually("nothing is under way") { loader.inFlight.isEmpty }
    #expect(received.load(ordering: .relaxed) <= 1)
    // Its place is the only one.
    let next = try await loader.response(for: request)
    #expect(try await next.body.collect() == [66])
  }
}
