import HTTPCaching
import HTTPTransport
import HTTPTypes
import Logging
import Synchronization

/// Answers what pages ask for, from the cache and the network.
///
///     let loaded = try await loader.response(for: ResourceRequest("https://api.example.com/home.json"))
///     for await update in loader.updates(for: request) { … }
public final class ResourceLoader: Sendable {
  public struct Configuration: Sendable {
    /// The first that matches a URL counts; what none matches is loaded by `behavior`.
    public var rules: [ResourceRule] = []
    public var behavior: LoadBehavior = .automatic
    /// The same for types of resources. Where nothing is said of pictures and `behavior` is ``LoadBehavior/automatic``,
    /// they are loaded by ``LoadBehavior/picture``.
    public var behaviors: [ResourceType: LoadBehavior] = [:]
    /// Query parameters that do not count where responses are looked up; they are sent all the same.
    public var ignoredParameters = PageURL.ignoredParameters
    public var rewriters: [any URLRewriting] = [SchemeRelativeRewriter()]
    /// Where `local://` URLs lead; nil for nowhere.
    public var localFolder: String?
    /// Whose requests those are that do not say it themselves, until ``ResourceLoader/use(_:cookies:)``.
    public var partition: CachePartition = .private
    /// Sent to one origin only.
    public var originFields: OriginFields?
    public var userAgent = "PageKit"
    /// Requests go out with their own fields alone: for who passes on the requests of others.
    public var addsNothing = false
    public var limits: TransferLimits = .standard
    /// Wire bytes of one answer.
    public var bodyLimit: Int64 = 256 << 20
    /// Transfers at once, from the request to the end of the answer's body.
    public var transfers = 64
    /// Requests that may wait for one of those; more get ``LoadError/busy(_:limit:)``.
    public var waiting = Int.max
    /// Asked before every request that would go to the network, redirects too; throws what the caller is to get.
    public var permission: @Sendable (PageURL) throws -> Void = { _ in }
    public var logger = Logger(label: "pagekit.resources")
    public var now: @Sendable () -> HTTPDate = { HTTPDate.now }

    public init() {}

    func behavior(of type: ResourceType) -> LoadBehavior {
      behaviors[type] ?? (type == .image && behavior == .automatic ? .picture : behavior)
    }
  }

  public let cache: ResponseCache
  public let reachability: Reachability
  public let saver: DataSaver
  let configuration: Configuration
  let transport: any HTTPTransporting
  let coding: any ContentDecoding
  private let defaultCookies: (any CookieStoring)?
  let files: (any FileProviding)?
  let rewriters: [any URLRewriting]
  let urls = URLMemo()
  let generations = RequestSequencer()
  let flights = SingleFlight<FlightKey, FetchResult>()
  let gate: TransferGate
  /// What changes the cache, in order.
  let turns = KeyedSerialQueue()
  let tasks = RunningTasks()
  let background: BackgroundWork
  let state: Mutex<State>

  struct State {
    /// What is coming in, for those who ask for the same.
    var incoming: [FlightKey: IncomingResponse] = [:]
    /// Numbers at the gate.
    var waiting: [FlightKey: UInt64] = [:]
    /// Whose servers answer conditional requests with what they were asked about.
    var ignoresConditions: Set<CacheKey> = []
    var partition: CachePartition
    var cookies: [CachePartition: any CookieStoring]
  }

  /// - Parameters:
  ///   - coding: undoes content encodings.
  ///   - cookies: nil for none. Those of partitions that are given none of their own too.
  ///   - files: the releases' files, which answer requests for their URLs; `nil` for none.
  public init(
    cache: ResponseCache, transport: any HTTPTransporting, coding: any ContentDecoding,
    cookies: (any CookieStoring)? = nil, files: (any FileProviding)? = nil,
    reachability: Reachability = Reachability(),
    saver: DataSaver = DataSaver(), configuration: Configuration = Configuration()
  ) {
    self.cache = cache
    self.transport = transport
    self.coding = coding
    defaultCookies = cookies
    state = Mutex(State(partition: configuration.partition, cookies: [:]))
    self.reachability = reachability
    self.saver = saver
    self.configuration = configuration
    background = BackgroundWork(tasks)
    self.files = files
    gate = TransferGate(width: configuration.transfers, waitingLimit: configuration.waiting)
    let local = configuration.localFolder.map { [LocalFileRewriter(folder: $0) as any URLRewriting] } ?? []
    rewriters = configuration.rewriters + local + [BaseRewriter()]
  }

  // MARK: Partitions

  /// Whose requests those are that do not say it themselves.
  public var partition: CachePartition { state.withLock(\.partition) }

  /// From now on requests that do not say whose they are belong to a partition. Those under way stay what they are.
  ///
  /// - Parameter cookies: sent and taken by all requests of the partition; `nil` for those it had before.
  public func use(_ partition: CachePartition, cookies: (any CookieStoring)? = nil) {
    state.withLock { state in
      state.partition = partition
      if let cookies { state.cookies[partition] = cookies }
    }
  }

  /// The cookies that requests of a partition carry.
  public func cookies(of partition: CachePartition) -> (any CookieStoring)? {
    state.withLock { $0.cookies[partition] } ?? defaultCookies
  }

  // MARK: Loading

  /// The one answer the behaviour calls for. Where that is a stored one with a refresh behind it, the network is asked
  /// on its own, for the next time.
  ///
  /// - Throws: ``LoadError``, ``TransportError``, ``RedirectFault``, `CancellationError`.
  public func response(for request: ResourceRequest) async throws -> Resource {
    let (loaded, remaining, behavior) = try await load(request)
    if loaded.source.isCache, behavior.refresh != .never, let refresh = refresh(of: request, remaining: remaining) {
      background.run(.refresh(refresh.name)) { [self] in try await takeIn(load(refresh.request).loaded) }
    }
    return loaded
  }

  /// What holds for a request: its own behaviour, its rule's, or the loader's.
  public func behavior(for request: ResourceRequest) -> LoadBehavior {
    guard case .network(let hop, _)? = try? prepare(request) else { return request.behavior ?? configuration.behavior }
    return hop.behavior
  }

  /// Waits for what goes on behind answers that were given.
  public func finishBackgroundWork() async { await background.finish() }

  /// Cancels every answer that is coming in and all that goes on behind answers, and returns when that has ended. What
  /// was begun is not stored.
  public func shutDown() async { await tasks.shutDown() }

  /// What the network is still to be asked after a stored answer; nil for nothing.
  ///
  /// - Parameter remaining: seconds the stored answer is still fresh.
  func refresh(of request: ResourceRequest, remaining: Int64) -> (request: ResourceRequest, name: FlightKey)? {
    guard case .network(let hop, _)? = try? prepare(request) else { return nil }
    let isDue =
      switch hop.behavior.refresh {
      case .never: false
      case .whenStale: remaining <= 0
      case .always: true
      }
    guard isDue else { return nil }
    var refresh = request
    refresh.behavior = .reloadRevalidatingCacheData
    return (refresh, FlightKey(hop, hop.request))
  }

  /// Lets an answer come in that nobody reads, where it may be stored.
  func takeIn(_ loaded: Resource) async throws {
    guard loaded.incoming != nil else { return }
    for try await _ in loaded.body {}
  }

  /// Whether there is a URL under which an answer could be stored.
  private func hasServer(_ request: ResourceRequest) -> Bool {
    if case .network? = try? prepare(request) { true } else { false }
  }

  /// - Returns: also the seconds for which the answer is still fresh, and the behaviour that held.
  func load(
    _ request: ResourceRequest
  ) async throws -> (loaded: Resource, remaining: Int64, behavior: LoadBehavior) {
    if let origin = request.origin, !hasServer(request) {
      return (Resource(try await origin.respond()), 0, configuration.behavior)
    }
    switch try prepare(request) {
    case .inline(let data):
      return (Resource(inline: data), 0, configuration.behavior)
    case .file(let url):
      if let loaded = try await releaseFile(at: url, in: request.snapshot) {
        return (loaded, 0, configuration.behavior)
      }
      return (try loadLocalFile(url), 0, configuration.behavior)
    case .network(var hop, let request):
      let behavior = hop.behavior
      var visited: [PageURL] = []
      while true {
        let (loaded, remaining) = try await answer(hop)
        guard request.followsRedirects, loaded.response.headerFields.contains(.location) else {
          return (loaded, remaining, behavior)
        }
        switch RedirectDecision(for: loaded.response, at: hop.url, visited: visited, ignoring: []) {
        case .take: return (loaded, remaining, behavior)
        case .refuse(let fault): throw fault
        case .follow(let target):
          // It is stored when it is there whole; a body that does not end holds nobody up.
          _ = try? await within(.seconds(1)) { try await self.takeIn(loaded) }
          visited.append(hop.url)
          hop = nextHop(after: hop, to: target, status: loaded.status, request)
        }
      }
    }
  }
}
