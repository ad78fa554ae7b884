/// A request was not sent because ``Reachability/setting`` is ``Reachability/Setting/offline``.
public struct OfflineError: RetryableError, Hashable, CustomStringConvertible {
  /// The URL of the request.
  public let url: PageURL

  package var isRetryable: Bool { true }

  public var description: String { "\(url) was not asked: the network is set to offline" }
}
