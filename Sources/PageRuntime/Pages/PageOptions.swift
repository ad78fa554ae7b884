import Bundles
import ScriptEngine

/// The options of one opening of a page.
public struct PageOptions: Hashable, Sendable {
  /// The URL that scripts see as `weex.config.bundleUrl`; `nil` for the page's URL.
  public var bundleURL: String?
  /// The framework that the bundle is for; `nil` to read it from the bundle.
  public var type: BundleType?
  /// Further members of `weex.config`.
  public var config: [String: ScriptValue]
  /// The replacement if the page cannot open; `nil` to ask the host's choice.
  public var fallback: PageFallback?
  /// The order in which the store and the server are asked; `nil` for the host's rules.
  public var policy: OpenPolicy?
  /// The use of the elements of the page's last run; `nil` for the host's.
  public var snapshot: SnapshotUse?
  /// The time that the caller has already waited for the server. It counts for the policy's deadline.
  package var timeWaited: Duration = .zero

  /// Options; each default leaves the choice to the host or the bundle.
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
