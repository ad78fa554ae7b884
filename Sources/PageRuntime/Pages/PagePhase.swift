/// A phase of a page's life.
public enum PagePhase: String, Hashable, Sendable {
  /// The page was made and not opened. Next: loading, evaluating, failed, destroyed.
  case idle
  /// The bundle is being found or downloaded. Next: evaluating, failed, destroyed.
  case loading
  /// The script runs for the first time. Next: live, empty, loading (a reload), failed, destroyed.
  case evaluating
  /// The script has run and made no body. It may still make one. Next: live, loading or evaluating (a reload), failed,
  /// destroyed.
  case empty
  /// The page has rendered. Next: loading or evaluating (a reload), failed, destroyed.
  case live
  /// The page could not open, or was stopped. Next: loading or evaluating (a reload), destroyed.
  case failed
  /// The page was destroyed. No phase follows.
  case destroyed

  /// Returns `true` if the phase may follow this one.
  func canMove(to next: PagePhase) -> Bool {
    switch (self, next) {
    case (.idle, .loading), (.idle, .evaluating), (.idle, .failed): true
    case (.loading, .evaluating), (.loading, .failed): true
    case (.evaluating, .live), (.evaluating, .empty), (.evaluating, .loading), (.evaluating, .failed): true
    case (.empty, .live), (.empty, .loading), (.empty, .evaluating), (.empty, .failed): true
    case (.live, .loading), (.live, .evaluating), (.live, .failed): true
    case (.failed, .loading), (.failed, .evaluating): true
    case (.destroyed, _): false
    case (_, .destroyed): true
    default: false
    }
  }
}
