import NIOCore

/// A response as it was written, to be replayed.
package struct RecordedResponse: Sendable {
  /// One replay of a response, for logs and metrics.
  package struct ReplayEvent: Sendable {
    let requestID: String
    package let started: ContinuousClock.Instant
    package let bodyBytes: Int
    /// The address of the client.
    package let address: String
  }

  private let head: RawResponseHead
  private let body: ByteBuffer
  /// The seconds by which the response has aged; `nil` if it must not be replayed.
  package let age: @Sendable () -> Int64?
  /// The functions that are called at each replay.
  private let notes: [@Sendable (ReplayEvent) -> Void]

  /// The largest body that is copied after the head, which is cheaper than writing two buffers.
  private static let copied = 4 << 10

  /// The memory of the response in bytes, with its notes.
  package var size: Int { head.size + body.readableBytes + 2048 }

  /// - Parameter answer: the bytes of a whole response, in the buffers that were written.
  /// - Returns: `nil` if the response cannot be replayed.
  package init?(_ answer: [ByteBuffer], _ offer: ReplayOffer) {
    guard let head = answer.first.flatMap({ RawResponseHead($0, offer.renewal) }) else { return nil }
    self.head = head
    let bodies = answer.dropFirst().filter { $0.readableBytes > 0 }
    if bodies.count == 1, let only = bodies.first, only.storageCapacity <= 2 * only.readableBytes + Self.copied {
      body = only
    } else {
      // A slice would keep the whole buffer that it belongs to.
      body = ByteBuffer(bodies.map(\.readableBytesView).joined())
    }
    age = offer.age
    notes = offer.notes
  }

  /// Returns the bytes to write: the head, and the body unless it was copied after the head.
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
