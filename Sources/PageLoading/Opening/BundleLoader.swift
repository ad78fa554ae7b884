import Logging
import PageCore

/// Opens bundles: from the store where the server's MD5 says so, from the network otherwise. The decisions are
/// ``BundleDecision``'s.
public final class BundleLoader: Sendable {
  private let store: any BundleStoring
  private let verifier: LaunchVerifier?
  private let downloader: BundleDownloader
  private let checksums: ChecksumLookup
  private let flights = SingleFlight<PageURL, ServerChecksum?>()
  private let consistency: Consistency
  private let patience: Duration
  private let logger: Logger

  /// - Parameters:
  ///   - verifier: nil where there is no manifest.
  ///   - checksumSources: asked in their order for bundles outside the manifest.
  ///   - consistency: which bytes a page gets while a release is coming in.
  ///   - patience: how long to wait for the server's word before the stored bytes are run without it.
  public init(
    store: any BundleStoring, verifier: LaunchVerifier?, downloader: BundleDownloader,
    checksumSources: [ChecksumSource] = ChecksumSource.standard, consistency: Consistency = .bundle,
    patience: Duration = .seconds(2),
    logger: Logger = Logger(label: "pagekit.open")
  ) {
    self.store = store
    self.verifier = verifier
    self.downloader = downloader
    checksums = ChecksumLookup(client: downloader.client, order: checksumSources)
    self.consistency = consistency
    self.patience = patience
    self.logger = logger
  }

  /// The bundle's bytes, checked.
  ///
  /// - Throws: ``BundleError``, ``StoreError``, `CancellationError`.
  public func load(_ url: PageURL, options: OpenOptions = OpenOptions()) async throws -> LoadedBundle {
    var word = options.isOffline ? ServerAnswer(word: .unknown) : await serverWord(on: url)
    var stored = options.ignoresStore ? nil : try await store.bundle(at: url)
    if !options.ignoresStore, let (pinned, answer) = try await pinned(url, unless: word) {
      (stored, word) = (pinned, answer)
    }
    var failure: (any Error)?
    var situation = BundleDecision.Situation(
      stored: stored?.blob.map { .blob($0) } ?? .nothing, server: word.word, fetchHasFailed: options.isOffline,
      allowsStale: options.allowsStale)
    while true {
      switch BundleDecision(for: situation) {
      case .runStored(let blob, let standing):
        if let bundle = try await readStored(blob, of: url, as: standing, word: word) { return bundle }
        situation.stored = .damaged(blob)
      case .quarantine(let blob):
        try await store.quarantine(blob)
        situation.stored = .nothing
      case .askOtherSources:
        word = await otherSources(on: url)
        situation.server = word.word
      case .fetch(let expected):
        do {
          return try await fetch(
            url, expecting: expected, word: word, seen: situation.stored, isForced: options.ignoresStore)
        } catch let error as CancellationError {
          throw error
        } catch {
          if let fresh = await freshWord(contradicting: error, on: url, since: word), fresh.bundle != word.bundle {
            // The 304 was wrong: the manifest has moved on.
            word = fresh
            situation.server = fresh.word
            continue
          }
          failure = error
          word.note = "\(error)"
          situation.fetchHasFailed = true
        }
      case .fail:
        throw failure ?? BundleError.notStored(bundle: url.text)
      }
    }
  }

  /// The current release's bundle, where a newer release must not show before it is complete.
  private func pinned(_ url: PageURL, unless word: ServerAnswer) async throws -> (StoredBundle, ServerAnswer)? {
    guard consistency == .release, let verifier, let source = try await store.source(verifier.source),
      let current = source.current, let incoming = source.incoming,
      let pinned = try await store.bundle(at: url, in: current)
    else { return nil }
    let answer = ServerAnswer(
      word: .expects(pinned.bundle.expected), bundle: pinned.bundle, release: current,
      note: "release \(incoming.name) is still coming in", isServers: word.bundle?.md5 == pinned.bundle.md5)
    return (pinned, answer)
  }

  /// Nil where the bytes are not what they should be.
  private func readStored(
    _ blob: Blob, of url: PageURL, as standing: BundleDecision.Standing, word: ServerAnswer
  ) async throws -> LoadedBundle? {
    do {
      let found = try await store.bytes(of: blob)
      return LoadedBundle(
        url: url, bytes: found.bytes, source: standing == .stale ? .stale : found.isFromMemory ? .memory : .store,
        md5: blob.md5, isVerified: standing == .verified && word.isServers,
        note: standing == .verified && word.isServers ? nil : word.note)
    } catch let error as BlobError {
      logger.warning("\(error)", metadata: ["url": "\(url)"])
      return nil
    }
  }

  private func fetch(
    _ url: PageURL, expecting expected: ExpectedContent, word: ServerAnswer, seen: BundleDecision.Situation.Stored,
    isForced: Bool
  ) async throws -> LoadedBundle {
    let target = FetchTarget(
      kind: word.bundle?.kind ?? .bundle, name: word.bundle?.name ?? url.text, url: url, expected: expected)
    let delivery = try await downloader.download(target, for: word.release) { [store] in
      // Another open, or the preloader, may have brought it meanwhile.
      guard !isForced, let blob = try await store.bundle(at: url)?.blob, .blob(blob) != seen, expected.matches(blob)
      else {
        return nil
      }
      return blob
    }
    return LoadedBundle(
      url: url, bytes: try await store.bytes(of: delivery.blob).bytes,
      source: delivery.wasFetched ? .network : .store, md5: delivery.blob.md5,
      isVerified: word.isServers && (expected.md5 != nil || expected.sha256 != nil),
      note: word.isServers ? nil : word.note)
  }

  // MARK: The server's word

  /// What the server said of one bundle, and where it said so.
  private struct ServerAnswer {
    var word: BundleDecision.ServerWord
    /// The manifest's entry, and the release it is in.
    var bundle: PageBundle?
    var release: StoredRelease?
    /// Why the word is unknown, or not the server's, in a sentence.
    var note: String?
    /// False where the page is held to an older release.
    var isServers = true
  }

  private func serverWord(on url: PageURL) async -> ServerAnswer {
    guard let verifier else { return ServerAnswer(word: .notListed) }
    do {
      guard let verified = try await within(patience, { try await verifier.verified() }) else {
        return ServerAnswer(word: .unknown, note: "the server's MD5s were not known after \(patience.inSeconds)")
      }
      return Self.word(verified, on: url)
    } catch {
      return ServerAnswer(word: .unknown, note: "\(error)")
    }
  }

  private static func word(_ verified: Verified, on url: PageURL) -> ServerAnswer {
    guard let bundle = verified.bundle(at: url) else { return ServerAnswer(word: .notListed) }
    return ServerAnswer(word: .expects(bundle.expected), bundle: bundle, release: verified.release)
  }

  /// The server's word without conditions, where bytes contradict a manifest it called unchanged.
  private func freshWord(contradicting error: any Error, on url: PageURL, since word: ServerAnswer) async
    -> ServerAnswer?
  {
    guard (error as? BundleError)?.mayBeOutdatedManifest == true, word.bundle != nil, let verifier else { return nil }
    return (try? await verifier.verifiedUnconditionally()).map { Self.word($0, on: url) }
  }

  private func otherSources(on url: PageURL) async -> ServerAnswer {
    guard !url.isFile else { return ServerAnswer(word: .unknown) }
    do {
      let found = try await within(patience) { [flights, checksums] in
        try await flights.value(for: url) { try await checksums.checksum(of: url) }
      }
      switch found {
      case .some(.promised(let expected)?): return ServerAnswer(word: .expects(expected))
      case .some(.hinted(let md5)?): return ServerAnswer(word: .hints(md5))
      case .some(nil): return ServerAnswer(word: .unknown, note: "the server tells no MD5 of this bundle")
      case nil:
        return ServerAnswer(word: .unknown, note: "the server's MD5 was not known after \(patience.inSeconds)")
      }
    } catch {
      return ServerAnswer(word: .unknown, note: "\(error)")
    }
  }
}
