import DequeModule
import Foundation
import HTTPTransport
import HTTPTypes
import Synchronization

/// Gives answers of an origin that sends no validators an `ETag` made of their content, so that who has it need not get
/// it again. RFC 9110 §8.8.3.
///
/// A head goes on when its body is there whole, or is longer than the limit.
struct ContentTags: HTTPTransporting {
  let transport: any HTTPTransporting
  /// Bytes.
  let limit: Int

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    let response = try await transport.send(request)
    guard request.head.method == .get, Self.wantsTag(response.head, limit: limit) else { return response }
    let replay = Replay(response.body)
    var digester = try Digester<SHA256Digest>.sha256()
    var head = response.head
    loop: while true {
      switch await replay.take() {
      case .chunk(let chunk):
        digester.update(chunk)
        if replay.count > limit { break loop }
      case .end:
        head.headerFields[.eTag] = "\"\(try digester.finish().hex.prefix(32))\""
        break loop
      case .failure(let error as CancellationError): throw error
      case .failure: break loop
      }
    }
    return TransportResponse(head: head, body: replay.body, version: response.version)
  }

  /// Returns `true` if the answer may get a tag: it is whole, has no validator, and ends.
  static func wantsTag(_ head: HTTPResponse, limit: Int) -> Bool {
    let fields = head.headerFields
    guard head.status == .ok, !fields.contains(.eTag), !fields.contains(.lastModified) else { return false }
    if let length = fields[.contentLength].flatMap({ Int($0) }) { return length <= limit }
    // Their bodies are read while they come.
    let type = fields[.contentType]?.prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces).lowercased()
    return type.map { !["text/event-stream", "application/x-ndjson", "multipart/x-mixed-replace"].contains($0) } ?? true
  }
}

/// A body whose beginning is kept, to be read again.
private final class Replay: Sendable {
  enum Step {
    case chunk([UInt8])
    case end
    case failure(any Error)
  }

  private struct State {
    var chunks: Deque<[UInt8]> = []
    var count = 0
    /// `nil` while there is more to come.
    var end: Result<Void, any Error>?
  }

  private let source: Body
  private let state = Mutex(State())

  init(_ source: Body) { self.source = source }

  /// Bytes that are kept.
  var count: Int { state.withLock(\.count) }

  /// Keeps the next chunk.
  func take() async -> Step {
    do {
      guard let chunk = try await source.reader().nextChunk() else {
        state.withLock { $0.end = .success(()) }
        return .end
      }
      state.withLock { state in
        state.chunks.append(chunk)
        state.count += chunk.count
      }
      return .chunk(chunk)
    } catch {
      state.withLock { $0.end = .failure(error) }
      return .failure(error)
    }
  }

  /// The kept beginning, and then the rest.
  var body: Body {
    Body(
      next: { [self] in
        let (chunk, end) = state.withLock { ($0.chunks.popFirst(), $0.end) }
        if let chunk { return chunk }
        if let end {
          try end.get()
          return nil
        }
        return try await source.reader().nextChunk()
      }, summary: { [source] in await source.transferSummary() })
  }
}
