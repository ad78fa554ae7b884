/// Decides what a viewer of a page is sent. A pure value.
///
/// A viewer that reads slowly costs one piece of patches: what it has not read by then is dropped with the log's oldest
/// events, and it is told to fetch the whole page.
package struct LiveViewer: Hashable, Sendable {
  package enum Step: Hashable, Sendable {
    case send([EventLog.Event])
    /// Some events were dropped: the viewer fetches the whole page, and comes back. The next events have higher ids.
    case refetch(after: Int)
    /// Nothing has happened for a while: the viewer sees that the connection is alive.
    case beat
    case end
  }

  /// The bytes that are sent at once; an event may have more.
  package static let pieceLimit = 64 << 10

  /// The id of the last event that the viewer was sent, or that it need not be sent.
  package private(set) var place: Int

  package init(after place: Int) { self.place = max(0, place) }

  /// - Parameter batch: the events after ``place``.
  package mutating func take(_ batch: EventLog.Batch) -> Step {
    switch batch {
    case .ended: return .end
    case .silence: return .beat
    case .events(let events, let missed):
      guard missed == 0, let first = events.first, first.name != EventLog.longName else {
        place = events.last?.id ?? place
        return .refetch(after: place)
      }
      var bytes = 0
      let piece = events.prefix { event in
        bytes += event.details.count
        return event.name != EventLog.longName && (bytes <= Self.pieceLimit || event.id == first.id)
      }
      place = piece.last?.id ?? place
      return .send(Array(piece))
    }
  }
}
