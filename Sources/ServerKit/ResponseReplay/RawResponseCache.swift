import HTTPTransport
import NIOCore

/// Raw answers, by the bytes of the request heads that they were given to.
///
/// Of what is served, an answer is a function of the request's head and of the release; of what the gateway has stored,
/// one of the head and of the time. Whoever asks in the same words gets the same bytes again, and nothing has to be
/// parsed, decided or written down anew.
package final class RawResponseCache: Sendable {
  /// Longer heads are not remembered.
  static let headLimit = 2 << 10
  /// Nor are larger bodies.
  package static let bodyLimit = 256 << 10

  private let answers: LRUCache<ByteBuffer, RecordedResponse>

  /// - Parameter capacity: bytes in memory.
  package init(capacity: Int = 32 << 20) { answers = LRUCache(capacity: capacity) }

  /// Returns the answer and the seconds by which it has aged; `nil` if there is none that still holds.
  package func answer(to head: ByteBuffer) -> (answer: RecordedResponse, age: Int64)? {
    // An invalid answer is replaced when its request is answered, since searching for it would be slow.
    answers[head].flatMap { answer in answer.age().map { (answer, $0) } }
  }

  package func remember(_ answer: RecordedResponse, for head: ByteBuffer) {
    // A copy of the bytes alone: what was read lies in a larger buffer.
    answers.insert(answer, for: ByteBuffer(bytes: head.readableBytesView), cost: head.readableBytes + answer.size)
  }

  /// Returns `true` if these bytes are the head of one HTTP/1.1 request with nothing behind it, which gets an answer that
  /// is worth remembering.
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
