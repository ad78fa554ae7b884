import DequeModule

/// Decides which tickets run and which wait: the clients take turns, and each client's tickets keep their order.
///
/// A value; ``FairGate`` acts on its decisions.
package struct FairQueue<Client: Hashable & Sendable>: Sendable {
  package typealias Ticket = UInt64

  package enum Entry: Hashable, Sendable {
    case admitted, waits
    /// The queue is full.
    case full
  }

  /// The number of tickets that run at once.
  package var width: Int
  package private(set) var running = 0
  package private(set) var waiting = 0
  private var lines: [Client: Deque<Ticket>] = [:]
  /// The clients that wait, in the order of their turns.
  private var turns: Deque<Client> = []

  package init(width: Int) { self.width = width }

  /// - Parameter limit: the number of waiting tickets with which the queue is full.
  /// - Returns: whether the ticket runs, waits, or is refused.
  package mutating func enter(_ ticket: Ticket, for client: Client, limit: Int) -> Entry {
    if running < width, waiting == 0 {
      running += 1
      return .admitted
    }
    guard waiting < limit else { return .full }
    if lines[client] == nil { turns.append(client) }
    lines[client, default: []].append(ticket)
    waiting += 1
    return .waits
  }

  /// Ends one of the running tickets.
  package mutating func leave() { running -= 1 }

  /// Withdraws a waiting ticket.
  package mutating func remove(_ ticket: Ticket, of client: Client) {
    guard let index = lines[client]?.firstIndex(of: ticket) else { return }
    lines[client]?.remove(at: index)
    waiting -= 1
    if lines[client]?.isEmpty == true { forget(client) }
  }

  /// Admits the next ticket.
  ///
  /// - Returns: `nil` if all places are taken, or no ticket waits.
  package mutating func next() -> Ticket? {
    guard running < width, let client = turns.popFirst(), let ticket = lines[client]?.popFirst() else { return nil }
    if lines[client]?.isEmpty == true { lines[client] = nil } else { turns.append(client) }
    waiting -= 1
    running += 1
    return ticket
  }

  private mutating func forget(_ client: Client) {
    lines[client] = nil
    if let index = turns.firstIndex(of: client) { turns.remove(at: index) }
  }
}
