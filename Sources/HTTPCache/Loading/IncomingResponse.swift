import Blobs
import HTTPCaching
import HTTPTransport
import HTTPTypes
import Synchronization

/// A response on its way in: written once into the cache's spool, and read from there by everyone who asked for the
/// same, each at their own pace.
///
/// When the last ``Place`` is given back before all bytes have come, the transfer is given up.
final class IncomingResponse: Sendable {
  let head: HTTPResponse
  /// The request, as it was asked.
  let request: HTTPRequest
  /// The request's fields that the response was chosen by; `nil` if no other request can have asked for the same.
  let vary: VaryKey?
  let generation: UInt64
  /// The part of it that is to be stored.
  let pending: PendingResponse
  private let spool: any ResponseWriting
  /// Bytes that were here before anything came.
  let resumedAt: Int64
  private let state = Mutex(State())

  fileprivate struct State {
    var available: Int64 = 0
    /// All bytes have come.
    var isAll = false
    var end: Result<CachedResponse?, any Error>?
    /// The figures of the transfer, when it has ended.
    var figures = TransferSummary()
    /// The readers that wait for bytes, or for the end.
    var waiting = WaitList()
    var places = IncomingPlaces()
    var pump: Task<Void, any Error>?
    /// Bytes that no longer fit on the disk.
    var overflow: [UInt8] = []
  }

  /// Bytes kept in memory once the disk is full.
  private static let overflowLimit = 8 << 20

  private init(
    _ head: HTTPResponse, to request: HTTPRequest, generation: UInt64, pending: PendingResponse,
    spool: any ResponseWriting
  ) {
    self.head = head
    self.pending = pending
    vary = VaryKey(vary: head.headerFields, request: request.headerFields)
    self.request = request
    self.generation = generation
    self.spool = spool
    resumedAt = spool.count
    state.withLock { $0.available = spool.count }
  }

  /// Makes a response whose bytes have not come yet.
  ///
  /// - Parameters:
  ///   - request: what was asked.
  ///   - spool: may hold the beginning already.
  /// - Returns: its first place.
  static func opened(
    _ head: HTTPResponse, to request: HTTPRequest, generation: UInt64, pending: PendingResponse,
    spool: any ResponseWriting
  ) -> Place {
    let incoming = IncomingResponse(head, to: request, generation: generation, pending: pending, spool: spool)
    return Place(ofEntered: incoming)
  }

  // MARK: Writing

  /// Takes all bytes, and then finishes with what `commit` makes of them; what fails is handed to it too.
  ///
  /// - Parameters:
  ///   - tasks: the set of running tasks that the transfer joins.
  ///   - landed: always called, before readers see the end.
  func start(
    _ body: Body, in tasks: RunningTasks,
    commit: @escaping @Sendable (_ isWhole: Bool, any ResponseWriting) async -> CachedResponse?,
    landed: @escaping @Sendable () -> Void
  ) {
    var begun: Result<Void, any Error>?
    // A short response is there as a whole: its readers need not wait for a task.
    if let bytes = body.bytesInMemory { begun = Result { try receive(bytes, areLast: !isShort(with: bytes.count)) } }
    let pump = tasks.start { [self, begun] in
      var failure: (any Error)?
      do {
        if let begun { try begun.get() } else { for try await chunk in body { try receive(chunk) } }
        if isShort(with: 0) {
          throw TransportError.closedEarly(
            url: pending.request.url.text, received: state.withLock(\.available),
            reason: "its rest is shorter than it says"
          )
        }
      } catch {
        failure = error
      }
      var stored: CachedResponse?
      if state.withLock({ $0.overflow.isEmpty }) {
        stored = await commit(failure == nil, spool)
      } else {
        spool.discard()
      }
      landed()
      let figures = await body.transferSummary()
      state.withLock { $0.figures = figures }
      finish(failure.map { .failure($0) } ?? .success(stored))
    }
    let isGivenUp = state.withLock { state in
      if state.end == nil { state.pump = pump }
      return state.places.areClosed
    }
    if isGivenUp { pump.cancel() }
  }

  /// Returns `true` if a stored beginning, what has come of its rest, and so many bytes more are not the whole. The
  /// message may end there all the same, if it has fewer bytes than the place of the rest. RFC 9110 §15.3.7.
  private func isShort(with count: Int) -> Bool {
    guard pending.isCompletion, let size = pending.size else { return false }
    return state.withLock(\.available) + Int64(count) < size
  }

  private func receive(_ chunk: [UInt8], areLast: Bool = false) throws {
    let isOverflowing = state.withLock { !$0.overflow.isEmpty }
    var isTaken = false
    if !isOverflowing {
      do {
        try spool.append(chunk)
        isTaken = true
      } catch is StoreError {}
    }
    try state.withLock { state in
      if !isTaken {
        guard state.overflow.count + chunk.count <= Self.overflowLimit else {
          throw StoreError.diskFull(path: "the response cache")
        }
        state.overflow += chunk
      }
      state.available += Int64(chunk.count)
      state.isAll = areLast
      return state.waiting.removeAll()
    }.resume()
  }

  private func finish(_ end: Result<CachedResponse?, any Error>) {
    state.withLock { state in
      state.end = end
      state.pump = nil
      return state.waiting.removeAll()
    }.resume()
  }

  var isFinished: Bool { state.withLock { $0.end != nil } }

  /// `true` if all bytes have come, so that its readers may know its end already; it is stored a moment later.
  var isComplete: Bool { state.withLock { isComplete($0) } }

  private func isComplete(_ state: State) -> Bool {
    state.end != nil || state.isAll || pending.size.map { $0 <= state.available } ?? false
  }

  /// All bytes have come, but readers must not know it yet: another response answers until this one is stored, and
  /// whoever has read the new one must not get the old one afterwards.
  private func isHeld(_ state: State) -> Bool { pending.request.isReplacing && state.end == nil && isComplete(state) }

  // MARK: Reading

  /// The whole body, if its readers may have all of it and it is not more than a chunk. It may not be stored yet.
  var wholeBody: [UInt8]? {
    let count: Int64? = state.withLock { state in
      if case .failure = state.end { return nil }
      if isHeld(state) { return nil }
      return isShort(state) && isComplete(state) ? state.available : nil
    }
    return count.flatMap { try? spool.read(at: 0, upTo: Int($0)) }
  }

  /// A share in the transfer, which goes on as long as there is one: that of a reader, or of those who have been given
  /// the response and have not begun to read.
  final class Place: Sendable {
    let incoming: IncomingResponse

    fileprivate init(ofEntered incoming: IncomingResponse) { self.incoming = incoming }

    deinit { incoming.leave() }
  }

  /// Returns the body for one reader; `nil` if the transfer was given up already.
  func body() -> Body? {
    let isOpen = state.withLock { state in
      if case .failure(let error)? = state.end, error is CancellationError { return false }
      return state.places.enter()
    }
    guard isOpen else { return nil }
    let reader = Reader(Place(ofEntered: self))
    return Body(next: { try await reader.next() }, summary: { reader.summary }, callbacks: reader)
  }

  /// Waits for the end, and returns what is stored then; `nil` if nothing is.
  ///
  /// - Throws: what ended the transfer.
  func stored() async throws -> CachedResponse? {
    while true {
      if let end = state.withLock(\.end) { return try end.get() }
      try await change(after: .max)
    }
  }

  private final class Reader: CallbackReading {
    private let place: Place
    private let position = Atomic<Int64>(0)
    /// The number by which a function of an event loop waits, or has waited; `.max` before.
    private let waiter = Atomic<UInt64>(.max)

    /// It has no trailers: they are not stored.
    let summary = TransferSummary()

    init(_ place: Place) { self.place = place }

    // What waits keeps its connection, which may have gone.
    deinit { place.incoming.endWait(by: waiter.load(ordering: .relaxed)) }

    func next() async throws -> [UInt8]? {
      let start = position.load(ordering: .relaxed)
      while true {
        if let known = place.incoming.next(at: start) { return try taken(known).get() }
        try await place.incoming.change(after: start)
      }
    }

    func next(on loop: @escaping EventLoopCall, _ receive: @escaping @Sendable (Result<[UInt8]?, any Error>) -> Void) {
      // Whoever waits must not keep the place.
      let number = place.incoming.wait(after: position.load(ordering: .relaxed)) { [weak self] in
        guard let self else { return loop { receive(.failure(CancellationError())) } }
        deliver(on: loop, receive)
      }
      if let number { return waiter.store(number, ordering: .relaxed) }
      // An event loop does not wait for the disk.
      if place.incoming.isShort { deliver(on: loop, receive) } else { Task { deliver(on: loop, receive) } }
    }

    private func deliver(
      on loop: @escaping EventLoopCall, _ receive: @escaping @Sendable (Result<[UInt8]?, any Error>) -> Void
    ) {
      guard let known = place.incoming.next(at: position.load(ordering: .relaxed)) else {
        return next(on: loop, receive)
      }
      let chunk = taken(known)
      loop { receive(chunk) }
    }

    private func taken(_ chunk: Result<[UInt8]?, any Error>) -> Result<[UInt8]?, any Error> {
      if case .success(let bytes?) = chunk { position.add(Int64(bytes.count), ordering: .relaxed) }
      return chunk
    }
  }

  private func leave() {
    // Decided under the lock: whoever comes before the task knows of it must not join any more.
    let pump = state.withLock { $0.places.leave(isComplete: isComplete($0)) ? $0.pump : nil }
    pump?.cancel()
  }

  /// The bytes for a reader from a position on, `nil` at the end; `nil` if it has to wait.
  private func next(at position: Int64) -> Result<[UInt8]?, any Error>? {
    let (isThere, overflow, end) = state.withLock { state in
      let isThere = hasMore(than: position, state)
      return (isThere, isThere ? state.overflowBytes(at: position, spooled: spool.count) : nil, state.end)
    }
    if let overflow { return .success(overflow) }
    if isThere { return Result { try spool.read(at: position, upTo: Body.chunkSize) } }
    return end.map { $0.map { _ in nil } }
  }

  /// `true` if the bytes that have come are in memory.
  private var isShort: Bool { state.withLock { isShort($0) } }

  private func isShort(_ state: State) -> Bool { state.available <= Int64(Body.chunkSize) && state.overflow.isEmpty }

  /// Returns `true` if there are bytes for readers from the position on.
  private func hasMore(than position: Int64, _ state: State) -> Bool { position < state.available && !isHeld(state) }

  /// Returns when there is more than `position` bytes, or the end.
  private func change(after position: Int64) async throws {
    try Task.checkCancellation()
    await state.wait(in: \.waiting) { isDue(after: position, $0) }
    try Task.checkCancellation()
  }

  /// Has a function called at the next change.
  ///
  /// - Returns: the number by which it waits; `nil` if there is more than `position` bytes, or the end, so that it does not.
  private func wait(after position: Int64, _ call: @escaping @Sendable () -> Void) -> UInt64? {
    state.withLock { state in isDue(after: position, state) ? nil : state.waiting.add(call) }
  }

  /// Calls a function that waits, if it still does.
  private func endWait(by number: UInt64) { state.withLock { $0.waiting.remove(number) }?.resume() }

  private func isDue(after position: Int64, _ state: State) -> Bool {
    state.end != nil || hasMore(than: position, state)
  }
}

extension IncomingResponse: Equatable {
  static func == (left: IncomingResponse, right: IncomingResponse) -> Bool { left === right }
}

/// Decides when a transfer is given up: when its last place is given back before all bytes have come. From then on nobody
/// gets another.
struct IncomingPlaces: Hashable {
  private var taken = 1
  private(set) var areClosed = false

  /// Takes a place.
  ///
  /// - Returns: `false` if the transfer was given up.
  mutating func enter() -> Bool {
    guard !areClosed else { return false }
    taken += 1
    return true
  }

  /// Gives a place back.
  ///
  /// - Parameter isComplete: `true` if all bytes have come.
  /// - Returns: `true` if the transfer is given up now.
  mutating func leave(isComplete: Bool) -> Bool {
    taken -= 1
    guard taken == 0, !isComplete else { return false }
    areClosed = true
    return true
  }
}

extension IncomingResponse.State {
  fileprivate func overflowBytes(at position: Int64, spooled: Int64) -> [UInt8]? {
    guard !overflow.isEmpty, position >= spooled, position < available else { return nil }
    return Array(overflow[Int(position - spooled)...])
  }
}

/// A response that is to be stored once its bytes have come.
struct PendingResponse: Sendable {
  enum Shape: Sendable {
    /// All of it, with its size in bytes if the head tells.
    case whole(size: Int64?)
    case part(Range<Int64>, of: Int64?)
    /// A stored beginning and the rest of it, together so many bytes.
    case completed(size: Int64?)
  }

  let request: OutgoingRequest
  private let status: Int
  private let fields: HTTPFields
  let times: ExchangeTimes
  private let shape: Shape

  init(_ request: OutgoingRequest, status: Int, fields: HTTPFields, times: ExchangeTimes, shape: Shape) {
    self.request = request
    self.status = status
    self.fields = fields
    self.times = times
    self.shape = shape
  }

  /// Returns `true` if it goes on with a part that was stored before.
  var isCompletion: Bool { if case .completed = shape { true } else { false } }

  /// The number of bytes, with those that were stored before; `nil` if the head does not tell.
  var size: Int64? {
    switch shape {
    // RFC 9110 §6.4.1.
    case .whole where status == 204 || status == 304: 0
    case .whole(let size), .completed(let size): size
    case .part(let range, _): Int64(range.count)
    }
  }

  /// Returns `true` if the response may answer a request once it is stored, without asking for it again. RFC 9111 §4.
  func mayAnswer(_ other: OutgoingRequest, at now: HTTPDate) -> Bool {
    let extent: Extent =
      if case .part(let range, let size) = shape { Extent(range, of: size) } else { .whole(size ?? .max) }
    let stored = StoredResponse(
      id: 0, status: status, fields: fields, times: times,
      vary: VaryKey(vary: fields, request: request.head.headerFields) ?? VaryKey(), extent: extent,
      isInvalidated: false, staleSince: nil, policy: request.policy)
    let decision = other.behavior.decision(
      for: other.head, among: [stored], at: now, policy: other.policy, lifetime: other.lifetime, isOnline: true)
    return if case .serve = decision { true } else { false }
  }

  /// - Parameters:
  ///   - count: bytes that have come.
  ///   - isWhole: the response has ended.
  /// - Returns: `nil` if these are not as many as the response's head says.
  func arrival(count: Int64, isWhole: Bool) -> ResponseCache.Arrival? {
    let extent: Extent
    switch shape {
    case .whole(let size):
      extent = isWhole ? .whole(count) : .part(0..<count, of: size)
    case .part(let range, let size):
      // Fewer than announced are those that the range begins with.
      guard count <= Int64(range.count) else { return nil }
      extent = Extent(range.lowerBound..<(range.lowerBound + count), of: size)
    case .completed(let size):
      guard size.map({ isWhole ? count == $0 : count < $0 }) ?? true else { return nil }
      extent = isWhole ? .whole(count) : .part(0..<count, of: size)
    }
    return ResponseCache.Arrival(
      key: request.key, request: request.head, status: status, fields: fields, times: times, extent: extent)
  }
}

extension IncomingResponse {
  /// The figures of the transfer, without trailers: all zero before all bytes have come.
  var summary: TransferSummary {
    get async {
      guard isComplete else { return TransferSummary() }
      // The last byte may be here before the transfer's end is known.
      _ = try? await stored()
      var figures = state.withLock(\.figures)
      figures.trailers = [:]
      return figures
    }
  }
}
