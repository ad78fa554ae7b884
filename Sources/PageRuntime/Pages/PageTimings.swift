/// Where the time of a page's opening went, each counted from the call of `renderByURL` or `render`; nil for what has
/// not come. The names are those the field uses.
public struct PageTimings: Hashable, Sendable {
  /// The bundle was found in the store, or has been downloaded.
  public package(set) var bundleReady: Duration?
  /// The script has a context, with what the framework gives to bundles.
  public package(set) var createInstance: Duration?
  /// The script has run for the first time.
  public package(set) var evaluated: Duration?
  /// The first element was made.
  public package(set) var firstElement: Duration?
  public package(set) var createFinish: Duration?
  /// The first event was answered.
  public package(set) var interaction: Duration?

  public package(set) var requests = 0
  /// Requests answered without the network.
  public package(set) var hits = 0
  /// Of answers to requests.
  public package(set) var bytes: Int64 = 0

  package init() {}

  /// The stages by the names that reports give them; nil for what has not come.
  package var stages: [(name: String, time: Duration?)] {
    [
      ("bundle", bundleReady), ("createInstance", createInstance), ("firstElement", firstElement),
      ("evaluated", evaluated), ("createFinish", createFinish), ("interaction", interaction),
    ]
  }
}
