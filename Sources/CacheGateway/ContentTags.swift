import DequeModule
import Foundation
import HTTPTransport
import HTTPTypes
import Synchronization

/// Adds an `ETag` that is computed from the content to responses without validators, so that clients can validate them.
/// RFC 9110 §8.8.3.
///
/// A head is forwarded when its body is complete, or exceeds the limit.
struct ContentTags: HTTPTransporting {
  let transport: any HTTPTransporting
  /// The limit of a body in bytes.
  let limit: Int

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    let response = try await transport.send(request)
    guard request.head.method == .get, Self.wantsTag(response.head, limit: limit) else { return response }
    var digester = try Digester<SHA256Digest>.sha256()
    var head = response.head
    if let bytes = response.body.bytesInMemory {
      if bytes.count <= limit {
        digester.update(bytes)
        head.headerFields[.eTag] = Self.tag(try digester.finish())
      }
      return TransportResponse(head: head, body: response.body, version: response.version)
    }
    let replay = Replay(response.body)
    do {
      while replay.count <= limit, let chunk = try await replay.take() { digester.update(chunk) }
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      // The reader of the body gets the error after what came before it.
    }
    if replay.isWhole { head.headerFields[.eTag] = Self.tag(try digester.finish()) }
    return TransportResponse(head: head, body: replay.body, version: response.version)
  }

  private static func tag(_ digest: SHA256Digest) -> String { "\"\(digest.hex.prefix(32))\"" }

  /// Returns `true` if the response may get a tag: it is complete, has no validator, and has an end.
  static func wantsTag(_ head: HTTPResponse, limit: Int) -> Bool {
    let fields = head.headerFields
    guard head.status == .ok, !fields.contains(.eTag), !fields.contains(.lastModified) else { return false }
    if let length = fields[.contentLength].flatMap({ Int($0) }) { return length <= limit }
    // Bodies of streaming types are read while they arrive.
    return !["text/event-stream", "application/x-ndjson", "multipart/x-mixed-replace"]
      .contains(MediaType(fields[.contentType]).name)
  }
}

/// A body whose buffered beginning can be read again.
private final class Replay: Sendable {
  private struct State {
    var chunks: Deque<[UInt8]> = []
    var count = 0
    /// `nil` until the body has ended.
    var end: Result<Void, any Error>?
  }

  private let source: Body
  private let reader: BodyReader
  private let state = Mutex(State())

  init(_ source: Body) { (self.source, reader) = (source, source.reader()) }

  /// The number of buffered bytes.
  var count: Int { state.withLock(\.count) }

  /// `true` if all of the body is buffered.
  var isWhole: Bool { state.withLock { if case .success? = $0.end { true } else { false } } }

  /// Buffers the next chunk; returns `nil` at the end.
  func take() async throws -> [UInt8]? {
    do {
      guard let chunk = try await reader.nextChunk() else {
        state.withLock { $0.end = .success(()) }
        return nil
      }
      state.withLock { state in
        state.chunks.append(chunk)
        state.count += chunk.count
      }
      return chunk
    } catch {
      state.withLock { $0.end = .failure(error) }
      throw error
    }
  }

  /// The buffered beginning, followed by the rest.
  var body: Body {
    Body(
      next: { [self] in
        let (chunk, end) = state.withLock { ($0.chunks.popFirst(), $0.end) }
        if let chunk { return chunk }
        if let end {
          try end.get()
          return nil
        }
        return try await reader.nextChunk()
      }, summary: { [source] in await source.transferSummary() })
  }
}
