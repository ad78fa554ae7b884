/// Tells if there is something to serve: the store is open, and a release is active.
public struct ReleaseReadiness: Hashable, Sendable, Encodable {
  /// The source was asked once, with whatever result.
  public let hasAsked: Bool
  /// The source was asked, and a release is served: the newest, or with the source away the one that is stored.
  public let isReady: Bool
  /// Its name; `nil` if none is served.
  public let release: String?
  /// When it was switched to, RFC 3339.
  public let since: String?
  public let bundles: Int
  public let files: Int
  /// The reason why the source's newest release is not served, in one sentence; `nil` if it is.
  public let problem: String?

  init(hasAsked: Bool, latest: ReleaseEvent?, _ problem: String?) {
    self.hasAsked = hasAsked
    isReady = hasAsked && latest != nil
    release = latest?.release
    since = latest?.since
    bundles = latest?.bundles ?? 0
    files = latest?.files ?? 0
    self.problem = problem
  }
}
