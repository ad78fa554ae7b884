import Bundles
import ScriptEngine

/// What a page is opened with, besides its URL and its data.
public struct PageOptions: Hashable, Sendable {
  /// What scripts see as `weex.config.bundleUrl`; nil for the page's URL.
  public var bundleURL: String?
  /// Nil for what the bundle itself says.
  public var type: BundleType?
  /// More members of `weex.config`.
  public var config: [String: ScriptValue]
  /// What is shown where the page cannot open; nil for what the host has.
  public var fallback: PageFallback?
  /// How the store and the server share in opening it; `nil` for what the host's rules say.
  public var policy: OpenPolicy?
  /// How long the caller has waited for the server already, which counts for the policy's deadline.
  package var timeWaited: Duration = .zero

  public init(
    bundleURL: String? = nil, type: BundleType? = nil, config: [String: ScriptValue] = [:],
    fallback: PageFallback? = nil, policy: OpenPolicy? = nil
  ) {
    self.bundleURL = bundleURL
    self.type = type
    self.config = config
    self.fallback = fallback
    self.policy = policy
  }
}
