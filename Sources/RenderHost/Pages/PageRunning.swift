import Logging
import PageKit
import PageWorkers
import ServerKit
import ServiceLifecycle

/// The parts of running pages: workers, their pages, and the routes to both.
struct PageRunning: Service {
  let directory: PageDirectory
  let workers: WorkerPool

  /// - Parameters:
  ///   - host: must use ``AccessGuard/transport(_:)``.
  ///   - executable: the program that is started as `… worker`; this one by default.
  init(
    host: PageHost, access: AccessGuard, settings: Settings,
    executable: String = "/proc/self/exe", locations: PublicLocations,
    record: HostRecord = HostRecord(), barring: BarredBundles = BarredBundles(),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, logger: Logger
  ) {
    var pool = WorkerPool.Configuration()
    pool.workers = max(0, settings.workers)
    pool.pageTime = settings.pageTime
    pool.memory = settings.workerMemory
    pool.waitingCalls = settings.waitingCalls
    pool.waitingTime = settings.waitingTime
    pool.executable = executable
    pool.frameworks = host.configuration.scripts.frameworks
    pool.preludes = host.configuration.scripts.preludes
    pool.environment = host.configuration.device.environment
    pool.refreshesAlways = host.configuration.resources.behavior.refresh == .always
    pool.barring = barring
    pool.now = now
    var pages = PageDirectory.Configuration()
    pages.pages = settings.pageLimit
    pages.idle = settings.pageIdle
    pages.pageTime = settings.pageTime
    pages.now = now
    if let advice = SettingsCheck.crowding(of: settings) { logger.warning("\(advice)") }
    workers = WorkerPool(pool, logger: logger, killed: record.killed(_:bundles:))
    directory = PageDirectory(
      HostAnswers(host: host, access: access, record: record, locations: locations), pool: workers,
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
