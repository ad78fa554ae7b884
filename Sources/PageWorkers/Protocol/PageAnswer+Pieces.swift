import PageKit

extension PageAnswer {
  /// How long an answer waits for the long ones of its page before it.
  private static let longAnswerWait = Duration.seconds(120)

  /// Sends a body in pieces, the next one when the worker has taken the one before it: of each answer the sender has no
  /// more than a few pieces in memory.
  ///
  /// - Parameters:
  ///   - limit: bytes that one answer may have.
  ///   - longAnswers: lets one long answer at a time go to the page: its worker keeps an answer until it is whole.
  ///   - head: the answer that the body's first piece goes with.
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
