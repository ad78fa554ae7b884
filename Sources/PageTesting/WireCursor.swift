/// The bytes of one write.
struct WirePiece: Sendable {
  var prefix: [UInt8] = []
  /// The bytes that belong to the body.
  var body: ArraySlice<UInt8> = []
  var suffix: [UInt8] = []
  /// `true` if no write follows.
  var isLast: Bool
}

/// Steps through a plan: returns each next step, which the connection executes.
struct WireCursor: Sendable {
  enum Action: Sendable {
    case write(WirePiece)
    /// No write before this time.
    case wait(until: ContinuousClock.Instant)
    /// No write until the socket accepts more bytes.
    case waitUntilWritable
    case end(WireEnding)
  }

  /// The limit of body bytes in one write, so that large bodies are not copied whole.
  private static let pieceSize = 64 * 1024
  private static let chunkSize = 8 * 1024

  let isWhole: Bool
  let ending: WireEnding
  private var steps: ArraySlice<WireStep>
  private let bytesPerSecond: Int?
  private var pauseEnd: ContinuousClock.Instant?
  private var nextWrite: ContinuousClock.Instant?

  init(_ plan: WirePlan) {
    isWhole = plan.isWhole
    ending = plan.ending
    steps = plan.steps[...]
    bytesPerSecond = plan.bytesPerSecond.map { max(1, $0) }
  }

  mutating func next(at now: ContinuousClock.Instant, isWritable: Bool) -> Action {
    while case .pause(let time)? = steps.first {
      let end = pauseEnd ?? now + time
      pauseEnd = end
      if now < end { return .wait(until: end) }
      pauseEnd = nil
      steps.removeFirst()
    }
    guard let step = steps.first else { return .end(ending) }
    guard isWritable else { return .waitUntilWritable }

    switch step {
    case .pause:
      return .wait(until: now)
    case .raw(let bytes):
      steps.removeFirst()
      return .write(WirePiece(prefix: bytes, isLast: steps.isEmpty))
    case .body(let rest):
      return bodyAction(rest, limit: Self.pieceSize, at: now) { .body($0) }
    case .chunkedBody(let rest):
      let action = bodyAction(rest, limit: Self.chunkSize, at: now) { .chunkedBody($0) }
      guard case .write(var piece) = action else { return action }
      piece.prefix = Array((String(piece.body.count, radix: 16) + "\r\n").utf8)
      piece.suffix = Array("\r\n".utf8)
      return .write(piece)
    }
  }

  private mutating func bodyAction(
    _ rest: ArraySlice<UInt8>, limit: Int, at now: ContinuousClock.Instant,
    remaining: (ArraySlice<UInt8>) -> WireStep
  ) -> Action {
    if let nextWrite, now < nextWrite { return .wait(until: nextWrite) }
    let size = min(limit, pacedSize)
    steps.removeFirst()
    if rest.count > size { steps = [remaining(rest.dropFirst(size))] + steps }
    let piece = WirePiece(body: rest.prefix(size), isLast: steps.isEmpty)
    if let bytesPerSecond {
      // Late timers are compensated for, but a client that paused its reading gets no burst.
      let start = max(nextWrite ?? now, now - .milliseconds(100))
      nextWrite = start + .nanoseconds(Int64(piece.body.count) * 1_000_000_000 / Int64(bytesPerSecond))
    }
    return .write(piece)
  }

  /// The bytes of one write of a slow body, which is sent in about fifty writes a second.
  private var pacedSize: Int {
    bytesPerSecond.map { max(1, $0 / 50) } ?? .max
  }
}
