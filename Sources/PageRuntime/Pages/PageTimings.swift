/// The stages of a page's opening, each counted from the call of `renderByURL` or `render`, and the page's requests.
///
/// A stage that the page has not reached is `nil`. The names are those of the Weex SDK's monitor.
public struct PageTimings: Hashable, Sendable {
  /// The bundle was found in the store, or has been downloaded.
  public package(set) var bundleReady: Duration?
  /// The elements of the last run are shown.
  public package(set) var snapshot: Duration?
  /// The script has a context, with what the framework gives to bundles.
  public package(set) var createInstance: Duration?
  /// The script has run for the first time.
  public package(set) var evaluated: Duration?
  /// The script has made the first element.
  public package(set) var firstElement: Duration?
  /// The script called `createFinish`, or has run and made a body.
  public package(set) var createFinish: Duration?
  /// The script has handled the first event.
  public package(set) var interaction: Duration?

  /// The number of requests of the script, and of pictures and documents.
  public package(set) var requests = 0
  /// The number of requests that were answered without the network.
  public package(set) var hits = 0
  /// The length of the answers in bytes.
  public package(set) var bytes: Int64 = 0

  package init() {}

  /// The stages in order, by their names in reports; `nil` for a stage that the page has not reached.
  package var stages: [(name: String, time: Duration?)] {
    [
      ("snapshot", snapshot), ("bundle", bundleReady), ("createInstance", createInstance),
      ("firstElement", firstElement),
      ("evaluated", evaluated), ("createFinish", createFinish), ("interaction", interaction),
    ]
  }
}
