/// The bytes that a page gets while a newer release is being downloaded.
public enum Consistency: Hashable, Sendable {
  /// The newest verified bytes of this page, fetched at once if necessary.
  case bundle
  /// The bytes of the current release, until the newer one is complete.
  case release
}
