import Foundation
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging

/// Answers requests of pages and of the app, from the cache and the network.
///
///     let loader = ResourceLoader(cache: try .shared, transport: try CurlTransport())
///     let home = try await loader.response(for: ResourceRequest("https://api.example.com/home.json"))
///     print(home.status, home.source, try await home.data.count)
///
/// `RequestBuilder` makes the request that is sent. `CacheLookup` decides with the stored responses. `OriginExchange`
/// asks the origin through `OriginSender`, once for equal requests (`InFlightRequests`). `ResponseRecorder` stores the
/// response if `ResponseValidator` finds it intact, and `ResourceFactory` makes the resource.
public final class ResourceLoader: Sendable {
  /// The cache that responses are stored in.
  public let cache: ResponseCache
  /// Which origins can be reached; shared with what fetches bundles.
  public let reachability: Reachability
  /// Limits what is loaded in the background.
  public let saver: DataSaver
  let configuration: Configuration
  let requests: RequestBuilder
  let lookup: CacheLookup
  let resources: ResourceFactory
  let exchange: OriginExchange
  let inFlight: InFlightRequests
  let gate: TransferGate
  let tasks = RunningTasks()
  let background: BackgroundWork
  private let sender: OriginSender

  /// Makes a loader.
  ///
  /// - Parameters:
  ///   - cache: the cache that responses are stored in.
  ///   - transport: sends the requests.
  ///   - cookies: also those of partitions that are given none of their own; `nil` for none.
  ///   - reachability: may be shared with other loaders.
  ///   - saver: limits the loading in the background.
  ///   - configuration: behaviours, rules and limits.
  public convenience init(
    cache: ResponseCache, transport: any HTTPTransporting, cookies: (any CookieStoring)? = nil,
    reachability: Reachability = Reachability(), saver: DataSaver = DataSaver(),
    configuration: Configuration = Configuration()
  ) {
    self.init(
      cache: cache, transport: transport, cookies: cookies, files: nil, reachability: reachability, saver: saver,
      configuration: configuration)
  }

  /// - Parameters:
  ///   - cookies: also those of partitions that are given none of their own; `nil` for none.
  ///   - files: the releases' files, which answer requests for their URLs; `nil` for none.
  package init(
    cache: ResponseCache, transport: any HTTPTransporting, cookies: (any CookieStoring)? = nil,
    files: FileLookup?, reachability: Reachability = Reachability(), saver: DataSaver = DataSaver(),
    configuration: Configuration = Configuration()
  ) {
    self.cache = cache
    self.reachability = reachability
    self.saver = saver
    self.configuration = configuration
    background = BackgroundWork(tasks)
    inFlight = InFlightRequests(storingPatience: configuration.storingPatience)
    gate = TransferGate(width: configuration.transfers, waitingLimit: configuration.waiting)
    sender = OriginSender(
      transport, reachability: reachability, gate: gate, permission: configuration.permission)
    requests = RequestBuilder(configuration, for: cache, cookies: cookies)
    resources = ResourceFactory(cache, configuration)
    lookup = CacheLookup(
      cache, files: files, reachability: reachability, resources: resources, configuration)
    let validator = ResponseValidator(
      cache, bodyLimit: configuration.bodyLimit, logger: configuration.logger)
    exchange = OriginExchange(
      sender, gate: gate, cache: cache, requests: requests, lookup: lookup, inFlight: inFlight, validator: validator,
      recorder: ResponseRecorder(cache, inFlight: inFlight, validator: validator, tasks: tasks), resources: resources,
      configuration)
  }

  // MARK: Partitions

  /// The partition of requests that do not name one.
  public var partition: CachePartition { requests.partition }

  /// From now on requests that do not name a partition belong to this one. Those under way stay what they are.
  ///
  /// - Parameter cookies: sent and taken by all requests of the partition; `nil` for those it had before.
  public func use(_ partition: CachePartition, cookies: (any CookieStoring)? = nil) {
    requests.use(partition, cookies: cookies)
  }

  /// The cookies that requests of a partition carry.
  package func cookies(of partition: CachePartition) -> (any CookieStoring)? { requests.cookies(of: partition) }

  // MARK: Loading

  /// Returns the response that the behaviour chooses. If it is a stored one that must be refreshed, the refresh runs in
  /// the background, for the next request.
  ///
  /// - Throws: ``LoadError``; `TransportError`; `OfflineError` if the app has said so; `RedirectFault` if a redirect is not
  ///   followed; `StoreError`; `CancellationError`.
  public func response(for request: ResourceRequest) async throws -> Resource {
    let prepared = try prepare(request)
    let resource = try await load(prepared)
    if resource.source.isCache, let refresh = refresh(of: prepared, after: resource) {
      background.run(.refresh(refresh.name)) { [self] in try await drain(load(refresh.request)) }
    }
    return resource
  }

  /// Returns `false` if ``begin(_:on:_:)`` can do nothing for a GET or HEAD for certain, whatever its fields say.
  package func mayBegin(_ request: ResourceRequest) -> Bool {
    requests.key(forGetting: request).map { cache.mayHold($0) || request.method == .get && sender.mayBegin } ?? true
  }

  /// The first step that ``begin(_:on:_:)`` took for a request.
  package enum Beginning: Sendable {
    /// A stored response answers it.
    case response(Resource)
    /// The origin is asked; the function ends that until there is a response.
    case asked(cancel: @Sendable () -> Void)
  }

  /// Does what ``response(for:)`` does, without a task, where nothing has to be waited for but the origin: neither the
  /// disk nor another request. A stored response answers, or the origin is asked, and others join the exchange.
  ///
  /// - Parameter calls: is called at most once, and only for a request for which the origin may be asked: a stored
  ///   response needs no calls.
  /// - Returns: `nil` in every other case, in which nothing has been done.
  package func begin(
    _ request: ResourceRequest, on loop: @escaping EventLoopCall, _ calls: () -> BegunCalls
  ) -> Beginning? {
    guard request.origin == nil, let prepared = try? requests.prepare(request),
      case .network(let outgoing, _) = prepared, let (decision, found) = lookup.decisionAtOnce(for: outgoing)
    else { return nil }
    let beginning: Beginning
    switch decision {
    case .serve(let stored, _, let reason):
      guard let cached = found.first(of: stored),
        let resource = resources.storedAtOnce(
          cached, for: outgoing, CacheStatus(.hit), freshAmong: reason == .fresh ? found : []),
        refresh(of: prepared, after: resource) == nil,
        !request.followsRedirects || !resource.response.headerFields.contains(.location)
      else { return nil }
      beginning = .response(resource)
    case .fetch(let head, let reason):
      guard found.isEmpty, !request.followsRedirects, outgoing.behavior.patience == nil,
        !inFlight.hasCompleted(outgoing.key),
        let cancel = exchange.begin(outgoing, head, reason, on: loop, calls)
      else { return nil }
      beginning = .asked(cancel: cancel)
    default: return nil
    }
    configuration.logger.debug("\(decision.summary)", metadata: ["key": "\(outgoing.key)"])
    return beginning
  }

  /// The behaviour by which a request is loaded: its own, its rule's, or the loader's.
  package func behavior(for request: ResourceRequest) -> LoadBehavior {
    (try? requests.prepare(request))?.outgoing?.behavior ?? request.behavior ?? configuration.behavior
  }

  /// Waits until refreshes and revalidations in the background have ended.
  public func finishBackgroundWork() async { await background.finish() }

  /// Cancels every response that is coming in and all work in the background, and returns when that has ended.
  /// Responses that have begun to come in are not stored.
  public func shutDown() async { await tasks.shutDown() }

  /// A request that a handler answers gets its response even without a URL to store it under.
  func prepare(_ request: ResourceRequest) throws -> PreparedRequest {
    guard let origin = request.origin else { return try requests.prepare(request) }
    if let prepared = try? requests.prepare(request), prepared.outgoing != nil { return prepared }
    return .handled(origin)
  }

  /// The request by which the network is still to be asked after a stored response; `nil` if it is not.
  func refresh(
    of prepared: PreparedRequest, after resource: Resource
  ) -> (request: PreparedRequest, name: FlightKey)? {
    guard case .network(var outgoing, var request) = prepared else { return nil }
    let isDue =
      switch outgoing.behavior.refresh {
      case .never: false
      case .whenStale: resource.remaining <= 0
      case .always: true
      }
    guard isDue else { return nil }
    request.behavior = .reloadRevalidatingCacheData
    outgoing.behavior = .reloadRevalidatingCacheData
    return (.network(outgoing, request), FlightKey(outgoing, outgoing.head))
  }

  /// Reads a response to its end if it is being stored, without a caller that wants it.
  func drain(_ resource: Resource) async throws {
    guard resource.incoming != nil else { return }
    for try await _ in resource.body {}
  }

  func load(_ prepared: PreparedRequest) async throws -> Resource {
    switch prepared {
    case .inline(let data): return Resource(inline: data)
    case .handled(let origin): return Resource(try await origin.respond())
    case .file(let url, let snapshot):
      return try await lookup.releaseFile(at: url, in: snapshot) ?? resources.localFile(url)
    case .network(var outgoing, let request):
      var visited: [PageURL] = []
      while true {
        let resource = try await resource(for: outgoing)
        guard request.followsRedirects, resource.response.headerFields.contains(.location) else { return resource }
        switch RedirectDecision(for: resource.response, at: outgoing.url, visited: visited, ignoring: []) {
        case .use: return resource
        case .refuse(let fault): throw fault
        case .follow(let target):
          // It is stored when it is there whole; a body that does not end delays the caller for a second.
          _ = try? await within(.seconds(1)) { try await self.drain(resource) }
          visited.append(outgoing.url)
          outgoing = requests.redirected(outgoing, to: target, status: resource.status, request)
        }
      }
    }
  }

  /// The response to one request: the decisions of the lookup are acted on here, and nowhere else.
  private func resource(for outgoing: OutgoingRequest) async throws -> Resource {
    var outgoing = outgoing
    if let begun = outgoing.begun {
      // All was decided when the exchange was begun: nothing that could answer was stored.
      if begun.isUsable(for: outgoing, in: inFlight) {
        return try await ask(outgoing, begun.request, validating: nil, [], begun.reason)
      }
      // It is sent, shared and refused like any other.
      _ = begun.take()
      outgoing.begun = nil
    }
    var gone: Set<Int64> = []
    var hasWaited = false
    while true {
      let found: [CachedResponse]
      let decision: CacheDecision
      switch try await lookup.outcome(for: outgoing, without: gone, mayFetch: outgoing.behavior.network != .never) {
      case .releaseFile(let file): return file
      case .decided(let made, let among): (decision, found) = (made, among)
      }
      outgoing.isReplacing = !found.isEmpty
      if !hasWaited, decision.servesNothing {
        hasWaited = true
        if await inFlight.completed(outgoing.key) { continue }
      }
      configuration.logger.debug("\(decision.summary)", metadata: ["key": "\(outgoing.key)"])
      switch decision {
      case .serve(let stored, _, let reason):
        if let cached = found.first(of: stored),
          let resource = await resources.stored(
            cached, for: outgoing, CacheStatus(.hit), freshAmong: reason == .fresh ? found : [])
        {
          return resource
        }
        gone.insert(stored.id)
      case .serveStale(let stored, _, let request):
        if let cached = found.first(of: stored),
          let resource = await resources.stored(cached, for: outgoing, CacheStatus(.hit))
        {
          revalidate(outgoing, request, cached)
          return resource
        }
        gone.insert(stored.id)
      case .revalidate(let stored, let request, let reason):
        return try await ask(outgoing, request, validating: found.first(of: stored), found, reason)
      case .complete(let stored, let request):
        return try await ask(outgoing, request, validating: found.first(of: stored), found, .partial)
      case .fetch(let request, let reason):
        return try await ask(
          outgoing, request, validating: errorFallback(for: outgoing, among: found, reason), found, reason)
      case .gatewayTimeout(let reason):
        guard outgoing.behavior.network != .never else {
          throw LoadError.notStored(outgoing.url, reason: reason.rawValue)
        }
        return resources.gatewayTimeout(outgoing, generation: inFlight.currentGeneration)
      }
    }
  }

  /// Returns the stored response that may answer instead of an error of the server, if it has no validator and the
  /// request is therefore unconditional. RFC 5861 §4.
  private func errorFallback(
    for request: OutgoingRequest, among found: [CachedResponse], _ reason: ForwardReason
  ) -> CachedResponse? {
    guard reason != .precondition,
      let stored = request.policy.selectedResponse(for: request.head, among: found.map(\.stored)),
      stored.validators.isEmpty
    else { return nil }
    return found.first(of: stored)
  }

  // MARK: The network

  /// Asks the origin, and turns to what is stored if that fails and the behaviour allows it.
  ///
  /// - Parameter cached: what the request validates or completes, or what may answer if the server answers with an
  ///   error.
  private func ask(
    _ outgoing: OutgoingRequest, _ request: HTTPRequest, validating cached: CachedResponse?, _ found: [CachedResponse],
    _ reason: ForwardReason
  ) async throws -> Resource {
    // A behaviour that reloads tries even an origin that counts as unreachable.
    let insists = [.reloading, .reloadingPastAllCaches].contains(outgoing.behavior.network)
    guard try outgoing.origin != nil || outgoing.begun != nil || sender.admits(outgoing.url, insists: insists) else {
      if let resource = await lookup.afterFailure(outgoing, found, detail: "offline") { return resource }
      throw failure(LoadError.offline(outgoing.url), outgoing, found)
    }
    do {
      guard let patience = outgoing.behavior.patience else {
        return try await resource(for: outgoing, request, validating: cached, found, reason)
      }
      // What takes too long goes on, for the next time.
      let work = tasks.start { [self] in try await resource(for: outgoing, request, validating: cached, found, reason) }
      return try await withTaskCancellationHandler {
        if let resource = try await within(patience, { try await work.valueForWaiter() }) { return resource }
        guard let late = await lookup.afterFailure(outgoing, found, detail: "timeout") else {
          return try await work.valueForWaiter()
        }
        background.run(.late(UUID())) { [self] in try await drain(work.value) }
        return late
      } onCancel: {
        work.cancel()
      }
    } catch let error where !(error is CancellationError) && !Task.isCancelled {
      if let resource = await lookup.afterFailure(outgoing, found, detail: "origin-failed") { return resource }
      throw failure(error, outgoing, found)
    }
  }

  /// The origin's response; what is stored if that is an error of the server's, and the behaviour allows it.
  private func resource(
    for outgoing: OutgoingRequest, _ request: HTTPRequest, validating cached: CachedResponse?,
    _ found: [CachedResponse],
    _ reason: ForwardReason
  ) async throws -> Resource {
    let resource = try await exchange.resource(for: outgoing, request, validating: cached, reason)
    guard outgoing.behavior.fallsBackOnServerErrors, resource.status >= 500, resource.source == .network,
      let stored = await lookup.afterFailure(outgoing, found, detail: "server-error")
    else { return resource }
    return stored
  }

  /// The error that the caller gets if nothing stored could answer.
  private func failure(_ error: any Error, _ request: OutgoingRequest, _ found: [CachedResponse]) -> any Error {
    var isAway = Reachability.meansAway(error)
    if case LoadError.offline = error { isAway = true }
    guard isAway, [.get, .head].contains(request.head.method),
      let stored = request.policy.selectedResponse(for: request.head, among: found.map(\.stored)),
      request.policy.mustBeRevalidated(stored)
    else { return error }
    return LoadError.unvalidated(request.url, because: error)
  }

  /// Revalidates a served response in the background, with the fields of the request that it was served to.
  /// RFC 5861 §3.
  private func revalidate(_ outgoing: OutgoingRequest, _ request: HTTPRequest, _ cached: CachedResponse) {
    background.run(.revalidation(FlightKey(outgoing, request))) { [self] in
      guard try outgoing.origin != nil || sender.admits(outgoing.url) else { return }
      let validating = request == outgoing.head ? nil : cached
      try await drain(exchange.resource(for: outgoing, request, validating: validating, .stale))
    }
  }

  // MARK: Purging

  /// Removes stored responses, or marks them as stale. Responses to requests that were sent before are not stored, and
  /// answer no later request.
  ///
  /// - Parameter isSoft: marks them as stale instead of removing them.
  ///
  /// - Returns: how many responses were met.
  /// - Throws: ``StoreError``.
  @discardableResult
  package func purge(_ selection: ResponseSelection, isSoft: Bool = false) async throws -> Int {
    // What is being stored just now is older.
    await inFlight.supersede(selection)
    return try await cache.purge(selection, isSoft: isSoft, at: configuration.now())
  }
}
