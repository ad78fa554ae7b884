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
  private let patience: Duration
  private let logger: Logger

  /// - Parameters:
  ///   - verifier: nil where there is no manifest.
  ///   - checksumSources: asked in their order for bundles outside the manifest.
  ///   - patience: how long to wait for the server's word before the stored bytes are run without it.
  public init(
    store: any BundleStoring, verifier: LaunchVerifier?, downloader: BundleDownloader,
    checksumSources: [ChecksumSource] = ChecksumSource.standard, patience: Duration = .seconds(2),
    logger: Logger = Logger(label: "pagekit.open")
  ) {
    self.store = store
    self.verifier = verifier
    self.downloader = downloader
    checksums = ChecksumLookup(client: downloader.client, order: checksumSources)
    self.patience = patience
    self.logger = logger
  }

  /// The bundle's bytes, checked.
  ///
  /// - Throws: ``BundleError``, ``StoreError``, `CancellationError`.
  public func load(_ url: PageURL, options: OpenOptions = OpenOptions()) async throws -> LoadedBundle {
    let word = options.isOffline ? Word(word: .unknown) : await serverWord(on: url)
    var listed = word.bundle
    var note = word.note
    var failure: (any Error)?
    var situation = BundleDecision.Situation(
      stored: try await storedBlob(url), server: word.word, fetchHasFailed: options.isOffline,
      allowsStale: options.allowsStale)
    while true {
      switch BundleDecision(for: situation) {
      case .runStored(let blob, let standing):
        do {
          let found = try await store.bytes(of: blob)
          let source: LoadedBundle.Source =
            standing == .stale ? .stale : found.isFromMemory ? .memory : .store
          return LoadedBundle(
            url: url, bytes: found.bytes, source: source, md5: blob.md5, isVerified: standing == .verified,
            note: standing == .verified ? nil : note)
        } catch let error as BlobError {
          logger.warning("\(error)", metadata: ["url": "\(url)"])
          situation.stored = .damaged(blob)
        }
      case .quarantine(let blob):
        try await store.quarantine(blob)
        situation.stored = .nothing
      case .askOtherSources:
        (situation.server, note) = await otherSources(on: url)
      case .fetch(let expected):
        do {
          let target = FetchTarget(
            kind: listed?.kind ?? .bundle, name: listed?.name ?? url.text, url: url, expected: expected)
          let seen = situation.stored
          let delivery = try await downloader.download(target, for: listed == nil ? nil : word.release) { [store] in
            // Another open, or the preloader, may have brought it meanwhile.
            guard let blob = try await store.bundle(at: url)?.blob, .blob(blob) != seen, expected.matches(blob) else {
              return nil
            }
            return blob
          }
          return LoadedBundle(
            url: url, bytes: try await store.bytes(of: delivery.blob).bytes,
            source: delivery.wasFetched ? .network : .store, md5: delivery.blob.md5,
            isVerified: expected.md5 != nil, note: nil)
        } catch let error as CancellationError {
          throw error
        } catch {
          if let fresh = await freshWord(contradicting: error, on: url, since: word), fresh.bundle != listed {
            // The 304 was wrong: the manifest has moved on.
            situation.server = fresh.word
            listed = fresh.bundle
            continue
          }
          failure = error
          note = "\(error)"
          situation.fetchHasFailed = true
        }
      case .fail:
        throw failure ?? BundleError.notStored(bundle: url.text)
      }
    }
  }

  private func storedBlob(_ url: PageURL) async throws -> BundleDecision.Situation.Stored {
    try await store.bundle(at: url)?.blob.map { .blob($0) } ?? .nothing
  }

  // MARK: The server's word

  private struct Word {
    var word: BundleDecision.ServerWord
    var bundle: PageBundle?
    var release: StoredRelease?
    var note: String?
  }

  private func serverWord(on url: PageURL) async -> Word {
    guard let verifier else { return Word(word: .notListed) }
    do {
      guard let verified = try await within(patience, { try await verifier.verified() }) else {
        return Word(word: .unknown, note: "the server's MD5s were not known after \(patience.inSeconds)")
      }
      return Self.word(verified, on: url)
    } catch {
      return Word(word: .unknown, note: "\(error)")
    }
  }

  private static func word(_ verified: Verified, on url: PageURL) -> Word {
    guard let bundle = verified.bundle(at: url) else { return Word(word: .notListed) }
    return Word(word: .expects(bundle.expected), bundle: bundle, release: verified.release)
  }

  /// The server's word without conditions, where bytes contradict a manifest it called unchanged.
  private func freshWord(contradicting error: any Error, on url: PageURL, since word: Word) async -> Word? {
    guard (error as? BundleError)?.mayBeOutdatedManifest == true, word.bundle != nil, let verifier else { return nil }
    return (try? await verifier.verifiedUnconditionally()).map { Self.word($0, on: url) }
  }

  private func otherSources(on url: PageURL) async -> (BundleDecision.ServerWord, String?) {
    guard !url.isFile else { return (.unknown, nil) }
    do {
      let found = try await within(patience) { [flights, checksums] in
        try await flights.value(for: url) { try await checksums.checksum(of: url) }
      }
      switch found {
      case .some(.some(.promised(let expected))): return (.expects(expected), nil)
      case .some(.some(.hinted(let md5))): return (.hints(md5), nil)
      case .some(.none): return (.unknown, "the server tells no MD5 of this bundle")
      case .none: return (.unknown, "the server's MD5 was not known after \(patience.inSeconds)")
      }
    } catch {
      return (.unknown, "\(error)")
    }
  }
}
