import Blobs
import Foundation
import HTTPTypes
import Hummingbird
import LivePages
import Logging
import NIOCore
import PageKit
import PageWorkers
import ServerKit
import ServiceLifecycle
import Synchronization

/// A host for those who write pages: it runs the bundles of a folder as they are there, and runs them again when they are
/// saved. Browsers use the pages meanwhile.
package struct DevelopmentHost: Sendable {
  package struct Settings: Sendable {
    package var folder: WorkingFolder
    /// The folder of what pages store and fetch.
    package var store: StoreDirectory
    package var address = "127.0.0.1"
    /// The port; 0 for any free one.
    package var port = 8090
    /// The ticket that browsers need in the URL if other machines reach the address; `nil` if none do.
    package var ticket: String?
    /// The data of pages that a browser opens without any.
    package var data: JSONValue = .object([:])
    /// The members of `WXEnvironment`.
    package var environment: [String: String] = [:]
    /// The files of a framework and of a script that runs before bundles; `nil` for none.
    package var framework: String?
    package var prelude: String?
    package var nodeEnvironment = "development"
    /// The limit of one entry into a script.
    package var pageTime: Duration = .seconds(5)
    /// The limit of the resident bytes of a process that runs pages.
    package var memory: Int64 = 512 << 20
    /// The limit of open pages; `nil` for as many as the processes have memory for.
    package var pages: Int?
    /// `true` to do again what the user of a page has done, when its file was saved.
    package var repeatsInputs = true
    /// The path that the recordings of runs are named after; `nil` to record none.
    package var recording: String?

    package init(_ folder: WorkingFolder, store: StoreDirectory) { (self.folder, self.store) = (folder, store) }
  }

  /// The news for its user.
  package enum News: Sendable {
    case listening(port: Int)
    /// A page was reloaded.
    ///
    /// - Parameters:
    ///   - inputs: how many inputs were done again.
    ///   - stopped: the input that no element fits; no more were done. `nil` if all were done.
    ///   - md5: the MD5 of the file.
    case reloaded(name: String, md5: MD5Digest, took: Duration, inputs: Int, stopped: String?)
    case fault(name: String, FaultReport)
    /// The file of an open page, or of one that it embeds, was removed; the page that ran stays.
    case removed(name: String)
    /// The file is there again, as it was.
    case returned(name: String)
    /// A run of a page is recorded into a file.
    case recorded(name: String, path: String)
    case warning(String)
  }

  private let server: HostServer
  private let recordings: RunRecordings?

  /// - Parameters:
  ///   - executable: the program that is started as `… worker`; this one by default.
  ///   - tell: is told the news, in order.
  /// - Throws: the errors of the settings and of opening files.
  package init(
    _ settings: Settings, executable: String = "/proc/self/exe", logger: Logger,
    tell: @escaping @Sendable (News) -> Void
  ) throws {
    let record = HostRecord()
    var all = RenderHost.Settings()
    all.bundles = settings.folder.path
    all.store = settings.store
    all.environment = settings.environment
    all.pageTime = settings.pageTime
    all.workerMemory = settings.memory
    all.pages = settings.pages
    all.pageIdle = .seconds(3_600)
    // The first worker may have to start.
    all.waitingTime = .seconds(60)
    for type in [BundleType.vue, .rax, .weex] { all.frameworks[type.rawValue] = settings.framework }
    for type in BundleType.allCases { all.preludes[type.rawValue] = settings.prelude }
    (all.address, all.port) = (settings.address, settings.port)
    all.server.shutdownTime = .seconds(1)
    if let ticket = settings.ticket {
      all.server.adminTokens = [ticket]
      all.server.publicRoutes = [.pages]
    }
    let access = AccessGuard(AccessPolicy(openTo: settings.folder.path), record: record)
    var configuration = HostConfiguration(store: settings.store)
    configuration.logger = logger
    configuration.resources.localFolder = settings.folder.path
    try all.configureScripts(&configuration)
    configuration.pages.scripts.nodeEnvironment = settings.nodeEnvironment
    let host = try PageHost(configuration, transport: try access.transport())
    let locations = PublicLocations(feed: ReleaseFeed(), settings: all, working: settings.folder)
    let (news, sender) = AsyncStream.makeStream(of: DevelopmentNews.self, bufferingPolicy: .bufferingNewest(256))
    let recordings = settings.recording.map { RunRecordings($0) }
    self.recordings = recordings
    let running = PageRunning(
      host: host, access: access, settings: all, executable: executable, locations: locations, record: record,
      working: settings.folder, logger: logger
    ) { pages, pool in
      pages.data = settings.data
      pages.inspects = true
      pages.hints = .development
      pages.development = Development(keepsInputs: settings.repeatsInputs, recordings: recordings) { sender.yield($0) }
      pool.frameworkAdvice = { _ in "name its file with --framework FILE" }
      pool.preludeAdvice = { _ in "name its file with --prelude FILE" }
      pool.program = "bundlectl"
    }
    let saves = EventLog()
    let reports = FaultReporter(host: host, folder: settings.folder, tell: tell)
    let sessions = try settings.ticket.map { try BrowserSessions(standing: $0) } ?? BrowserSessions()
    let routes = DevelopmentRoutes(
      directory: running.directory, folder: settings.folder, saves: saves, reports: reports, sessions: sessions,
      isShared: settings.ticket != nil)
    let watch = FolderWatch(
      folder: settings.folder, directory: running.directory, saves: saves, reports: reports, news: news, tell: tell)
    let report = SettingsReport(all)
    server = HostServer(
      settings: all.server, report: { report }, controls: ServerControls(), metrics: record.metrics,
      services: [running, watch], logger: logger, partRoutes: { routes.add(to: $0) },
      whenRunning: { listener, address in
        guard listener.isPublic, let port = address?.port else { return }
        locations.listens(on: port)
        tell(.listening(port: port))
      })
  }

  /// Ends the recordings of all runs, for an end of the process without other clean-up. Later events are not recorded.
  package func endRecordings() { recordings?.end("bundlectl dev has ended") }

  /// Serves until the task is cancelled.
  ///
  /// - Throws: ``SettingsError`` for an address that it cannot listen on.
  package func run() async throws {
    let group = try server.parts(trapsSignals: false).group
    try await withTaskCancellationHandler {
      try await Task { try await group.run() }.value
    } onCancel: {
      Task { await group.triggerGracefulShutdown() }
    }
  }
}

extension LimitHints {
  /// The settings that the user of `bundlectl dev` can change.
  static let development = {
    var hints = LimitHints()
    hints.pages = ": close some of them in the browser"
    hints.memory = " (--memory)"
    (hints.queue, hints.waiting) = ("", "")
    hints.pictures = ": bundlectl render --format png does"
    hints.program = "bundlectl dev"
    return hints
  }()
}

/// Reloads pages when their files are saved.
private struct FolderWatch: Service {
  let folder: WorkingFolder
  let directory: PageDirectory
  let saves: EventLog
  let reports: FaultReporter
  let news: AsyncStream<DevelopmentNews>
  let tell: @Sendable (DevelopmentHost.News) -> Void

  /// The interval of looking at the files of open pages whose saves the system does not report, and of following links.
  private static let round: Duration = .milliseconds(250)
  /// The largest number of files that are looked at.
  private static let fileLimit = 1_000

  func run() async throws {
    await cancelWhenGracefulShutdown {
      await withDiscardingTaskGroup { group in
        group.addTask { await watch() }
        for await item in news {
          if case .opened(let id) = item { group.addTask { await directory.reloadSaved(id) } }
          await reports.report(item, directory)
        }
        group.cancelAll()
      }
    }
  }

  private func watch() async {
    do {
      let events = try DirectoryEvents(folder.path)
      defer { events.stop() }
      var told: Set<String> = []
      look(events, &told)
      await withDiscardingTaskGroup { group in
        group.addTask { await poll(events) }
        for await _ in events.signals {
          let saved = events.takeSaves()
          if saved.isEmpty { continue }
          if saved.isUnsure { look(events, &told) }
          group.addTask { await reload(saved, events) }
        }
        group.cancelAll()
      }
    } catch {
      tell(.warning(error.sentence))
      await poll(nil)
    }
  }

  /// Watches the folders that are there now. One that cannot be watched is told once; pages of it are looked at by
  /// ``poll(_:)``.
  private func look(_ events: DirectoryEvents, _ told: inout Set<String>) {
    do {
      _ = try events.prepareToLook(at: .now)
    } catch {
      if told.insert(error.sentence).inserted { tell(.warning(error.sentence)) }
    }
  }

  /// Follows the links to files of open pages, and looks at those of them whose saves no event tells.
  ///
  /// - Parameter events: the events; `nil` if there are none.
  private func poll(_ events: DirectoryEvents?) async {
    var seen: [String: FileStatus?] = [:]
    while (try? await Task.sleep(for: Self.round)) != nil {
      let paths = await directory.bundles(upTo: Self.fileLimit).compactMap(folder.path(of:))
      var targets: [String: String?] = [:]
      for path in paths {
        let target = folder.target(of: path)
        if folder.isLinked(path, to: target) { targets.updateValue(target, forKey: path) }
      }
      // They may have been saved before.
      var changed = events?.follow(targets.compactMapValues(\.self)) ?? []
      let former = seen
      seen = [:]
      for path in paths where events?.isWatched(path, isLinked: targets[path] != nil) != true {
        let status = folder.target(of: path).flatMap { FileStatus(ofLink: $0) }
        if let known = former[path], known != status { changed.insert(path) }
        seen.updateValue(status, forKey: path)
      }
      guard !changed.isEmpty else { continue }
      let hadNews = await directory.reload { [folder, changed] url in
        folder.path(of: url).map(changed.contains) ?? false
      }
      if hadNews { tellSave() }
    }
  }

  private func reload(_ saved: Saves, _ events: DirectoryEvents) async {
    let hadNews = await directory.reload { [folder] url in
      guard let path = folder.path(of: url) else { return false }
      return saved.contains(path) || saved.isUnsure && !events.isBeingWritten(path)
    }
    if hadNews || saved.paths.contains(where: { $0.hasSuffix(".js") }) { tellSave() }
  }

  /// Tells documents of pages that do not run, and apps.
  private func tellSave() { saves.append("saved", JSONValue.object([:]).text) }
}

/// Tells the author and the viewers of pages what became of a saved file.
package final class FaultReporter: Sendable {
  private let host: PageHost
  private let folder: WorkingFolder
  private let tell: @Sendable (DevelopmentHost.News) -> Void
  /// The errors that were told of each page since it runs, by its number in workers.
  private let told = Mutex<[UInt64: Set<FaultReport>]>([:])
  /// The errors of pages that are being opened, by the pages' numbers in workers.
  private let early = Mutex<[UInt64: [ScriptException]]>([:])

  /// The limits of errors that are told of a run, and of runs.
  private static let (faultLimit, runLimit) = (20, 1_000)

  init(host: PageHost, folder: WorkingFolder, tell: @escaping @Sendable (DevelopmentHost.News) -> Void) {
    (self.host, self.folder, self.tell) = (host, folder, tell)
  }

  func report(_ news: DevelopmentNews, _ directory: PageDirectory) async {
    switch news {
    case .opened(let id):
      if let page = try? await directory.page(id) { await showEarly(of: page.number, directory) }
    case .reloaded(let page, let took):
      let replay = page.reply.replay
      let name = name(of: page)
      tell(
        .reloaded(
          name: name, md5: page.target.bundle.md5, took: took, inputs: replay?.count ?? 0, stopped: replay?.stopped))
      page.live.append("message", JSONValue.object(["text": .string(Self.note(name, replay))]).text)
      await showEarly(of: page.number, directory)
    case .threw(let page, let fault, let source): await show(fault, source, page, directory)
    case .threwInside(let number, let fault):
      if let page = await directory.pageWithFault(number) {
        await show(fault, page.target.bundle, page, directory)
      } else {
        keep(fault, ofEarly: number)
      }
    case .failed(let page, .script(_, let fault), let source):
      await show(fault, source, page, directory, isOfSave: true)
    case .failed(let page, let failure, _): show(FaultReport(message: "\(failure)"), page, name(of: page))
    case .removed(let page, let url):
      let name = folder.name(of: url) ?? page.location
      tell(.removed(name: name))
      page.live.append("message", JSONValue.object(["text": .string(Self.removal(name)), "stays": .bool(true)]).text)
    case .returned(let page, let url):
      let name = folder.name(of: url) ?? page.location
      tell(.returned(name: name))
      page.live.append("message", JSONValue.object(["text": .string(Self.returning(name))]).text)
    case .recording(let url, .began(let path)): tell(.recorded(name: folder.name(of: url) ?? url.text, path: path))
    case .recording(_, .failed(let reason)): tell(.warning(reason))
    }
  }

  /// The texts for the author and for viewers of a file that was removed, and is there again.
  package static func removal(_ name: String) -> String { "\(name).js was removed; the page that ran stays" }
  package static func returning(_ name: String) -> String { "\(name).js is there again" }

  /// Keeps an error of a page that is being opened, until it is.
  private func keep(_ fault: ScriptException, ofEarly number: UInt64) {
    early.withLock { early in
      if early.count >= Self.runLimit { early = [:] }
      if early[number, default: []].count < Self.faultLimit { early[number, default: []].append(fault) }
    }
  }

  private func showEarly(of number: UInt64, _ directory: PageDirectory) async {
    for fault in early.withLock({ $0.removeValue(forKey: number) }) ?? [] {
      guard let page = await directory.pageWithFault(number) else { return }
      await show(fault, page.target.bundle, page, directory)
    }
  }

  /// Returns `true` if an error is to be told: once for each run, and not too many of one.
  private func isNew(_ report: FaultReport, _ number: UInt64) -> Bool {
    told.withLock { told in
      if told.count >= Self.runLimit { told = [:] }
      guard told[number, default: []].count < Self.faultLimit else { return false }
      return told[number, default: []].insert(report).inserted
    }
  }

  /// The text of a reload for viewers.
  static func note(_ name: String, _ replay: ReplayedInputs?) -> String {
    let saved = "\(name).js was saved"
    guard let replay, replay.count > 0 || replay.stopped != nil else { return saved }
    let again = replay.count == 1 ? "1 input was done again" : "\(replay.count) inputs were done again"
    return "\(saved): \(again)" + (replay.stopped.map { ", and no element fits the next one (\($0))" } ?? "")
  }

  /// Reports an error with the bundle's places, and with those of its sources as soon as the source map is read.
  ///
  /// - Parameter isOfSave: `true` for the error of a file that does not run, which is told each time.
  private func show(
    _ fault: ScriptException, _ bundle: LoadedBundle?, _ page: OpenedPage, _ directory: PageDirectory,
    isOfSave: Bool = false
  ) async {
    var plain = FaultReport(fault, at: page.location, in: nil, through: nil)
    // The place in a bundle of one line may be another each time.
    plain.stack = []
    guard isOfSave || isNew(plain, page.number) else { return }
    var (bundle, location, name) = (bundle, page.location, name(of: page))
    // The script may be that of an embedded page.
    if let other = fault.located.url, other != location, let url = directory.locations.source(of: other)?.url {
      (bundle, location) = (await directory.bundle(at: other, of: page), other)
      name = folder.name(of: url) ?? name
    }
    show(await report(fault, bundle, location) { show($0, page, name, isFinal: false) }, page, name)
  }

  /// - Parameter first: is given the report without the source map, if there is one.
  func report(
    _ fault: ScriptException, _ bundle: LoadedBundle?, _ location: String, first: (FaultReport) -> Void = { _ in }
  ) async -> FaultReport {
    let text = bundle.map { String(decoding: $0.bytes, as: UTF8.self) }
    let plain = FaultReport(fault, at: location, in: text, through: nil)
    guard let bundle, let text, SourceMap.reference(in: text) != nil else { return plain }
    first(plain)
    guard let map = try? await host.resources.sourceMap(of: text, at: bundle.url) else { return plain }
    return FaultReport(fault, at: location, in: text, through: map)
  }

  private func show(_ report: FaultReport, _ page: OpenedPage, _ name: String, isFinal: Bool = true) {
    page.live.append(LiveEvent.fault, (try? report.servedJSON()) ?? [])
    if isFinal { tell(.fault(name: name, report)) }
  }

  private func name(of page: OpenedPage) -> String { folder.name(of: page.target.url) ?? page.location }

  /// Tells the author alone of a page that cannot be opened.
  func tellAuthor(_ report: FaultReport, of url: PageURL?, _ location: String) {
    tell(.fault(name: url.flatMap { folder.name(of: $0) } ?? location, report))
  }
}
