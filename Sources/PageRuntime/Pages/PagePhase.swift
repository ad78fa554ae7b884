/// Where a page is in its life. ``move(to:)`` has all legal moves.
public enum PagePhase: String, Hashable, Sendable {
  /// Made, and nothing asked of it yet.
  case idle
  /// Its bundle is being found or downloaded. Next: evaluating, failed, destroyed.
  case loading
  /// Its script runs for the first time. Next: live, empty, loading (a reload), failed, destroyed.
  case evaluating
  /// Its script has run and has made no body: there is nothing to see. It may still make one. Next: live, loading (a
  /// reload), failed, destroyed.
  case empty
  /// It has rendered. Next: loading (a reload), failed, destroyed.
  case live
  /// It could not open, or was stopped. Next: loading (a reload), destroyed.
  case failed
  /// Nothing comes after it.
  case destroyed

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
