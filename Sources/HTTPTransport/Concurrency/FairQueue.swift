import DequeModule

/// Lets so many run at once and the others wait: the clients take turns, and each client's tickets keep their order.
///
/// A value that decides; ``FairGate`` acts on it.
package struct FairQueue<Client: Hashable & Sendable>: Sendable {
  package typealias Ticket = UInt64

  package enum Entry: Hashable, Sendable {
    case admitted, waits
    /// As many wait already as may.
    case full
  }

  /// How many may run at once.
  package var width: Int
  package private(set) var running = 0
  package private(set) var waiting = 0
  private var lines: [Client: Deque<Ticket>] = [:]
  /// The clients that wait, in the order of their turns.
  private var turns: Deque<Client> = []

  package init(width: Int) { self.width = width }

  /// - Parameter limit: with as many waiting the ticket is turned away.
  /// - Returns: whether the ticket runs, waits, or is turned away.
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

  /// One that ran has ended.
  package mutating func leave() { running -= 1 }

  /// Takes back a ticket that waits.
  package mutating func remove(_ ticket: Ticket, of client: Client) {
    guard let index = lines[client]?.firstIndex(of: ticket) else { return }
    lines[client]?.remove(at: index)
    waiting -= 1
    if lines[client]?.isEmpty == true { forget(client) }
  }

  /// The ticket that may run now; it counts as running from here on.
  ///
  /// - Returns: `nil` if as many run as may, or none waits.
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
