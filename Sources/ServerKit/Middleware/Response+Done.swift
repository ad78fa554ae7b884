import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

extension Response {
  /// Calls `then` when the response has ended: at once if its length is known, so that it can be written in one piece;
  /// for a stream after its last byte, with the number of written bytes.
  mutating func whenDone(_ then: @escaping @Sendable (_ bytes: Int, _ isAborted: Bool) -> Void) {
    if let length = body.contentLength { return then(length, false) }
    let stream = body
    body = ResponseBody { writer in
      let counter = CountingWriter(base: writer)
      let bytes = counter.bytes
      do {
        try await stream.write(counter)
        then(bytes.load(), false)
      } catch {
        then(bytes.load(), true)
        throw error
      }
    }
  }
}

/// Counts the bytes that pass.
private struct CountingWriter: ResponseBodyWriter {
  final class Count: Sendable {
    private let count = Atomic<Int>(0)
    func add(_ amount: Int) { count.wrappingAdd(amount, ordering: .relaxed) }
    func load() -> Int { count.load(ordering: .relaxed) }
  }

  var base: any ResponseBodyWriter
  let bytes = Count()

  mutating func write(_ buffer: ByteBuffer) async throws {
    try await base.write(buffer)
    bytes.add(buffer.readableBytes)
  }

  consuming func finish(_ trailers: HTTPFields?) async throws { try await base.finish(trailers) }
}
