import NIOCore

/// An answer as it went out, to be replayed.
package struct RecordedResponse: Sendable {
  /// One replay of an answer, for logs and metrics.
  package struct ReplayEvent: Sendable {
    let requestID: String
    package let started: ContinuousClock.Instant
    package let bodyBytes: Int
    /// The client's.
    package let address: String
  }

  private let head: RawResponseHead
  private let body: ByteBuffer
  /// Seconds by which the answer has aged; `nil` if it must not be replayed any more.
  package let age: @Sendable () -> Int64?
  /// Called for each replay.
  private let notes: [@Sendable (ReplayEvent) -> Void]

  /// Smaller bodies are copied behind the head: that is cheaper than to write two buffers.
  private static let copied = 4 << 10

  /// Bytes in memory, with what is noted of each answer.
  package var size: Int { head.size + body.readableBytes + 2048 }

  /// - Parameter answer: the bytes of a whole answer, in the buffers that it was written in.
  /// - Returns: `nil` if the answer cannot be replayed.
  package init?(_ answer: [ByteBuffer], _ offer: ReplayOffer) {
    guard let head = answer.first.flatMap({ RawResponseHead($0, offer.renewal) }) else { return nil }
    self.head = head
    let bodies = answer.dropFirst().filter { $0.readableBytes > 0 }
    if bodies.count == 1, let only = bodies.first, only.storageCapacity <= 2 * only.readableBytes + Self.copied {
      body = only
    } else {
      // A part would keep the whole that it was cut from.
      body = ByteBuffer(bodies.map(\.readableBytesView).joined())
    }
    age = offer.age
    notes = offer.notes
  }

  /// Returns the bytes to write: the head, and the body if it is not behind the head already.
  func buffers(_ renewed: RawResponseHead.Renewed, _ allocator: ByteBufferAllocator) -> (ByteBuffer, ByteBuffer?) {
    let isCopied = body.readableBytes <= Self.copied
    var buffer = allocator.buffer(capacity: head.size + 64 + (isCopied ? body.readableBytes : 0))
    head.write(renewed, to: &buffer)
    guard isCopied else { return (buffer, body) }
    buffer.writeImmutableBuffer(body)
    return (buffer, nil)
  }

  package func note(_ requestID: String, from address: String, since started: ContinuousClock.Instant) {
    let event = ReplayEvent(requestID: requestID, started: started, bodyBytes: body.readableBytes, address: address)
    for note in notes { note(event) }
  }
}

extension ByteBuffer {
  fileprivate init(_ bytes: some Sequence<UInt8>) { self.init(bytes: Array(bytes)) }
}
