import NIOCore
import Synchronization
import Testing

@testable import RenderHost
@testable import ServerKit

struct RawResponseCacheTests {
  @Test(
    "a complete head is recognised",
    arguments: [
      ("GET / HTTP/1.1\r\n\r\n", true), ("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n", true),
      ("GET / HTTP/1.1\r\nHost: h\r\n", false), ("GET / HTTP/1.1\r\nHost: h\r\n\r\n\r\n", false),
      ("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n", false), ("GET / HTTP/1.1\n\nGET / HTTP/1.1\r\n\r\n", false),
      ("GET / HTTP/1.1\r\n\r\nabc\r\n\r\n", false), ("POST / HTTP/1.1\r\n\r\n", false), ("", false),
      ("\r\n\r\n", false),
      ("GET /\(String(repeating: "a", count: 2048)) HTTP/1.1\r\n\r\n", false),
    ])
  func completeHead(_ bytes: String, _ isWhole: Bool) {
    #expect(RecordedResponses.isWholeHead(ByteBuffer(string: bytes)) == isWhole)
  }

  private static let fields = "Date: Sun, 22 Nov 2026 00:14:37 GMT\r\nX-Request-Id: 0123456789abcdef\r\n"
  private let offer = ReplayOffer { 0 }

  @Test(
    "an answer that cannot be replayed is not recorded",
    arguments: [
      ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\(fields)\r\n", true),
      ("HTTP/1.1 304 Not Modified\r\n\(fields)\r\n", true),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\(fields)\r\n", false),
      ("HTTP/1.1 200 OK\r\nConnection: close\r\n\(fields)\r\n", false),
      ("HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 00:14:37 GMT\r\n\r\n", false),
      ("HTTP/1.0 200 OK\r\n\(fields)\r\n", false), ("HTTP/1.1 200 OK\r\n\(fields)", false), ("", false),
    ])
  func unreplayable(_ head: String, _ isRemembered: Bool) {
    #expect((RecordedResponse([ByteBuffer(string: head), ByteBuffer(string: "ab")], offer) != nil) == isRemembered)
  }

  @Test("only the date and the id are replaced")
  func replacedFields() throws {
    let head = "HTTP/1.1 200 OK\r\nETag: \"a\"\r\n\(Self.fields)Vary: Date\r\n\r\n"
    let body = [ByteBuffer(string: "abc"), ByteBuffer(string: "def")]
    let answer = try #require(RecordedResponse([ByteBuffer(string: head)] + body, offer))
    let (buffer, rest) = try #require(
      answer.buffers(.init(date: "DATE", requestID: "ID", age: 0), ByteBufferAllocator()))
    #expect(rest == nil)
    #expect(
      String(buffer: buffer)
        == "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nDate: DATE\r\nX-Request-Id: ID\r\nVary: Date\r\n\r\nabcdef")
  }

  /// Bytes that may leave the memory of a cache.
  private final class CachedBytes: Sendable {
    let bytes: Mutex<[UInt8]?>
    init(_ text: String) { bytes = Mutex(Array(text.utf8)) }
  }

  @Test("an answer with the bytes of a cache has no others, and is given for as long as they are there")
  func sharedBytes() throws {
    let cached = CachedBytes("abcdef")
    let head = "HTTP/1.1 200 OK\r\n\(Self.fields)\r\n"
    let renewed = RenewedValues(date: "DATE", requestID: "ID", age: 0)
    func answer(_ body: String) throws -> RecordedResponse {
      var offer = offer
      offer.body = { cached.bytes.withLock(\.self) }
      return try #require(RecordedResponse([ByteBuffer(string: head), ByteBuffer(string: body)], offer))
    }
    let (same, other) = (try answer("abcdef"), try answer("abcde-"))
    #expect(other.size - same.size == 6)
    let given = try #require(same.buffers(renewed, ByteBufferAllocator())?.0)
    #expect(String(buffer: given).hasSuffix("\r\n\r\nabcdef"))
    cached.bytes.withLock { $0 = nil }
    #expect(same.buffers(renewed, ByteBufferAllocator()) == nil)
    let own = try #require(other.buffers(renewed, ByteBufferAllocator())?.0)
    #expect(String(buffer: own).hasSuffix("\r\n\r\nabcde-"))
  }

  @Test("the oldest answers are evicted")
  func eviction() throws {
    let memory = RecordedResponses(capacity: 32_000)
    let head = "HTTP/1.1 200 OK\r\n\(Self.fields)\r\n"
    for number in 0..<100 {
      let answer = try #require(
        RecordedResponse([ByteBuffer(string: head), ByteBuffer(string: String(repeating: "x", count: 400))], offer))
      memory.remember(answer, for: ByteBuffer(string: "GET /\(number) HTTP/1.1\r\n\r\n"))
    }
    let known = (0..<100).filter { memory.answer(to: ByteBuffer(string: "GET /\($0) HTTP/1.1\r\n\r\n")) != nil }
    #expect(!known.isEmpty && known.count < 50 && known.contains(99))
  }
}
