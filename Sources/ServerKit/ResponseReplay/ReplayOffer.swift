import Synchronization

/// Says that an answer may be given again to the very same request head.
package struct ReplayOffer: Sendable {
  /// What is new whenever an answer is given again.
  enum Renewal: Sendable {
    /// Its `Date`: it is made when it is sent.
    case date
    /// Its `Age`, and what is left of its lifetime: it was made elsewhere.
    case age
  }

  var renewal = Renewal.date
  /// Seconds by which it has aged since it was made; nil where it may not be given again.
  let age: @Sendable () -> Int64?
  var notes: [@Sendable (RecordedResponse.ReplayEvent) -> Void] = []
}

/// Where those who make an answer say whether it may be given again, and what is then to be noted of it.
///
/// One for each connection that remembers answers; requests on it come one after the other.
package final class ReplayContext: Sendable {
  /// Nil where answers are not remembered.
  @TaskLocal package static var current: ReplayContext?

  private struct State {
    var offer: ReplayOffer?
    var notes: [@Sendable (RecordedResponse.ReplayEvent) -> Void] = []
    var isForbidden = false
  }

  private let state = Mutex(State())

  /// - Parameter isCurrent: asked each time: whether the answer would be the same.
  package func allow(while isCurrent: @escaping @Sendable () -> Bool) {
    state.withLock { $0.offer = ReplayOffer { isCurrent() ? 0 : nil } }
  }

  /// The same for an answer that has an `Age`, and the date of another server.
  ///
  /// - Parameter age: asked each time: the seconds by which it has grown; nil where the answer would not be the same.
  package func allow(aging age: @escaping @Sendable () -> Int64?) {
    state.withLock { $0.offer = ReplayOffer(renewal: .age, age: age) }
  }

  /// The answer is for this request alone.
  func forbid() { state.withLock { $0.isForbidden = true } }

  /// Called whenever the answer is given again.
  package func onReplay(_ note: @escaping @Sendable (RecordedResponse.ReplayEvent) -> Void) {
    state.withLock { $0.notes.append(note) }
  }

  /// What was said of the answer that has just been given; empty for the next.
  func take() -> ReplayOffer? {
    state.withLock { state in
      defer { state = State() }
      guard !state.isForbidden, var offer = state.offer else { return nil }
      offer.notes = state.notes
      return offer
    }
  }
}
