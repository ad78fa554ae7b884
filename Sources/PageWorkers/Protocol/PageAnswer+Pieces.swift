import PageKit

extension PageAnswer {
  /// The longest wait of an answer for earlier long answers of its page.
  private static let longAnswerWait = Duration.seconds(120)

  /// Sends a body in pieces, each after the worker has taken the previous one, so that only a few pieces are in memory.
  ///
  /// - Parameters:
  ///   - limit: the limit of an answer in bytes.
  ///   - longAnswers: serialises the long answers of a page, since its worker buffers a whole answer.
  ///   - head: the answer that carries the first piece.
  /// - Throws: ``TransportError/tooLarge(url:limit:)`` if the body has more bytes than the limit.
  package static func send(
    _ body: Body, limit: Int64, longAnswers: FairGate<Int>,
    _ send: @Sendable (PageAnswer, [UInt8]) async throws -> Void, _ head: (_ hasMore: Bool) -> PageAnswer
  ) async throws {
    let reader = body.reader()
    var count: Int64 = 0
    var isFirst = true
    var pass: FairGate<Int>.Pass?
    defer { if let pass { longAnswers.leave(pass) } }
    var chunk = try await reader.nextChunk()
    repeat {
      let next = chunk == nil ? nil : try await reader.nextChunk()
      var rest = (chunk ?? [])[...]
      count += Int64(rest.count)
      guard count <= limit else { throw TransportError.tooLarge(url: body.url, limit: limit) }
      if pass == nil, count > Frame.pieceLimit {
        pass = try await longAnswers.enter(for: 0, until: .now + longAnswerWait)
      }
      repeat {
        let piece = Array(rest.prefix(Frame.pieceLimit))
        rest = rest.dropFirst(piece.count)
        let hasMore = !rest.isEmpty || next != nil
        try await send(isFirst ? head(hasMore) : .piece(hasMore: hasMore), piece)
        isFirst = false
      } while !rest.isEmpty
      chunk = next
    } while chunk != nil
  }
}
