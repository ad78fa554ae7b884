import Blobs
import Foundation
import HTTPTransport
import Logging
import Synchronization
import SystemPackage

/// The trials of a host's releases: which of the app's openings decide about a release, and what follows from them.
package final class ReleaseTrials: Sendable {
  private let store: BundleStore
  fileprivate let options: ReleaseTrial
  private let news: Broadcast<BundleNews>
  /// Sends the results of trials; `nil` to send none.
  private let sender: ReportSender?
  fileprivate let time: TimeSource
  private let logger: Logger
  private let state = Mutex<State>(([:], [:], false, nil))

  /// The names of the openings that have no tree yet, by their releases; the waits for pages to pass.
  private typealias State = (
    opening: [Int64: Set<String>], waits: [String: Task<Void, Never>], isOver: Bool, recording: Task<Void, Never>?
  )

  package init(
    store: BundleStore, options: ReleaseTrial = ReleaseTrial(), news: Broadcast<BundleNews>,
    sender: ReportSender? = nil, time: TimeSource = .system, logger: Logger = Logger(label: "pagekit.trial")
  ) {
    self.store = store
    self.sender = sender
    self.options = options
    self.news = news
    self.time = time
    self.logger = logger
  }

  /// Records the openings that earlier processes left, once, and returns when that is done.
  package func recordEndedProcesses() async {
    let task = state.withLock { state in
      let task = state.recording ?? Task { await self.recordEndedOpenings() }
      state.recording = task
      return task
    }
    await task.value
  }

  private func recordEndedOpenings() async {
    do {
      try await Breadcrumb.removeAbandoned(in: store.work) { name, left in
        let failure = TrialFailure(.processEnded, page: left.url, message: "the process ended")
        let effect = try await store.record(
          .failed(failure), of: left.release, page: left.page, opening: name, options: options,
          reports: sender != nil)
        tell(effect, failure)
      }
    } catch {
      logger.warning("the openings that the last process left are not recorded: \(error.sentence)")
    }
    // Also those that earlier processes have not sent.
    sender?.send()
  }

  /// Begins the trial of an opening, before the page's script runs.
  ///
  /// - Returns: `nil` if the opening does not decide about the bundle's release: it is good or held, or there is none.
  package func begin(_ loaded: LoadedBundle) async -> OpeningTrial? {
    guard let release = loaded.release, release.standing == .trial else { return nil }
    do {
      guard try await store.isOnTrial(release) else { return nil }
      let content = Breadcrumb.Content(release: release.id, page: loaded.md5, url: loaded.url.text)
      guard let breadcrumb = try Breadcrumb.leave(content, in: store.work) else { return nil }
      state.withLock { _ = $0.opening[release.id, default: []].insert(breadcrumb.name) }
      return OpeningTrial(of: release, loaded, breadcrumb, trials: self)
    } catch {
      logger.warning("the opening of \(loaded.url) does not count for release \(release.name): \(error.sentence)")
      return nil
    }
  }

  /// Waits until the pages that have a tree have passed.
  package func finishWaiting() async {
    while let wait = state.withLock({ $0.waits.values.first }) { await wait.value }
  }

  /// Ends the waits for pages to pass. Nothing is recorded afterwards.
  package func shutDown() async {
    let waits = state.withLock { state in
      state.isOver = true
      return Array(state.waits.values)
    }
    for wait in waits { wait.cancel() }
    for wait in waits { await wait.value }
    await sender?.shutDown()
  }

  // MARK: Openings

  fileprivate func ended(_ name: String, of release: Int64) {
    state.withLock { state in
      state.opening[release]?.remove(name)
      if state.opening[release]?.isEmpty == true { state.opening[release] = nil }
    }
  }

  fileprivate func wait(_ name: String, _ body: @escaping @Sendable () async -> Void) {
    state.withLock { state in
      guard !state.isOver else { return }
      state.waits[name] = Task {
        await body()
        self.state.withLock { $0.waits[name] = nil }
      }
    }
  }

  fileprivate func record(
    _ result: BundleStore.TrialResult, _ name: String, of release: StoredRelease, _ page: MD5Digest
  ) async {
    let others = state.withLock { $0.opening[release.id]?.subtracting([name]).count ?? 0 }
    do {
      let effect = try await store.record(
        result, of: release.id, page: page, opening: name, otherOpenings: others, options: options,
        reports: sender != nil)
      if effect != .none { sender?.send() }
      if case .failed(let failure) = result { tell(effect, failure) }
      if effect == .good { logger.info("release \(release.name) is good") }
    } catch {
      logger.warning("the result of an opening of release \(release.name) is not recorded: \(error.sentence)")
    }
  }

  private func tell(_ effect: BundleStore.TrialEffect, _ failure: TrialFailure) {
    guard case .bad(let bad, let current) = effect else {
      return logger.warning("a page failed in the trial of its release: \(failure)")
    }
    logger.error("\(bad); release \(current.name) takes its place")
    news.send(.undone(bad, current: current))
  }

  /// The good release with which an opening goes on; `nil` if there is none.
  fileprivate func good(before release: StoredRelease) async -> ReleaseView? {
    do {
      guard let good = try await store.lastGood(before: release) else { return nil }
      return try await store.view(of: good)
    } catch {
      logger.warning("the release before \(release.name) cannot be used: \(error.sentence)")
      return nil
    }
  }
}

/// One opening of a page whose release is on trial. Its first result counts.
package final class OpeningTrial: Sendable {
  private let release: StoredRelease
  private let page: MD5Digest
  /// The page's URL.
  package let url: PageURL
  private let name: String
  private let trials: ReleaseTrials
  private let state: Mutex<State>

  private enum State {
    /// The page has no tree.
    case opening(Breadcrumb)
    /// The page has a tree, and runs.
    case running
    case over
  }

  fileprivate init(
    of release: StoredRelease, _ loaded: LoadedBundle, _ breadcrumb: Breadcrumb, trials: ReleaseTrials
  ) {
    self.release = release
    self.trials = trials
    (page, url, name) = (loaded.md5, loaded.url, breadcrumb.name)
    state = Mutex(.opening(breadcrumb))
  }

  deinit { trials.ended(name, of: release.id) }

  /// The longest wait of a page without a tree for the work that it has begun.
  package var patience: Duration { trials.options.duration }

  /// Records that the page has a tree. After the trial's time the page has passed.
  package func rendered() {
    let isFirst = state.withLock { state in
      guard case .opening = state else { return false }
      state = .running
      return true
    }
    guard isFirst else { return }
    trials.ended(name, of: release.id)
    trials.wait(name) { [self] in
      guard (try? await trials.time.sleep(trials.options.duration)) != nil else { return }
      await finish(with: .passed)
    }
  }

  /// Records that the page has failed.
  ///
  /// - Returns: a good release with which the opening can go on; `nil` if there is none, or the page had a result before.
  package func failed(_ failure: TrialFailure) async -> ReleaseView? {
    guard await finish(with: .failed(failure)) else { return nil }
    return await trials.good(before: release)
  }

  /// Records that the app calls the page, and with it the release, good.
  package func ready() async {
    await finish(with: .ready)
  }

  /// Ends the trial of a page that was closed before it had a tree, which says nothing about its release.
  package func abandon() {
    let wasOpening = state.withLock { state in
      guard case .opening = state else { return false }
      state = .over
      return true
    }
    if wasOpening { trials.ended(name, of: release.id) }
  }

  /// - Returns: `false` if the opening had a result before.
  @discardableResult
  private func finish(with result: BundleStore.TrialResult) async -> Bool {
    let former = state.withLock { state in
      defer { state = .over }
      return state
    }
    if case .over = former { return false }
    trials.ended(name, of: release.id)
    await trials.record(result, name, of: release, page)
    // A process that ends before the result is recorded leaves the file of the opening.
    withExtendedLifetime(former) {}
    return true
  }
}

/// The file of an opening of a page of a release on trial: it exists in the folder `openings`, and is locked, while the
/// page opens. One that is not locked was left by a process that ended meanwhile.
///
/// It is not flushed to the disk: after a power failure, nothing is known of a page that was being opened.
final class Breadcrumb: Sendable {
  /// The opening that a file stands for.
  struct Content: Codable, Hashable, Sendable {
    let release: Int64
    /// The MD5 of the page's bundle.
    let page: MD5Digest
    let url: String
  }

  private let file: LockedFile

  private init(_ file: LockedFile) { self.file = file }

  /// The name of the opening.
  var name: String { file.path.lastName }

  /// The size of a file in bytes; a longer one is not read.
  private static let byteLimit = 16 << 10

  /// Makes the file of an opening.
  ///
  /// - Returns: `nil` if another process took the file for one that was left.
  /// - Throws: ``StoreError``.
  static func leave(_ content: Content, in directory: StoreDirectory) throws -> Breadcrumb? {
    let bytes = Array(try JSONEncoder().encode(content))
    try directory.makeWay(for: .folder, at: directory.openings)
    if FileSystem.status(directory.openings) == nil { try FileSystem.makeFolder(directory.openings) }
    let path = directory.openings.appending(UUID().uuidString)
    guard let file = LockedFile(try directory.make(own: path), at: path) else { return nil }
    let breadcrumb = Breadcrumb(file)
    try FileSystem.writeAll(bytes, to: file.descriptor, path: path)
    return breadcrumb
  }

  /// Calls the body with each opening that a process left, and removes its file. The name of the file names the opening.
  ///
  /// - Throws: what the body throws; the file then stays.
  static func removeAbandoned(in directory: StoreDirectory, _ body: (String, Content) async throws -> Void) async throws
  {
    for name in FileSystem.names(in: directory.openings) {
      let path = directory.openings.appending(name)
      guard FileSystem.status(path)?.kind == .file, let file = try? FileSystem.open(path, .readOnly),
        let lock = LockedFile(file, at: path)
      else { continue }
      defer { withExtendedLifetime(lock) {} }
      // A file without content was left before its page began to run.
      let bytes = FileSystem.contents(of: path, upTo: byteLimit) ?? []
      if let content = try? JSONDecoder().decode(Content.self, from: Data(bytes)) { try await body(name, content) }
      FileSystem.remove(path)
    }
  }

  deinit { FileSystem.remove(file.path) }
}
