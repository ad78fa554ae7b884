import HTTPTransport
import HTTPTypes
import Synchronization

/// One request and its response, between the curl thread, which fills it, and the task or event loop that reads it.
///
/// The reader takes all bytes that have arrived since its last call. When more than `highWater` bytes wait for it, the
/// curl thread pauses the transfer until they are taken. Readers are woken when libcurl has done all that it can do at
/// once, so that a short response is there as a whole.
final class Transfer: Sendable {
  let request: TransportRequest
  let target: RequestTarget
  /// The request's body, if it is streamed.
  let feed: RequestFeed?
  let began = ContinuousClock.now
  private let mailbox: CurlMailbox
  private let state = Mutex(State())

  /// The number of waiting bytes at which the transfer pauses.
  private static let highWater = 256 << 10
  /// The reserved size of the buffer, unless the rest of the body is known to fit into one. libcurl passes on 16 KiB at
  /// a time; several pieces are usually taken at once.
  private static let usualChunk = 64 << 10

  private struct State {
    var head: HTTPResponse?
    var version: String?
    var buffer: [UInt8] = []
    var isPaused = false
    var end: Result<Void, any Error>?
    var summary = TransferSummary()
    var headWaiter: (@Sendable (Result<HTTPResponse, any Error>) -> Void)?
    var chunkWaiter: (@Sendable (Result<[UInt8]?, any Error>) -> Void)?

    /// The body's next bytes or its end; `nil` if the reader must wait.
    mutating func removeChunk() -> Result<[UInt8]?, any Error>? {
      if !buffer.isEmpty {
        defer { buffer = [] }
        return .success(buffer)
      }
      return end.map { $0.map { nil } }
    }

    /// The response's head, or why there is none; `nil` if the reader must wait.
    func knownHead(of url: @autoclosure () -> String) -> Result<HTTPResponse, any Error>? {
      if let head { return .success(head) }
      return end.map { $0.flatMap { .failure(TransportError.malformed(url: url(), reason: "it has no head")) } }
    }
  }

  init(request: TransportRequest, target: RequestTarget, mailbox: CurlMailbox) {
    self.request = request
    self.target = target
    self.mailbox = mailbox
    feed = request.head.method == .head ? nil : request.stream.map(RequestFeed.init)
  }

  // MARK: The reader's side

  func head() async throws -> HTTPResponse {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        receiveHead { continuation.resume(with: $0) }
      }
    } onCancel: {
      cancel()
    }
  }

  /// Calls a function once with the head, in this call or on the curl thread.
  func receiveHead(_ receive: @escaping @Sendable (Result<HTTPResponse, any Error>) -> Void) {
    let known = state.withLock { state in
      let known = state.knownHead(of: request.url)
      if known == nil { state.headWaiter = receive }
      return known
    }
    if let known { receive(known) }
  }

  /// Returns the next bytes, `nil` at the end.
  func nextChunk() async throws -> [UInt8]? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        receiveChunk { continuation.resume(with: $0) }
      }
    } onCancel: {
      cancel()
    }
  }

  /// Calls a function once with the next bytes, `nil` at the end, in this call or on the curl thread.
  func receiveChunk(_ receive: @escaping @Sendable (Result<[UInt8]?, any Error>) -> Void) {
    let (known, wasPaused) = state.withLock { state in
      let known = state.removeChunk()
      if known == nil { state.chunkWaiter = receive }
      defer { state.isPaused = false }
      return (known, state.isPaused)
    }
    if wasPaused { mailbox.post(.resume(self)) }
    if let known { receive(known) }
  }

  /// The whole body, if all of it has come and it is short; then there is no further chunk.
  func removeWholeBody() -> [UInt8]? {
    state.withLock { state in
      guard case .success = state.end, state.buffer.count <= Body.chunkSize, state.summary.trailers.isEmpty else {
        return nil
      }
      defer { state.buffer = [] }
      return state.buffer
    }
  }

  /// The version of HTTP, such as `1.1`; `nil` before there is a head.
  var version: String? { state.withLock(\.version) }
  var summary: TransferSummary { state.withLock(\.summary) }
  var isFinished: Bool { state.withLock { $0.end != nil } }

  /// Ends the transfer; a waiting reader gets a `CancellationError`.
  private func cancel() {
    finish(.failure(CancellationError()))
    mailbox.post(.cancel(self))
  }

  /// Cancels the transfer if it is still under way, since it will not be read any more.
  func abandon() {
    if !isFinished { cancel() }
  }

  // MARK: The curl thread's side

  /// Starts the producer of the request's body.
  func startFeed() {
    feed?.start { [mailbox, weak self] in
      if let self { mailbox.post(.sendOn(self)) }
    }
  }

  /// Continues to send, from outside of libcurl's callbacks.
  func postSendOn() { mailbox.post(.sendOn(self)) }

  func receive(_ head: HTTPResponse, version: String) {
    state.withLock { ($0.head, $0.version) = (head, version) }
  }

  /// Takes bytes of the body; returns `false`, without taking them, if the reader must catch up first.
  ///
  /// - Parameter left: the length of the body from these bytes on; `nil` if it is not known.
  func receive(_ bytes: UnsafeRawBufferPointer, left: Int64?) -> Bool {
    state.withLock { state in
      guard state.end == nil else { return true }
      guard state.buffer.count < Self.highWater else {
        state.isPaused = true
        return false
      }
      if state.buffer.isEmpty {
        // A buffer that grows is copied.
        let rest = left.flatMap { $0 <= Self.highWater ? Int($0) : nil }
        state.buffer.reserveCapacity(max(bytes.count, rest ?? Self.usualChunk))
      }
      state.buffer.append(contentsOf: bytes)
      return true
    }
  }

  func record(_ summary: TransferSummary) {
    state.withLock { $0.summary = summary }
  }

  /// Ends the transfer, and wakes its reader.
  func finish(_ end: Result<Void, any Error>) {
    state.withLock { state in
      guard state.end == nil else { return }
      state.end = end
      if case .failure = end, !(state.head != nil && !state.buffer.isEmpty) { state.buffer = [] }
    }
    feed?.stop()
    wakeReader()
  }

  /// Resumes the reader, if there is what it waits for.
  func wakeReader() {
    let (head, chunk, wasPaused) = state.withLock { state in
      let head = state.headWaiter.flatMap { waiter in state.knownHead(of: request.url).map { (waiter, $0) } }
      if head != nil { state.headWaiter = nil }
      let chunk = state.chunkWaiter.flatMap { waiter in state.removeChunk().map { (waiter, $0) } }
      if chunk != nil { state.chunkWaiter = nil }
      defer { if chunk != nil { state.isPaused = false } }
      return (head, chunk, chunk != nil && state.isPaused)
    }
    if wasPaused { mailbox.post(.resume(self)) }
    if let (waiter, known) = head { waiter(known) }
    if let (waiter, known) = chunk { waiter(known) }
  }
}

/// The transfers that have received something since their readers were woken. Lives on the curl thread.
final class PendingReaders {
  private var transfers: [ObjectIdentifier: Transfer] = [:]

  func add(_ transfer: Transfer) { transfers[ObjectIdentifier(transfer)] = transfer }

  func wake() {
    for transfer in transfers.values { transfer.wakeReader() }
    transfers.removeAll(keepingCapacity: true)
  }
}
