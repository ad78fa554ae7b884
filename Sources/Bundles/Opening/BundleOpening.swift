import Blobs
import HTTPTransport
import Logging
import Releases
import Synchronization

/// One opening of a page's bundle, from the search in the store to its bytes.
///
/// The walk asks and fetches as ``BundleDecision`` says. If the deadline ends the wait for the walk, or an attempt that
/// does not reach the server, stored bytes are run meanwhile.
final class BundleOpening: Sendable {
  private let url: PageURL
  private let options: OpenOptions
  private let policy: OpenPolicy
  private let loader: BundleLoader
  private let deadline: OpeningDeadline
  private let state = Mutex(State())

  private struct State {
    var answer = ServerAnswer(word: .notAsked, note: "the server was not asked")
    /// The URLs whose transfers count as progress of the opening.
    var waitingFor: Set<PageURL> = []
    var failure: (any Error)?
    var isBehind = false
  }

  init(_ url: PageURL, _ options: OpenOptions, policy: OpenPolicy, of loader: BundleLoader) {
    self.url = url
    self.options = options
    self.policy = policy
    self.loader = loader
    deadline = OpeningDeadline(
      began: loader.time.now(), waited: options.timeWaited, total: policy.deadline,
      idle: loader.configuration.idleLimit)
  }

  // MARK: Within the deadline

  /// - Throws: ``BundleError``, ``ReleaseError``, ``StoreError``, `CancellationError`.
  func run() async throws -> LoadedBundle {
    let found = try await look()
    let bundle: LoadedBundle
    switch try await first(found) {
    case .bundle(let first): bundle = first
    case .other(let damaged): bundle = try await walkWithinDeadline(from: found, damaged)
    }
    if policy == .staleWhileRevalidate, bundle.source == .store || bundle.source == .memory, !bundle.isVerified {
      let refresh = BundleOpening(url, options, policy: .networkFirst(), of: loader)
      loader.goOn(loader.walks.start { try await refresh.walk() }, behind: bundle)
    }
    return bundle
  }

  private func walkWithinDeadline(from found: Found, _ damaged: Blob?) async throws -> LoadedBundle {
    let walk = loader.walks.start { try await self.walk(from: found, damaged) }
    do {
      return try await withTaskCancellationHandler {
        try await wait(for: walk, canShow: canShow(found.candidates))
      } onCancel: {
        if !state.withLock(\.isBehind) { walk.cancel() }
      }
    } catch {
      // The opening has failed: its walk is not needed.
      walk.cancel()
      throw error
    }
  }

  private func wait(for walk: Task<LoadedBundle, any Error>, canShow: Bool) async throws -> LoadedBundle {
    var canShow = canShow
    let activity = activity
    while true {
      let seen = activity.failures.count
      let expiry = expiry(canShow)
      if expiry > loader.time.now(), !canShow || failure == nil {
        let bundle = try await within(until: expiry, on: loader.time) { [canShow] () async throws -> LoadedBundle? in
          guard canShow else { return try await walk.valueForWaiter() }
          return try await until(activity.failures, beyond: seen) { try await walk.valueForWaiter() }
        }
        if let bundle, let bundle { return bundle }
        continue
      }
      if canShow {
        if let bundle = try await showStored(cancelling: walk) {
          state.withLock { $0.isBehind = true }
          loader.goOn(walk, behind: bundle)
          return bundle
        }
        canShow = false
      } else {
        walk.cancel()
        // The walk may have ended just now.
        if let bundle = try? await walk.value { return bundle }
        throw state.withLock(\.failure)
          ?? BundleError.noProgress(bundle: name, url: url, after: loader.configuration.idleLimit)
      }
    }
  }

  private var activity: TransferActivity { loader.downloader.client.activity }

  /// The failure to reach the server that the walk waits for; `nil` if it may still answer.
  private var failure: TransportError? {
    state.withLock(\.waitingFor).lazy.compactMap { self.activity.failure($0) }.first
  }

  private func expiry(_ canShow: Bool) -> Duration {
    let progress = state.withLock(\.waitingFor).compactMap { activity.last($0) }.max()
    return deadline.expiry(canShow: canShow, progress: progress)
  }

  private func canShow(_ candidates: [StoredCandidate]) -> Bool {
    policy.allowsUnconfirmed && options.view == nil
      && candidates.best(loader.configuration.consistency) != nil
  }

  /// Uses stored bytes when the time is up, without the server's missing answer or bytes.
  ///
  /// - Returns: `nil` if no stored bytes are intact.
  private func showStored(cancelling walk: Task<LoadedBundle, any Error>) async throws -> LoadedBundle? {
    var answer = state.withLock(\.answer)
    let waited = (deadline.total ?? deadline.idle).inSeconds
    let failure = failure
    switch answer.word {
    case .notAsked where failure != nil, .notListed where failure != nil:
      answer.word = .unknown
      answer.note = failure?.description
    case .withoutChecksum where failure != nil, .expects where failure != nil, .hints where failure != nil:
      answer.note = failure.map { "the server's newer bytes are not here: \($0)" }
    case .notAsked, .notListed:
      answer.word = .unknown
      answer.note = "the server's MD5s were not known after \(waited)"
    case .withoutChecksum:
      answer.note = "the server tells no MD5 of this bundle, and its bytes were not here after \(waited)"
    case .expects, .hints:
      answer.note = "the server's newer bytes were not here after \(waited); the download goes on"
    case .unknown, .gone, .offersBad: break
    }
    while true {
      let found = try await look()
      guard let choice = found.candidates.best(loader.configuration.consistency), let blob = choice.blob
      else { return nil }
      let decision = BundleDecision(
        for: .init(
          stored: .blob(blob), server: answer.word, fetchHasFailed: true, policy: policy,
          disabled: disabled(found, answer)))
      if case .refuse(let message) = decision {
        walk.cancel()
        throw BundleError.disabled(bundle: name, message: message)
      }
      guard case .runStored(_, let confirmation) = decision else { return nil }
      if let bundle = try await read(choice, blob, as: confirmation, answer) { return bundle }
      try await loader.store.quarantine(blob)
    }
  }

  // MARK: The walk

  /// The outcome of an opening's steps that wait for no server.
  private enum First {
    case bundle(LoadedBundle)
    /// Another step is next. The stored bytes may have been found damaged.
    case other(damaged: Blob?)
  }

  /// The first steps of the walk, as long as they take nothing but a look into the store: no deadline is needed for them,
  /// which takes tasks and a timer.
  private func first(_ found: Found) async throws -> First {
    guard !loader.walks.isShutDown else { return .other(damaged: nil) }
    while true {
      let answer = state.withLock(\.answer)
      let choice = choice(among: found.candidates, answer)
      switch decision(found, choice?.blob, answer) {
      case .runStored(let blob, let confirmation):
        if let choice, let bundle = try await read(choice, blob, as: confirmation, answer) { return .bundle(bundle) }
        return .other(damaged: blob)
      case .askServer:
        guard answer.word == .notAsked, await loader.verifier?.validAnswer != nil else { return .other(damaged: nil) }
        await set(serverAnswer(found, isKnown: true))
      case .quarantine, .askOtherSources, .fetch, .fail, .refuse: return .other(damaged: nil)
      }
    }
  }

  private func decision(
    _ found: Found, _ blob: Blob?, _ answer: ServerAnswer, damaged: Blob? = nil, fetchHasFailed: Bool = false
  ) -> BundleDecision {
    let stored: BundleDecision.Input.Stored =
      damaged.map { .damaged($0) } ?? blob.map { .blob($0) } ?? .nothing
    // No other bytes may run in place of those of a given release.
    let isHeld = options.view != nil && answer.release != nil
    return BundleDecision(
      for: .init(
        stored: stored, server: answer.word, fetchHasFailed: fetchHasFailed, policy: isHeld ? .networkOnly : policy,
        disabled: disabled(found, answer)))
  }

  /// Asks and fetches until there are bytes that may be run.
  ///
  /// - Parameters:
  ///   - first: what the store has, if that was just read.
  ///   - damaged: stored bytes that were found damaged.
  func walk(from first: Found? = nil, _ damaged: Blob? = nil) async throws -> LoadedBundle {
    var damaged = damaged
    var hasFailed = false
    var wasContradicted = false
    var next = first
    while true {
      let answer = state.withLock(\.answer)
      let found = if let next { next } else { try await look() }
      next = nil
      let choice = choice(among: found.candidates, answer)
      let blob = choice?.blob
      switch decision(found, blob, answer, damaged: damaged, fetchHasFailed: hasFailed) {
      case .runStored(let blob, let confirmation):
        if let choice, let bundle = try await read(choice, blob, as: confirmation, answer) { return bundle }
        damaged = blob
      case .quarantine(let blob):
        try await loader.store.quarantine(blob)
        damaged = nil
      case .askServer:
        // What was read still holds if nothing is waited for.
        let isKnown = await loader.verifier?.validAnswer != nil
        if isKnown { next = found }
        await set(serverAnswer(found, isKnown: isKnown))
      case .askOtherSources: await set(otherSources())
      case .fetch(let expected):
        do {
          return try await fetch(expected, answer, found.candidates, seen: blob)
        } catch let error as CancellationError {
          throw error
        } catch {
          if answer.isServers, !wasContradicted, let fresh = await freshAnswer(contradicting: error, since: answer),
            fresh.bundle != answer.bundle
          {
            // The 304 was wrong: the server has another manifest. Once: it may have another one for each question.
            wasContradicted = true
            set(fresh)
            continue
          }
          hasFailed = true
          state.withLock { state in
            state.failure = error
            state.answer.note = error.sentence
          }
        }
      case .fail:
        if case .offersBad(good: nil) = answer.word, let note = answer.note {
          throw BundleError.onlyInBadRelease(bundle: name, url: url, reason: note)
        }
        throw state.withLock(\.failure) ?? BundleError.notStored(bundle: name)
      case .refuse(let message): throw BundleError.disabled(bundle: name, message: message)
      }
    }
  }

  /// Returns `true` if the publisher has disabled the bundle, as far as the store knows.
  func isDisabled() async throws -> Bool { disabled(try await look(), state.withLock(\.answer)) != nil }

  /// The publisher's message, if it has disabled the page's bundle of any of these releases.
  private func disabled(_ found: Found, _ answer: ServerAnswer) -> String? {
    guard !found.disabled.isEmpty else { return nil }
    return (found.candidates.map(\.bundle) + [answer.bundle].compactMap(\.self)).lazy
      .filter { $0.kind == .bundle }.compactMap { found.disabled[$0.name] }.first
  }

  private var name: String { url.text }

  private func set(_ answer: ServerAnswer) { state.withLock { $0.answer = answer } }

  private func waitsFor(_ url: PageURL) { state.withLock { _ = $0.waitingFor.insert(url) } }

  // MARK: The store

  /// The store's knowledge of the page: the candidates, also those under its URL without the ignored parameters; the source
  /// with its releases, if it was read; and the messages of the bundles that the publisher has disabled.
  typealias Found = (candidates: [StoredCandidate], source: StoredSource?, disabled: [String: String])

  private func look() async throws -> Found {
    let (store, source) = (loader.store, loader.verifier?.source)
    guard options.view == nil, !options.ignoresStore else {
      let disabled = if let source { try await store.disabled(of: source) } else { [String: String]() }
      return (try await givenCandidates(), nil, disabled)
    }
    let path = PageIdentity.ignoringAllParameters.reduced(url)
    // Most openings that ask the server need the source's releases; others have no use for them.
    let found = try await store.look(
      at: path == url ? [url] : [url, path], of: source, withSource: !policy.startsWithStored)
    guard let exact = found.candidates.first, found.candidates.count > 1 else {
      return (found.candidates.first ?? [], found.source, found.disabled)
    }
    var reduced: [StoredCandidate] = []
    for candidate in found.candidates[1] {
      guard let release = candidate.release, try await identity(of: release).reduced(url) == path else { continue }
      reduced.append(candidate)
    }
    let candidates = exact.filter { $0.release != nil } + reduced + exact.filter { $0.release == nil }
    return (candidates, found.source, found.disabled)
  }

  /// The candidates for a page of a given release, or of none.
  private func givenCandidates() async throws -> [StoredCandidate] {
    guard !options.ignoresStore, let view = options.view else { return [] }
    guard let entry = try await entry(in: view.release) else {
      guard options.reason == nil else { return [] }
      return try await loader.store.candidates(at: url, of: loader.verifier?.source).filter { $0.place == .unlisted }
    }
    return [
      StoredCandidate(
        place: .current, release: view.release, bundle: entry.bundle, blob: entry.blob, hasAllFiles: true)
    ]
  }

  private func identity(of release: StoredRelease) async throws -> PageIdentity {
    try await loader.store.identity(of: release) ?? loader.configuration.identity
  }

  /// The page's entry in one release: the one with exactly its URL, or else the one without the ignored parameters.
  ///
  /// - Parameter candidates: the stored ones, which have the entries of most releases.
  private func entry(
    in release: StoredRelease, _ candidates: [StoredCandidate] = []
  ) async throws -> StoredBundle? {
    if let known = candidates.first(where: { $0.release?.id == release.id }) {
      return StoredBundle(bundle: known.bundle, blob: known.blob)
    }
    if let exact = try await loader.store.bundle(at: url, in: release) { return exact }
    let reduced = try await identity(of: release).reduced(url)
    return reduced == url ? nil : try await loader.store.bundle(at: reduced, in: release)
  }

  /// The candidate of the server's release; if its bytes are not stored, the best other one.
  private func choice(among candidates: [StoredCandidate], _ answer: ServerAnswer) -> StoredCandidate? {
    if let release = answer.release,
      let meant = candidates.first(where: { $0.release?.id == release.id && $0.blob != nil })
    {
      return meant
    }
    return candidates.best(loader.configuration.consistency)
  }

  /// - Returns: `nil` if the stored bytes are damaged or missing.
  private func read(
    _ choice: StoredCandidate, _ blob: Blob, as confirmation: BundleDecision.Confirmation, _ answer: ServerAnswer
  ) async throws -> LoadedBundle? {
    let view = try await view(of: choice.release)
    do {
      let found = try await loader.store.bytes(of: blob)
      let source: LoadedBundle.Source =
        switch confirmation {
        case .stale: .stale
        case .gone: .kept
        case .verified, .unverified, .instead: found.isFromMemory ? .memory : .store
        }
      let isVerified = [.verified, .instead].contains(confirmation) && answer.isServers
      return LoadedBundle(
        url: url, bytes: found.bytes, source: source, md5: blob.md5, sha256: blob.sha256, isVerified: isVerified,
        note: isVerified ? nil : answer.note, view: view)
    } catch let error as BlobError {
      loader.logger.warning("\(error)", metadata: ["url": "\(url)"])
      return nil
    }
  }

  private func view(of release: StoredRelease?) async throws -> ReleaseView? {
    guard let release else { return nil }
    if let view = options.view, view.release.id == release.id { return view }
    return try await loader.store.view(of: release)
  }

  // MARK: The network

  private func fetch(
    _ expected: ExpectedContent, _ answer: ServerAnswer, _ candidates: [StoredCandidate], seen: Blob?
  ) async throws -> LoadedBundle {
    if let bundle = answer.bundle, let release = answer.release {
      return try await fetch(bundle, of: release, answer, seen: seen)
    }
    // Without the server's answer the stored release tells the expected digests.
    if answer.word == .unknown, let known = candidates.first(where: { $0.release != nil && $0.blob == nil }),
      let release = known.release
    {
      do {
        return try await fetch(known.bundle, of: release, answer, seen: seen)
      } catch let error as BundleError where error.mayBeOutdatedManifest {
        // The server has a newer release that is not known here.
      }
    }
    // Whatever the server sends: no signature is of it.
    guard !loader.store.requiresSignatures else { throw BundleError.notSigned(bundle: name, url: url) }
    waitsFor(url)
    let target = FetchTarget(kind: .bundle, name: name, url: url, expected: expected)
    let delivery = try await loader.downloader.download(target, for: nil) { [loader, url, options] in
      guard !options.ignoresStore else { return nil }
      let unlisted = try await loader.store.candidates(at: url, of: loader.verifier?.source).last { $0.release == nil }
      return unlisted?.blob.flatMap { $0 != seen && expected.matches($0) ? $0 : nil }
    }
    if answer.word == .withoutChecksum { await loader.checksums.record(delivery.blob.md5, of: url) }
    let isVerified = expected.md5 != nil || expected.sha256 != nil
    return try await loaded(delivery, isVerified: isVerified && answer.isServers, answer, view: nil)
  }

  private func fetch(
    _ bundle: PageBundle, of release: StoredRelease, _ answer: ServerAnswer, seen: Blob?
  ) async throws -> LoadedBundle {
    let view = try await view(of: release)
    waitsFor(bundle.contentURL)
    let isForced = options.ignoresStore
    let delivery = try await loader.downloader.download(bundle, of: release) { [store = loader.store] in
      // Another opening, or the preloader, may have stored it meanwhile.
      guard !isForced, let blob = try await store.bundle(at: bundle.url, in: release)?.blob, blob != seen else {
        return nil
      }
      return blob
    }
    return try await loaded(delivery, isVerified: answer.isServers && answer.bundle != nil, answer, view: view)
  }

  private func loaded(
    _ delivery: BundleDownloader.Delivery, isVerified: Bool, _ answer: ServerAnswer, view: ReleaseView?
  ) async throws -> LoadedBundle {
    LoadedBundle(
      url: url, bytes: try await loader.store.bytes(of: delivery.blob).bytes,
      source: delivery.wasFetched ? .network : .store, md5: delivery.blob.md5, sha256: delivery.blob.sha256,
      isVerified: isVerified, note: isVerified ? nil : answer.note, view: view)
  }

  // MARK: The server's answer

  /// The server's answer about one bundle, and the manifest's entry if there is one.
  private struct ServerAnswer {
    var word: BundleDecision.ServerState
    /// The manifest's entry, and the release it is in.
    var bundle: PageBundle?
    var release: StoredRelease?
    /// A sentence that says why the answer is unknown, or is not the server's.
    var note: String?
    /// `false` if the page stays with an older release.
    var isServers = true
  }

  /// - Parameter isKnown: `true` if the server was asked before, so that the store's releases stay the same.
  private func serverAnswer(_ found: Found, isKnown: Bool) async -> ServerAnswer {
    if let view = options.view {
      guard let entry = try? await entry(in: view.release) else {
        guard let reason = options.reason else { return ServerAnswer(word: .notListed) }
        return ServerAnswer(word: .offersBad(good: nil), note: reason, isServers: false)
      }
      let isServers = await loader.verifier?.known?.release.id == view.release.id
      return ServerAnswer(
        word: .expects(entry.bundle.expected), bundle: entry.bundle, release: view.release,
        note: isServers ? nil : options.reason ?? "the page around it is of release \(view.release.name)",
        isServers: isServers)
    }
    guard let verifier = loader.verifier else { return ServerAnswer(word: .notListed) }
    var source = found.source
    if source == nil { source = try? await loader.store.source(verifier.source) }
    if !options.ignoresStore, policy != .networkOnly, let source, let held = try? await heldAnswer(verifier, source) {
      return held
    }
    let answer = await manifestAnswer(verifier, found.candidates)
    guard let source = isKnown ? source : try? await loader.store.source(verifier.source) else { return answer }
    if let instead = try? await insteadOfBad(answer, source) { return instead }
    guard !options.ignoresStore else { return answer }
    return (try? await pinned(source, unless: answer)) ?? answer
  }

  /// The longest wait for the server's MD5s, counted from the opening's beginning.
  private var patience: Duration { policy.deadline ?? loader.configuration.idleLimit }

  private func manifestAnswer(_ verifier: LaunchVerifier, _ candidates: [StoredCandidate]) async -> ServerAnswer {
    waitsFor(verifier.source)
    do {
      // What is known needs no deadline, which takes tasks and a timer.
      var known = await verifier.validAnswer
      if known == nil {
        known = try await within(
          until: deadline.began + patience, on: loader.time, { try await verifier.verified() })
      }
      guard let verified = known else {
        // If nothing is stored, the bundle is requested without its MD5 after this time.
        return ServerAnswer(word: .unknown, note: "the server's MD5s were not known after \(patience.inSeconds)")
      }
      do {
        return try await answer(from: verified, candidates)
      } catch StoreError.releaseGone {
        return try await answer(from: verifier.refresh(), [])
      }
    } catch SourceError.noManifest where !loader.store.requiresSignatures {
      return ServerAnswer(word: .notListed)
    } catch {
      return ServerAnswer(word: .unknown, note: error.sentence)
    }
  }

  private func answer(
    from verified: Verified, _ candidates: [StoredCandidate] = []
  ) async throws -> ServerAnswer {
    guard let bundle = try await entry(in: verified.release, candidates)?.bundle else {
      // The entries of a release that was removed are gone, too.
      _ = try await loader.store.lease(verified.release)
      return ServerAnswer(word: .notListed)
    }
    return ServerAnswer(word: .expects(bundle.expected), bundle: bundle, release: verified.release)
  }

  /// The bundle of a held release, which is shown whatever the server has.
  private func heldAnswer(_ verifier: LaunchVerifier, _ source: StoredSource) async throws -> ServerAnswer? {
    guard source.isHeld, let current = source.current else { return nil }
    var server: PageBundle?
    if let known = await verifier.known?.release { server = try await entry(in: known)?.bundle }
    return try await pinned(to: current, because: "release \(current.name) is held", server: server)
  }

  /// The current release's bundle, if a newer release must not show because it is incomplete or the current one is
  /// held.
  private func pinned(_ source: StoredSource, unless answer: ServerAnswer) async throws -> ServerAnswer? {
    if let release = answer.release, source.withholds(release), let current = source.current {
      return try await pinned(
        to: current, because: "the publisher holds release \(release.name) back", server: answer.bundle)
    }
    guard loader.configuration.consistency == .release || source.isHeld, let current = source.current,
      let incoming = source.incoming
    else { return nil }
    let reason =
      source.isHeld ? "release \(current.name) is held" : "release \(incoming.name) is still coming in"
    return try await pinned(to: current, because: reason, server: answer.bundle)
  }

  /// The current release's bundle, if the server's release is bad on this device.
  private func insteadOfBad(_ answer: ServerAnswer, _ source: StoredSource) async throws -> ServerAnswer? {
    guard let bad = source.incoming, bad.standing == .bad, answer.release?.id == bad.id else { return nil }
    let reason = try await loader.store.badRelease(bad)?.description ?? "release \(bad.name) is bad on this device"
    guard let current = source.current,
      var instead = try await pinned(to: current, because: reason, server: answer.bundle)
    else { return ServerAnswer(word: .offersBad(good: nil), note: reason, isServers: false) }
    instead.word = .offersBad(good: instead.bundle?.expected)
    return instead
  }

  /// - Parameter server: the server's entry of the page, if it is known.
  private func pinned(
    to current: StoredRelease, because reason: String, server: PageBundle?
  ) async throws -> ServerAnswer? {
    guard let pinned = try await entry(in: current) else { return nil }
    return ServerAnswer(
      word: .expects(pinned.bundle.expected), bundle: pinned.bundle, release: current, note: reason,
      isServers: server?.md5 == pinned.bundle.md5)
  }

  /// The server's answer to an unconditional request, after bytes contradicted a manifest that it called unchanged.
  private func freshAnswer(contradicting error: any Error, since answer: ServerAnswer) async -> ServerAnswer? {
    guard (error as? BundleError)?.mayBeOutdatedManifest == true, answer.bundle != nil, options.view == nil,
      let verifier = loader.verifier
    else { return nil }
    guard let verified = try? await verifier.verifiedUnconditionally() else { return nil }
    return try? await self.answer(from: verified)
  }

  private func otherSources() async -> ServerAnswer {
    guard !loader.store.requiresSignatures else {
      return ServerAnswer(word: .gone, note: "the server's signed manifest does not list this bundle any more")
    }
    guard !url.isFile else { return ServerAnswer(word: .unknown) }
    do {
      let found = try await within(until: deadline.began + patience, on: loader.time) { [loader, url] in
        try await loader.checksums.checksum(of: url)
      }
      switch found {
      case .some(.promised(let expected)?): return ServerAnswer(word: .expects(expected))
      case .some(.hinted(let md5)?): return ServerAnswer(word: .hints(md5))
      case .some(.gone(let status)?):
        return ServerAnswer(
          word: .gone,
          note: "the server has \(url) no more (it answers \(status)); these are the bytes it had")
      case .some(nil): return ServerAnswer(word: .withoutChecksum, note: "the server tells no MD5 of this bundle")
      case nil:
        return ServerAnswer(word: .unknown, note: "the server's MD5 was not known after \(patience.inSeconds)")
      }
    } catch {
      return ServerAnswer(word: .unknown, note: error.sentence)
    }
  }
}
