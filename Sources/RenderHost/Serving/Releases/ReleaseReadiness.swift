/// Checks that the store is open and a release is active.
package struct ReleaseReadiness: Hashable, Sendable, Encodable {
  /// The source was asked once, with whatever result.
  package let hasAsked: Bool
  /// The source was asked, and a release is served: the newest, or with the source away the one that is stored.
  package let isReady: Bool
  /// Its name; `nil` if none is served.
  package let release: String?
  /// When it was switched to, RFC 3339.
  package let since: String?
  package let bundles: Int
  package let files: Int
  /// The reason why the source's newest release is not served, in one sentence; `nil` if it is.
  package let problem: String?

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
