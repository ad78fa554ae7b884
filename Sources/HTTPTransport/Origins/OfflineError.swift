/// A request was not sent because the app has set the network to offline.
public struct OfflineError: RetryableError, Hashable, CustomStringConvertible {
  public let url: PageURL

  package var isRetryable: Bool { true }

  public var description: String { "\(url) was not asked: the network is set to offline" }
}
