import Synchronization

/// An offer to replay an answer to identical request heads.
package struct ReplayOffer: Sendable {
  /// The part of the head that is renewed in each replay.
  enum Renewal: Sendable {
    /// Its `Date`: it is made when it is sent.
    case date
    /// Its `Age`, and what is left of its lifetime: it was made elsewhere.
    case age
  }

  var renewal = Renewal.date
  /// Seconds by which the answer has aged since it was made; `nil` if it must not be replayed any more.
  let age: @Sendable () -> Int64?
  var notes: [@Sendable (RecordedResponse.ReplayEvent) -> Void] = []
}

/// Collects what routes and middleware say about replaying the answer that is being made.
///
/// One instance for each connection with recorded answers; its requests are sequential.
package final class ReplayContext: Sendable {
  /// `nil` on connections whose answers are not recorded.
  @TaskLocal package static var current: ReplayContext?

  private struct State {
    var offer: ReplayOffer?
    var notes: [@Sendable (RecordedResponse.ReplayEvent) -> Void] = []
    var isForbidden = false
  }

  private let state = Mutex(State())

  /// - Parameter isCurrent: called before each replay; returns `true` if the answer would be the same.
  package func allow(while isCurrent: @escaping @Sendable () -> Bool) {
    state.withLock { $0.offer = ReplayOffer { isCurrent() ? 0 : nil } }
  }

  /// The same for an answer that has an `Age`, and the date of another server.
  ///
  /// - Parameter age: called before each replay; returns the seconds by which the answer has aged, or `nil` if it
  ///   would differ.
  package func allow(aging age: @escaping @Sendable () -> Int64?) {
    state.withLock { $0.offer = ReplayOffer(renewal: .age, age: age) }
  }

  /// The answer is for this request alone.
  func forbid() { state.withLock { $0.isForbidden = true } }

  /// Called whenever the answer is given again.
  package func onReplay(_ note: @escaping @Sendable (RecordedResponse.ReplayEvent) -> Void) {
    state.withLock { $0.notes.append(note) }
  }

  /// Returns the offer for the answer that has just been sent, and begins anew for the next.
  func take() -> ReplayOffer? {
    state.withLock { state in
      defer { state = State() }
      guard !state.isForbidden, var offer = state.offer else { return nil }
      offer.notes = state.notes
      return offer
    }
  }
}
