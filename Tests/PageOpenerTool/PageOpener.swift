import Blobs
import Bundles
import CurlTransport
import Foundation
import HTTPCache
import HTTPTransport
import Logging
import Synchronization

/// One process of an app, without a script engine: it preloads releases, opens pages, and asks for their files.
final class PageOpener: Sendable {
  private let store: BundleStore
  private let manifest: PageURL
  private let verifier: LaunchVerifier
  private let downloader: BundleDownloader
  private let bundles: BundleLoader
  private let resources: ResourceLoader
  /// The pages that are open, by the number that they were opened with.
  private let pages = Mutex<[String: LoadedBundle]>([:])
  private let trials: ReleaseTrials
  /// The trials of openings, by the same number.
  private let openings = Mutex<[String: OpeningTrial]>([:])

  struct UnknownCommand: Error {}

  init(store folder: String, manifest: String) throws {
    guard let manifest = PageURL(manifest) else { throw UnknownCommand() }
    self.manifest = manifest
    store = try BundleStore(at: StoreDirectory(folder))
    let transport = try CurlTransport()
    let client = OriginClient(transport)
    let pause: @Sendable (Duration) async throws -> Void = { _ in try await Task.sleep(for: .milliseconds(1)) }
    verifier = LaunchVerifier(
      source: manifest, store: store, client: client, retry: RetryPolicy(attempts: 1),
      sleep: pause)
    downloader = BundleDownloader(
      store: store,
      fetcher: BundleFetcher(
        client: client, store: store, retry: RetryPolicy(attempts: 2), sleep: pause))
    bundles = BundleLoader(store: store, verifier: verifier, downloader: downloader)
    trials = ReleaseTrials(store: store, news: Broadcast())
    resources = ResourceLoader(
      cache: try ResponseCache(store: NoResponseStore()), transport: transport,
      files: ReleaseFiles(store, downloader: downloader, verifier: verifier).file)
  }

  /// `preload`, `relaunch`, `collect`, `open NUMBER NAME POLICY`, `file NUMBER NAME`, `close NUMBER`; of a page that is
  /// open, `try NUMBER`, `rendered NUMBER`, `failed NUMBER`, `ready NUMBER`; `note`; `import PATH`.
  func perform(_ command: [String]) async {
    do {
      switch (command.first, command.count) {
      case ("preload", 1):
        _ = await Preloader(store: store, verifier: verifier, downloader: downloader).start().report()
      case ("relaunch", 1):
        await verifier.relaunch()
        await bundles.relaunch()
      case ("collect", 1):
        _ = try await store.collectGarbage(keepingPrevious: false, dryRun: false)
      case ("open", 4):
        try await open(command[1], try url(command[2]), try policy(command[3]))
      case ("file", 3):
        try await file(command[1], command[2])
      case ("close", 2):
        pages.withLock { $0[command[1]] = nil }
      case ("import", 2):
        let release = EmbeddedRelease(
          command[1], of: manifest, store: store, trust: nil, limits: .standard, logger: Logger(label: "opener"))
        await release.installed()
      case ("note", 1):
        await trials.recordEndedProcesses()
      case ("try", 2):
        guard let page = pages.withLock({ $0[command[1]] }), let opening = await trials.begin(page) else {
          throw UnknownCommand()
        }
        openings.withLock { $0[command[1]] = opening }
      case ("rendered", 2):
        try opening(command[1]).rendered()
      case ("ready", 2):
        try await opening(command[1]).ready()
      case ("failed", 2):
        let opening = try opening(command[1])
        _ = await opening.failed(TrialFailure(.exception, page: opening.url.text, message: "an exception"))
      default: throw UnknownCommand()
      }
      print("done", command.joined(separator: " "))
    } catch {
      print("failed", command.joined(separator: " ") + ": \(error)")
    }
  }

  private func open(_ number: String, _ url: PageURL, _ policy: OpenPolicy) async throws {
    let page = try await bundles.load(url, options: OpenOptions(policy: policy))
    // Open from here on, whatever the reader makes of the line.
    pages.withLock { $0[number] = page }
    print("page", number, page.view.map { "\($0.release.id) \($0.release.name)" } ?? "- -", try Self.digest(page.bytes))
  }

  private func opening(_ number: String) throws -> OpeningTrial {
    guard let opening = openings.withLock({ $0[number] }) else { throw UnknownCommand() }
    return opening
  }

  private func file(_ number: String, _ name: String) async throws {
    guard let page = pages.withLock({ $0[number] }) else { throw UnknownCommand() }
    var request = ResourceRequest(try url(name).text)
    request.snapshot = page.view
    print("file", number, name, try Self.digest(try await resources.response(for: request).body.collect()))
  }

  private func url(_ name: String) throws -> PageURL {
    guard let url = PageURL(manifest.text.replacing("manifest.json", with: "b/\(name)")) else { throw UnknownCommand() }
    return url
  }

  private func policy(_ name: String) throws -> OpenPolicy {
    switch name {
    case "networkFirst": .networkFirst(deadline: .milliseconds(200))
    case "cacheFirst": .cacheFirst
    case "staleWhileRevalidate": .staleWhileRevalidate
    case "cacheOnly": .cacheOnly
    default: throw UnknownCommand()
    }
  }

  private static func digest(_ bytes: [UInt8]) throws -> String { try ContentDigests(of: bytes).sha256.hex }

  /// One line, in one write.
  func print(_ words: String...) {
    try? FileHandle.standardOutput.write(contentsOf: Data((words.joined(separator: " ") + "\n").utf8))
  }
}
