/// Where the time of a page's opening went, each counted from the call of `renderByURL` or `render`; nil for what has
/// not come. The names are those the field uses.
public struct PageTimings: Hashable, Sendable {
  /// The bundle was found in the store, or has been downloaded.
  public var bundleReady: Duration?
  /// The script has a context, with what the framework gives to bundles.
  public var createInstance: Duration?
  /// The script has run for the first time.
  public var evaluated: Duration?
  /// The first element was made.
  public var firstElement: Duration?
  public var createFinish: Duration?
  /// The first event was answered.
  public var interaction: Duration?

  public var requests = 0
  /// Requests answered without the network.
  public var hits = 0
  /// Of answers to requests.
  public var bytes: Int64 = 0

  public init() {}

  /// The stages by the names that reports give them; nil for what has not come.
  package var stages: [(name: String, time: Duration?)] {
    [
      ("bundle", bundleReady), ("createInstance", createInstance), ("firstElement", firstElement),
      ("evaluated", evaluated), ("createFinish", createFinish), ("interaction", interaction),
    ]
  }
}
