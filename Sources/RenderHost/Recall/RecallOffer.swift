import Synchronization

/// Says that an answer may be given again to the very same request head.
struct RecallOffer: Sendable {
  let isCurrent: @Sendable () -> Bool
  var notes: [@Sendable (RecalledAnswer.Again) -> Void] = []
}

/// Where those who make an answer say whether it may be given again, and what is then to be noted of it.
///
/// One for each connection that remembers answers; requests on it come one after the other.
final class RecallSlot: Sendable {
  /// Nil where answers are not remembered.
  @TaskLocal static var current: RecallSlot?

  private struct State {
    var isCurrent: (@Sendable () -> Bool)?
    var notes: [@Sendable (RecalledAnswer.Again) -> Void] = []
    var isForbidden = false
  }

  private let state = Mutex(State())

  /// - Parameter isCurrent: asked each time: whether the answer would be the same.
  func allow(while isCurrent: @escaping @Sendable () -> Bool) { state.withLock { $0.isCurrent = isCurrent } }

  /// The answer is for this request alone.
  func forbid() { state.withLock { $0.isForbidden = true } }

  /// Called whenever the answer is given again.
  func onRecall(_ note: @escaping @Sendable (RecalledAnswer.Again) -> Void) { state.withLock { $0.notes.append(note) } }

  /// What was said of the answer that has just been given; empty for the next.
  func take() -> RecallOffer? {
    state.withLock { state in
      defer { state = State() }
      guard !state.isForbidden, let isCurrent = state.isCurrent else { return nil }
      return RecallOffer(isCurrent: isCurrent, notes: state.notes)
    }
  }
}
