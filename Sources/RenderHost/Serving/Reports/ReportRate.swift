import Containers

/// Limits the reports of each install, so that one that is broken or hostile costs little.
struct ReportRate {
  /// The reports that an install may send in each ``period``. An app sends one for each release.
  static let limit = 10
  static let period: Duration = .seconds(600)
  /// The installs that are remembered; those that have reported least recently are forgotten.
  static let installLimit = 10_000

  private var installs = LRUDictionary<String, (since: ContinuousClock.Instant, count: Int)>()

  /// Returns the time until the install may report again; `nil` if it may now.
  mutating func wait(for install: String, at now: ContinuousClock.Instant) -> Duration? {
    var entry = installs.use(install) ?? (now, 0)
    if now - entry.since >= Self.period { entry = (now, 0) }
    guard entry.count < Self.limit else { return Self.period - (now - entry.since) }
    entry.count += 1
    installs.set(entry, for: install)
    if installs.count > Self.installLimit, let oldest = installs.leastRecent { _ = installs.remove(oldest) }
    return nil
  }
}
