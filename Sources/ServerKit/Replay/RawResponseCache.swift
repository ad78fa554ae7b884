import Containers
import HTTPTransport
import NIOCore
import NIOHPACK
import Synchronization

/// Recorded responses, by the bytes of the request heads that they answered: of HTTP/1 as they came, of HTTP/2 the
/// fields.
///
/// The response of a served file depends only on the request's head and the release; that of a stored gateway response
/// only on the head and the time. An identical head gets the recorded bytes, without parsing, deciding and encoding
/// again.
package final class RawResponseCache: Sendable {
  /// The limit of a remembered head in bytes.
  static let headLimit = 2 << 10
  /// The limit of a remembered body in bytes.
  package static let bodyLimit = 256 << 10

  private let answers: LRUCache<ByteBuffer, RecordedResponse>

  /// - Parameter capacity: the limit of memory in bytes.
  package init(capacity: Int = 32 << 20) { answers = LRUCache(capacity: capacity) }

  /// Returns the response and the seconds by which it has aged; `nil` if there is no valid one.
  package func answer(to head: ByteBuffer) -> (answer: RecordedResponse, age: Int64)? {
    // An invalid response is replaced when its request is answered, since searching for it would be slow.
    answers[head].flatMap { answer in answer.age().map { (answer, $0) } }
  }

  package func remember(_ answer: RecordedResponse, for head: ByteBuffer) {
    // A copy of these bytes alone: the received bytes are part of a larger buffer.
    answers.insert(answer, for: ByteBuffer(bytes: head.readableBytesView), cost: head.readableBytes + answer.size)
  }

  /// The fields of a request of HTTP/2 as bytes, which equal no head of HTTP/1; `nil` if its response is not worth
  /// remembering.
  static func key(of head: HPACKHeaders) -> ByteBuffer? {
    guard let method = head.first(name: ":method"), method == "GET" || method == "HEAD" else { return nil }
    var key = ByteBuffer()
    key.reserveCapacity(512)
    for (name, value, _) in head {
      for text in [name, value] {
        key.writeInteger(UInt32(truncatingIfNeeded: text.utf8.count))
        key.writeString(text)
      }
      guard key.readableBytes <= headLimit else { return nil }
    }
    return key
  }

  /// Returns `true` if these bytes are exactly one HTTP/1.1 request without a body, whose response is worth
  /// remembering.
  static func isWholeHead(_ bytes: ByteBuffer) -> Bool {
    bytes.withUnsafeReadableBytes { bytes in
      let count = bytes.count
      guard count <= headLimit, count >= 18, bytes.starts(with: "GET /".utf8) || bytes.starts(with: "HEAD /".utf8),
        bytes.suffix(4).elementsEqual("\r\n\r\n".utf8)
      else { return false }
      // The first empty line is the one at the end.
      for index in 0..<count - 4 where bytes[index] == 0x0A {
        if bytes[index + 1] == 0x0A || (bytes[index + 1] == 0x0D && bytes[index + 2] == 0x0A) { return false }
      }
      return true
    }
  }
}

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
