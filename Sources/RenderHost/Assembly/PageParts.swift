import Fleet
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import PageKit
import PageWorkers
import ServerKit
import ServiceLifecycle

/// The parts that serve bundles and run pages, wired together.
struct PageParts: Sendable {
  let host: PageHost
  let access: AccessGuard
  let serving: Serving
  let locations: PublicLocations
  let running: PageRunning
  let settings: Settings
  /// The browsers that a ticket has let in, on all listeners.
  private let sessions = BrowserSessions()

  /// - Returns: `nil` if the settings name no bundles.
  /// - Throws: the errors of the settings and of opening files.
  init?(
    _ settings: Settings, record: HostRecord, executable: String, fleet: FleetMember? = nil, logger: Logger
  ) throws {
    guard settings.bundles != nil || settings.manifest != nil else { return nil }
    self.settings = settings
    let folders = settings.bundles.map { [URL(fileURLWithPath: $0).resolvingSymlinksInPath().path] } ?? []
    access = AccessGuard(
      try AccessPolicy(allowed: settings.allowedOrigins, manifest: settings.manifest, folders: folders),
      record: record)
    var configuration = HostConfiguration(manifest: try Serving.source(settings), store: settings.store)
    try Serving.configure(&configuration, settings)
    // A daemon that publishes must write: it fails at its start rather than at its first release.
    configuration.storage.allowsReadOnly = false
    // Whoever asks for a page chooses its data, and does not decide about releases with it.
    configuration.releases.trial = nil
    configuration.releases.isInEveryRollout = true
    configuration.logger = logger
    configuration.resources.localFolder = folders.first
    configuration.network.cookies = NoCookies()
    try settings.configureScripts(&configuration)
    let transport = try access.transport()
    var signed = transport
    if let releases = settings.releases, let store = settings.objectStore {
      signed = try store.readingTransport(transport, for: releases, where: PublishedNames.isRead)
    }
    host = try PageHost(configuration, transport: transport, releases: signed)
    serving = try Serving(
      settings, host: host, record: record, executable: executable, fleet: fleet, logger: logger)
    locations = PublicLocations(feed: serving.feed, settings: settings)
    running = PageRunning(
      host: host, access: access, settings: settings, executable: executable, locations: locations, record: record,
      logger: logger)
  }

  /// The services to run with the server.
  var services: [any Service] {
    serving.services + [originFollower, running]
  }

  /// Updates the access policy with each release: the origins of its bundles and of the URLs that they prefetch.
  private var originFollower: BackgroundService {
    BackgroundService("origins of the release") { [access, feed = serving.feed] in
      @Sendable func follow() {
        if let release = feed.current { access.follow(release.entries.map(\.bundle)) }
      }
      guard let changes = feed.changes() else { return }
      await cancelWhenGracefulShutdown {
        follow()
        for await _ in changes { follow() }
      }
    }
  }

  func add(to routes: ListenerRoutes) {
    routes.add(.bundles) { serving.add(to: $0) }
    guard settings.workers > 0 else { return }
    let pages = PageRoutes(directory: running.directory, bodyLimit: settings.limits.body)
    let live = LiveRoutes(pages: pages, sessions: sessions)
    routes.add(.pages) {
      pages.add(to: $0)
      live.addTickets(to: $0)
    }
    routes.add(.pages, sessions: sessions) { live.add(to: $0) }
    // A public listener may carry administration, but not this.
    guard settings.inspectsPages, ListenerPlan(settings.server).admin == routes.listener else { return }
    InspectorRoutes(directory: running.directory, isSecure: routes.listener.isSecure).add(to: routes)
  }

  /// - Parameter warning: returns a problem of the store with which the host goes on serving.
  func checks(ofStore warning: @escaping @Sendable () async -> String?) -> [HealthCheck] {
    let (serving, running, host) = (serving, running, host)
    let source = host.verifier?.source
    var checks = [
      HealthCheck(name: "store") {
        do {
          if let source { _ = try await host.store.source(source) }
          return serving.feed.storeGeneration == host.store.generation
            ? nil : "the store was removed or damaged, and its bundles are being fetched again"
        } catch {
          return error.sentence
        }
      } warning: {
        await warning()
      },
      HealthCheck(name: "release") {
        let readiness = serving.feed.readiness
        return readiness.isReady ? nil : readiness.problem ?? "no release is served yet"
      } warning: {
        serving.feed.refusal
      },
    ]
    guard settings.workers > 0 else { return checks }
    checks.append(
      HealthCheck(name: "workers") {
        let status = await running.workers.status()
        if let problem = status.engineProblem {
          return "pages cannot run: \(problem), and start the host again, or start it with --workers 0"
        }
        guard status.ready == 0 else { return nil }
        let reasons = [status.problem, ProcessLimits.current.addressSpaceProblem].compactMap(\.self)
        return "no worker of \(status.wanted) is ready" + (reasons.isEmpty ? "" : ": ")
          + reasons.joined(separator: "; ")
      })
    return checks
  }
}

/// The parts of running pages: workers, their pages, and the routes to both.
struct PageRunning: Service {
  let directory: PageDirectory
  let workers: WorkerPool

  /// - Parameters:
  ///   - host: must use ``AccessGuard/transport(_:)``.
  ///   - executable: the program that is started as `… worker`; this one by default.
  ///   - working: the folder that bundles are read from as they are; `nil` for those of releases.
  ///   - configure: changes what the settings do not have.
  init(
    host: PageHost, access: AccessGuard, settings: Settings,
    executable: String = "/proc/self/exe", locations: PublicLocations,
    record: HostRecord = HostRecord(), barring: BarredBundles = BarredBundles(),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, working: WorkingFolder? = nil, logger: Logger,
    configure: (inout PageDirectory.Configuration, inout WorkerPool.Configuration) -> Void = { _, _ in }
  ) {
    var pool = WorkerPool.Configuration()
    pool.workers = max(0, settings.workers)
    pool.pageTime = settings.pageTime
    pool.memory = settings.workerMemory
    pool.waitingCalls = settings.waitingCalls
    pool.waitingTime = settings.waitingTime
    pool.executable = executable
    pool.frameworks = host.configuration.pages.scripts.frameworks
    pool.preludes = host.configuration.pages.scripts.preludes
    pool.environment = host.configuration.pages.device.environment
    pool.nodeEnvironment = host.configuration.pages.scripts.nodeEnvironment
    pool.refreshesAlways = host.configuration.resources.behavior.refresh == .always
    pool.draws = settings.pictures
    pool.barring = barring
    pool.now = now
    var pages = PageDirectory.Configuration()
    pages.pages = settings.pageLimit
    pages.idle = settings.pageIdle
    pages.draws = settings.pictures
    pages.inspects = settings.inspectsPages
    pages.pageTime = settings.pageTime
    pages.now = now
    configure(&pages, &pool)
    if let advice = settings.crowding { logger.warning("\(advice)") }
    workers = WorkerPool(pool, logger: logger, killed: record.killed(_:bundles:))
    directory = PageDirectory(
      HostAnswers(host: host, access: access, record: record, locations: locations, working: working), pool: workers,
      configuration: pages,
      locations: locations, record: record, logger: logger)
  }

  /// Runs the workers and closes expired pages until the daemon shuts down.
  func run() async throws {
    await workers.attach(directory)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await workers.run() }
      group.addTask { await directory.follow(directory.answers.host.bundles.news) }
      group.addTask {
        while !Task.isCancelled {
          try? await Task.sleep(for: .seconds(1))
          await directory.expire(at: directory.configuration.now())
        }
      }
      try await group.next()
      group.cancelAll()
    }
  }
}

/// A cookie store that stays empty: the pages of all callers share one daemon, and must not share sessions.
final class NoCookies: CookieStoring {
  func cookieHeader(for url: PageURL) -> String? { nil }
  func receive(_ fields: HTTPFields, from url: PageURL) {}
  func removeAll() {}
}
