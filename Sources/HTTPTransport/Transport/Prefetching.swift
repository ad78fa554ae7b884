/// Fetches resources ahead of their use into a cache that keeps them.
public protocol Prefetching: Sendable {
  /// Limits what is fetched without anybody waiting for it.
  var saver: DataSaver { get }

  /// - Parameters:
  ///   - references: as bundles list them; relative ones count from `base`.
  ///   - dropped: references listed before and no longer: what is stored for them may be evicted again.
  func prefetch(_ references: [String], base: PageURL?, dropping dropped: [String]) async -> PrefetchReport
}

/// The result of fetching resources ahead.
public struct PrefetchReport: Hashable, Sendable {
  /// Stored and kept.
  public var kept = 0
  /// Left out because of the data saver, or its budget.
  public var skipped = 0
  /// URL and reason of each that could not be had.
  public var failures: [String] = []
  /// References whose failures may not occur at a later attempt.
  public var passing: Set<String> = []

  package init() {}
}
