import HTTPCaching
import HTTPTypes
import PageCore
import Synchronization

/// What requests must have in common to be one at the origin.
struct FlightKey: Hashable, Sendable {
  let key: CacheKey
  let request: HTTPRequest
  var epoch: UInt64 = 0
  /// What answers; nil for the server.
  var origin: String?
  var isStored = true
}

extension FlightKey {
  init(_ hop: Hop, _ request: HTTPRequest, epoch: UInt64 = 0) {
    self.init(key: hop.key, request: request, epoch: epoch, origin: hop.origin?.name, isStored: hop.isStored)
  }
}

/// What came of asking the origin, for all who asked for the same.
enum Outcome: Sendable {
  /// It may be stored, and is for everyone.
  case incoming(IncomingResponse)
  /// What is stored was confirmed.
  case confirmed(CachedResponse, status: Int, generation: UInt64)
  /// What is stored is the better answer.
  case stale(CachedResponse, ServeReason, status: Int)
  /// It may not be stored: it is for one alone.
  case single(SingleAnswer)
}

/// An answer that only one may have.
final class SingleAnswer: Sendable {
  private let answer: Mutex<TransportResponse?>
  let generation: UInt64

  init(_ answer: TransportResponse, generation: UInt64) {
    self.answer = Mutex(answer)
    self.generation = generation
  }

  func take() -> TransportResponse? {
    answer.withLock { answer in
      defer { answer = nil }
      return answer
    }
  }
}
