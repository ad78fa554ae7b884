import PageCore
import Synchronization

/// A body with its content encoding undone, piece by piece as it is read.
///
/// `@unchecked` since the decoder is not `Sendable`; one reader at a time asks for the next piece.
final class DecodedBody: @unchecked Sendable {
  private var source: LoadedBody.AsyncIterator
  private let decoder: any BodyDecoding
  private var hasEnded = false

  init(_ source: LoadedBody, _ decoder: any BodyDecoding) {
    self.source = source.makeAsyncIterator()
    self.decoder = decoder
  }

  var stream: TransportBody { TransportBody(next: { try await self.next() }) }

  private func next() async throws -> [UInt8]? {
    while !hasEnded {
      guard let chunk = try await source.next() else {
        hasEnded = true
        try decoder.finish()
        return nil
      }
      let content = try decoder.decode(chunk)
      if !content.isEmpty { return content }
    }
    return nil
  }
}

extension StoredBody {
  /// A part of it, in memory where it is there already.
  func body(_ range: Range<Int64>) -> LoadedBody {
    if let memory = self as? BytesBody {
      return LoadedBody(memory.read(at: range.lowerBound, upTo: Int(range.upperBound - range.lowerBound)))
    }
    let reader = StoredBodyReader(self, range)
    return LoadedBody(TransportBody(next: { try reader.next() }), url: "")
  }
}

/// Goes through a stored body once.
private final class StoredBodyReader: Sendable {
  private let body: any StoredBody
  private let end: Int64
  private let position: Mutex<Int64>

  init(_ body: any StoredBody, _ range: Range<Int64>) {
    self.body = body
    end = range.upperBound
    position = Mutex(range.lowerBound)
  }

  func next() throws -> [UInt8]? {
    try position.withLock { position in
      guard position < end else { return nil }
      let piece = try body.read(at: position, upTo: Int(min(64 << 10, end - position)))
      guard !piece.isEmpty else { return nil }
      position += Int64(piece.count)
      return piece
    }
  }
}
