import HTTPTransport
import Synchronization

/// Undoes the content encoding of a body, chunk by chunk as it is read.
///
/// `@unchecked` since the decoder is not `Sendable`; one reader at a time asks for the next piece.
final class DecodedBody: @unchecked Sendable {
  private let source: BodyReader
  private let decoder: any BodyDecoding
  private var hasEnded = false

  init(_ source: BodyReader, _ decoder: any BodyDecoding) {
    self.source = source
    self.decoder = decoder
  }

  func next() async throws -> [UInt8]? {
    while !hasEnded {
      guard let chunk = try await source.nextChunk() else {
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
