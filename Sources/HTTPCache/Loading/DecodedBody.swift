import HTTPTransport
import Synchronization

/// Undoes the content encoding of a body, chunk by chunk as it is read. Readers that ask at the same time wait for each
/// other: each piece goes to one of them.
///
/// `@unchecked` since the decoder is not `Sendable`; one caller at a time has the turn.
final class DecodedBody: @unchecked Sendable {
  private let source: BodyReader
  private let decoder: ContentDecoder
  private var hasEnded = false
  private let turns = TransferGate(width: 1)

  init(_ source: BodyReader, _ decoder: ContentDecoder) {
    self.source = source
    self.decoder = decoder
  }

  func next() async throws -> [UInt8]? {
    let turn = try await turns.enter(turns.number(), priority: .normal)
    defer { withExtendedLifetime(turn) {} }
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
