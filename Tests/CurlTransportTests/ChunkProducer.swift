import HTTPTransport
import HTTPTypes
import PageTesting

/// Makes chunks on request, and counts them.
final class ChunkProducer: AsyncSequence, Sendable {
  struct Record: Sendable {
    var asked = 0
    var isCancelled = false
  }

  let record = Monitor(Record())
  private let make: @Sendable (Int) async throws -> [UInt8]?

  /// - Parameter make: returns the chunk with a number, from 0; `nil` for the end.
  init(_ make: @escaping @Sendable (Int) async throws -> [UInt8]?) { self.make = make }

  /// Makes this many equal chunks.
  convenience init(_ count: Int, of chunk: [UInt8]) { self.init { $0 < count ? chunk : nil } }

  var asked: Int { record.read(\.asked) }

  func waitUntilCancelled() async throws {
    try await record.wait(within: .seconds(20), until: \.isCancelled) { _ in NotCancelled() }
  }

  struct NotCancelled: Error {}

  struct AsyncIterator: AsyncIteratorProtocol {
    let producer: ChunkProducer
    var number = 0

    mutating func next() async throws -> [UInt8]? {
      producer.record.change { $0.asked += 1 }
      defer { number += 1 }
      return try await withTaskCancellationHandler {
        try await producer.make(number)
      } onCancel: { [record = producer.record] in
        record.change { $0.isCancelled = true }
      }
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(producer: self) }
}

/// A producer's own failure.
struct ProducerFailure: Error, CustomStringConvertible {
  var description: String { "the client has left" }
}

/// Waits until its task is cancelled.
func waitForCancellation() async throws -> Never {
  while true { try await Task.sleep(for: .seconds(60)) }
}

extension TransportRequest {
  func streaming(
    _ producer: ChunkProducer, length: Int64? = nil, trailers: (@Sendable () async throws -> HTTPFields)? = nil
  ) -> TransportRequest {
    var request = self
    request.stream = RequestStream(producer, length: length, trailers: trailers)
    return request
  }
}
