import HTTPTransport
import Synchronization
import Testing

/// Reading bodies.
struct BodyTests {
  private static let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) }

  /// Stored bytes that count their readings.
  private final class CountedBody: StoredBody {
    let count = Int64(BodyTests.bytes.count)
    private let reads = Mutex(0)

    var readCount: Int { reads.withLock { $0 } }

    func read(at position: Int64, upTo limit: Int) throws -> [UInt8] {
      reads.withLock { $0 += 1 }
      return Array(BodyTests.bytes.dropFirst(Int(position)).prefix(limit))
    }
  }

  private static func chunks(_ reader: BodyReader) async throws -> [[UInt8]] {
    var chunks: [[UInt8]] = []
    while let chunk = try await reader.nextChunk() { chunks.append(chunk) }
    return chunks
  }

  @Test("long bytes in memory are read in chunks, and repeatedly")
  func bytesInMemory() async throws {
    let body = Body(Self.bytes)
    for _ in 1...2 {
      let chunks = try await Self.chunks(body.reader())
      #expect(chunks.allSatisfy { $0.count <= Body.chunkSize } && chunks.count == 4)
      #expect(Array(chunks.joined()) == Self.bytes)
    }
    #expect(try await Self.chunks(Body([1, 2]).reader()) == [[1, 2]])
    #expect(try await Self.chunks(Body([]).reader()) == [])
    #expect(try await Self.chunks(Body([UInt8](repeating: 1, count: Body.chunkSize)).reader()).count == 1)
  }

  @Test("a part of stored bytes is read on demand, by several readers at their own pace")
  func storedBytes() async throws {
    let stored = CountedBody()
    let body = Body(stored, 1_000..<150_000)
    #expect(stored.readCount == 0)
    let (first, second) = (body.reader(), body.reader())
    let start = try await first.nextChunk()
    #expect(stored.readCount == 1)
    #expect(Array(try await Self.chunks(second).joined()) == Array(Self.bytes[1_000..<150_000]))
    #expect(Array(([start ?? []] + (try await Self.chunks(first))).joined()) == Array(Self.bytes[1_000..<150_000]))
    #expect(body.bytesInMemory == nil)
  }

  @Test("each reader of a stream continues where the one before it stopped")
  func streamReaders() async throws {
    let left = Mutex([[1], [2], [3]] as [[UInt8]])
    let body = Body(next: { left.withLock { $0.isEmpty ? nil : $0.removeFirst() } })
    #expect(try await body.reader().nextChunk() == [1])
    #expect(try await body.collect() == [2, 3])
    #expect(try await body.collect() == [])
  }

  @Test("a body over the limit is not collected", arguments: [true, false])
  func limit(_ isInMemory: Bool) async throws {
    var body = isInMemory ? Body(Self.bytes) : Body(CountedBody(), 0..<200_000)
    body.url = "https://example.com/long"
    #expect(try await body.collect(upTo: 200_000) == Self.bytes)
    let long = body
    let error = await #expect(throws: TransportError.self) {
      _ = try await long.collect(upTo: 199_999)
    }
    #expect(error == .tooLarge(url: "https://example.com/long", limit: 199_999))
  }
}
