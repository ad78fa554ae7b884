import Synchronization

/// An offer to replay a response to identical request heads.
package struct ReplayOffer: Sendable {
  /// The part of the head that each replay renews.
  enum Renewal: Sendable {
    /// The `Date` field: the response is made when it is sent.
    case date
    /// The `Age` field and the remaining lifetime: the response was made by another server.
    case age
  }

  var renewal = Renewal.date
  /// The seconds by which the response has aged since it was made; `nil` if it must not be replayed.
  let age: @Sendable () -> Int64?
  var notes: [@Sendable (RecordedResponse.ReplayEvent) -> Void] = []
}

/// Collects the statements of routes and middleware about replaying the current response.
///
/// There is one instance for each connection of HTTP/1, whose requests are sequential, and for each stream of HTTP/2.
package final class ReplayContext: Sendable {
  private struct State {
    var offer: ReplayOffer?
    var notes: [@Sendable (RecordedResponse.ReplayEvent) -> Void] = []
    var isForbidden = false
  }

  private let state = Mutex(State())

  /// - Parameter isCurrent: is called before each replay; returns `true` if the response would be the same.
  package func allow(while isCurrent: @escaping @Sendable () -> Bool) {
    state.withLock { $0.offer = ReplayOffer { isCurrent() ? 0 : nil } }
  }

  /// Allows replays of a response that has an `Age` field and the date of another server.
  ///
  /// - Parameter age: is called before each replay; returns the seconds by which the response has aged, or `nil` if it
  ///   would differ.
  package func allow(aging age: @escaping @Sendable () -> Int64?) {
    state.withLock { $0.offer = ReplayOffer(renewal: .age, age: age) }
  }

  /// `true` if the current response may be replayed.
  var hasOffer: Bool { state.withLock { !$0.isForbidden && $0.offer != nil } }

  /// Forbids replays: the response is for this request alone.
  func forbid() { state.withLock { $0.isForbidden = true } }

  /// Adds a function that is called at each replay.
  package func onReplay(_ note: @escaping @Sendable (RecordedResponse.ReplayEvent) -> Void) {
    state.withLock { $0.notes.append(note) }
  }

  /// Returns the offer for the response that was just sent, and resets the context for the next.
  func take() -> ReplayOffer? {
    state.withLock { state in
      defer { state = State() }
      guard !state.isForbidden, var offer = state.offer else { return nil }
      offer.notes = state.notes
      return offer
    }
  }
}
