import NIOCore
import NIOHPACK

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

  private enum Head {
    case bytes(RawResponseHead)
    case fields(RecordedStreamHead)
  }

  private let head: Head
  private let body: ByteBuffer
  /// The seconds by which the response has aged; `nil` if it must not be replayed.
  package let age: @Sendable () -> Int64?
  /// The functions that are called at each replay.
  private let notes: [@Sendable (ReplayEvent) -> Void]

  /// The largest body that is copied after the head, which is cheaper than writing two buffers.
  private static let copied = 4 << 10

  /// The memory of the response in bytes, with its notes.
  package let size: Int

  /// A response of HTTP/1.
  ///
  /// - Parameter answer: the bytes of a whole response, in the buffers that were written.
  /// - Returns: `nil` if the response cannot be replayed.
  package init?(_ answer: [ByteBuffer], _ offer: ReplayOffer) {
    guard let head = answer.first.flatMap({ RawResponseHead($0, offer.renewal) }) else { return nil }
    self.init(.bytes(head), size: head.size, Array(answer.dropFirst()), offer)
  }

  /// A response of HTTP/2.
  ///
  /// - Returns: `nil` if the response cannot be replayed.
  init?(_ head: HPACKHeaders, _ body: [ByteBuffer], _ offer: ReplayOffer) {
    guard let head = RecordedStreamHead(head, offer.renewal) else { return nil }
    self.init(.fields(head), size: head.size, body, offer)
  }

  private init(_ head: Head, size: Int, _ parts: [ByteBuffer], _ offer: ReplayOffer) {
    self.head = head
    let bodies = parts.filter { $0.readableBytes > 0 }
    if bodies.count == 1, let only = bodies.first, only.storageCapacity <= 2 * only.readableBytes + Self.copied {
      body = only
    } else {
      // A slice would keep the whole buffer that it belongs to.
      body = ByteBuffer(bodies.map(\.readableBytesView).joined())
    }
    self.size = size + body.readableBytes + 2048
    age = offer.age
    notes = offer.notes
  }

  /// Returns the bytes to write: the head, and the body unless it was copied after the head; `nil` for a response of
  /// HTTP/2.
  func buffers(_ renewed: RenewedValues, _ allocator: ByteBufferAllocator) -> (ByteBuffer, ByteBuffer?)? {
    guard case .bytes(let head) = head else { return nil }
    let isCopied = body.readableBytes <= Self.copied
    var buffer = allocator.buffer(capacity: head.size + 64 + (isCopied ? body.readableBytes : 0))
    head.write(renewed, to: &buffer)
    guard isCopied else { return (buffer, body) }
    buffer.writeImmutableBuffer(body)
    return (buffer, nil)
  }

  /// Returns the fields and the body to write; `nil` for a response of HTTP/1.
  func frames(_ renewed: RenewedValues) -> (HPACKHeaders, ByteBuffer)? {
    guard case .fields(let head) = head else { return nil }
    return (head.headers(renewed), body)
  }

  package func note(_ requestID: String, from address: String, since started: ContinuousClock.Instant) {
    let event = ReplayEvent(requestID: requestID, started: started, bodyBytes: body.readableBytes, address: address)
    for note in notes { note(event) }
  }
}

extension ByteBuffer {
  fileprivate init(_ bytes: some Sequence<UInt8>) { self.init(bytes: Array(bytes)) }
}
