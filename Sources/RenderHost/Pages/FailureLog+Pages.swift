import ServerKit

extension FailureLog.Kind {
  /// A script threw, or was stopped, or a page could not be opened.
  static let page = Self("page")
  /// A worker process ended early.
  static let worker = Self("worker")
  /// The source's newest release is not served.
  static let release = Self("release")
}
