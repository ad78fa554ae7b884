/// Which bytes a page gets that is opened while a release is coming in.
public enum Consistency: Hashable, Sendable {
  /// The newest verified bytes of this page, fetched now if need be.
  case bundle
  /// Everything from the current release until the new one is complete.
  case release
}
