import Foundation
import HTTPCaching
import HTTPTransport
import Logging

/// When the server is asked for its MD5s.
public enum Verification: Hashable, Sendable {
  /// Once from launch to launch.
  case perLaunch
  /// At each open of a page.
  case everyOpen
  /// When the last answer is older than this.
  case every(Duration)

  /// Whether an answer of this age still holds.
  func holds(for age: Duration) -> Bool {
    switch self {
    case .perLaunch: true
    case .everyOpen: false
    case .every(let duration): age < duration
    }
  }
}

/// What the server said, for everything a manifest lists.
public struct Verified: Sendable {
  public let release: StoredRelease
  /// The server said 304: what was stored is still what it has.
  public let isUnchanged: Bool
  /// The manifest's rule for query parameters; `nil` if it has none.
  public let identity: PageIdentity?
  private let byURL: [PageURL: PageBundle]

  init(release: StoredRelease, bundles: [PageBundle], identity: PageIdentity?, isUnchanged: Bool) {
    self.release = release
    self.isUnchanged = isUnchanged
    self.identity = identity
    byURL = Dictionary(bundles.map { ($0.url, $0) }, uniquingKeysWith: { first, _ in first })
  }

  public func bundle(at url: PageURL) -> PageBundle? { byURL[url] }

  /// The page's bundle: the entry with exactly this URL, else the one without the parameters that do not count.
  ///
  /// - Parameter fallback: the rule if the manifest has none.
  public func page(at url: PageURL, identity fallback: PageIdentity) -> PageBundle? {
    byURL[url] ?? byURL[(identity ?? fallback).reduced(url)]
  }
}

/// Asks the server for its MD5s once per launch, however many pages open.
public actor LaunchVerifier {
  public nonisolated let source: PageURL
  public nonisolated let verification: Verification

  private let store: any BundleStoring
  private let fetcher: ManifestFetcher
  private let logger: Logger
  private let now: @Sendable () -> ContinuousClock.Instant

  private var last: (verified: Verified, at: ContinuousClock.Instant)?
  private var lastFailure: (error: any Error, at: ContinuousClock.Instant)?
  private var underway: Task<Verified, any Error>?
  private var launch = 0
  private var hasAskedUnconditionally = false

  /// After a failure the server is left alone for this long: an offline page must not wait for a time-out each time.
  private static let failureRest: Duration = .seconds(30)

  /// - Parameters:
  ///   - sleep: how to wait between tries.
  ///   - now: the clock; monotonic.
  public init(
    source: PageURL, store: any BundleStoring, client: OriginClient, decoding: any ContentDecoding,
    verification: Verification = .perLaunch, limits: ManifestLimits = .standard,
    retry: RetryPolicy = .standard,
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    logger: Logger = Logger(label: "pagekit.verify"),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.source = source
    self.verification = verification
    self.store = store
    self.logger = logger
    self.now = now
    fetcher = ManifestFetcher(
      source: source, client: client, decoding: decoding, limits: limits, retry: retry, sleep: sleep)
  }

  /// Begins a new launch: the next question goes to the server again.
  public func relaunch() {
    launch += 1
    last = nil
    lastFailure = nil
    underway = nil
    hasAskedUnconditionally = false
  }

  /// What the server says, from memory where this launch has asked already.
  ///
  /// The bundles of the manifest are registered in the store; nothing is fetched or switched to.
  /// - Parameter resting: whether a server that has just failed is left alone for a while.
  /// - Throws: ``SourceError``, ``StoreError``.
  public func verified(resting: Bool = true) async throws -> Verified {
    if let last, isCurrent(since: last.at) { return last.verified }
    // That there is no manifest is an answer, too.
    if let lastFailure, case SourceError.noManifest = lastFailure.error, isCurrent(since: lastFailure.at) {
      throw lastFailure.error
    }
    if resting, let lastFailure, verification != .everyOpen, now() - lastFailure.at < Self.failureRest {
      throw lastFailure.error
    }
    return try await ask(conditionally: true)
  }

  /// What the server said last in this launch; `nil` if it was not asked or did not answer. Asks nobody.
  public var known: Verified? { last?.verified }

  /// Asks the server now; a new launch begins with its answer. Without one the launch goes on with what it knows.
  ///
  /// - Throws: ``SourceError``, ``StoreError``.
  @discardableResult
  public func refresh() async throws -> Verified {
    do {
      let verified = try await Self.ask(store: store, fetcher: fetcher, conditionally: true, logger: logger)
      relaunch()
      last = (verified, now())
      return verified
    } catch {
      if last == nil { remember(error) }
      throw error
    }
  }

  /// Asks once more, without conditions: some bytes contradict what a 304 said. Once per launch; then it answers from
  /// memory.
  public func verifiedUnconditionally() async throws -> Verified {
    guard !hasAskedUnconditionally else { return try await verified() }
    hasAskedUnconditionally = true
    return try await ask(conditionally: false)
  }

  /// Cancels the question that is under way, and returns when it has ended.
  package func shutDown() async {
    underway?.cancel()
    _ = await underway?.result
  }

  private func isCurrent(since instant: ContinuousClock.Instant) -> Bool { verification.holds(for: now() - instant) }

  private func ask(conditionally: Bool) async throws -> Verified {
    if conditionally, let underway { return try await underway.valueForWaiter() }
    // Unstructured on purpose: it serves everyone who waits, and must not end with the first who gives up.
    let task = Task { [launch] in
      let result = await Self.answer(store: store, fetcher: fetcher, conditionally: conditionally, logger: logger)
      if launch == self.launch { record(result) }
      return try result.get()
    }
    underway = task
    return try await task.valueForWaiter()
  }

  private func record(_ result: Result<Verified, any Error>) {
    underway = nil
    switch result {
    case .success(let verified):
      last = (verified, now())
      lastFailure = nil
    case .failure(let error):
      remember(error)
    }
  }

  private func remember(_ error: any Error) {
    // Where nobody was asked, nobody has to be left alone.
    if case SourceError.unreachable(_, is OfflineError) = error { return }
    lastFailure = (error, now())
  }

  private static func answer(
    store: any BundleStoring, fetcher: ManifestFetcher, conditionally: Bool, logger: Logger
  ) async -> Result<Verified, any Error> {
    do {
      return .success(try await ask(store: store, fetcher: fetcher, conditionally: conditionally, logger: logger))
    } catch {
      return .failure(error)
    }
  }

  private static func ask(
    store: any BundleStoring, fetcher: ManifestFetcher, conditionally: Bool, logger: Logger
  ) async throws -> Verified {
    let known = try await store.source(fetcher.source)?.latest
    let validators = conditionally ? known?.validators ?? Validators() : Validators()
    switch try await fetcher.fetch(validators: validators) {
    case .unchanged(let validators):
      guard let known else { throw SourceError.notStored(fetcher.source) }
      if validators != known.validators { try await store.setValidators(validators, of: known) }
      logger.debug("the manifest is unchanged", metadata: ["source": "\(fetcher.source)", "release": "\(known.name)"])
      let bundles = try await store.recordedContents(of: known).map(\.bundle)
      return Verified(
        release: known, bundles: bundles, identity: try await store.identity(of: known), isUnchanged: true)
    case .manifest(let manifest, let bytes, let bundles, let validators):
      let release = try await store.register(
        manifest, bytes: bytes, bundles: bundles, for: fetcher.source, validators: validators)
      logger.debug(
        "the server has a manifest", metadata: ["source": "\(fetcher.source)", "release": "\(release.name)"])
      return Verified(
        release: release, bundles: bundles, identity: manifest.identity, isUnchanged: release == known)
    }
  }
}
