import HTTPTransport
import HTTPTypes
import Synchronization

/// One request and its response, between the curl thread, which fills it, and the task that reads it.
///
/// The reader takes all bytes that have arrived since its last call. When more than `highWater` bytes wait for it, the
/// curl thread pauses the transfer until they are taken.
final class Transfer: Sendable {
  let request: TransportRequest
  /// The request's body, if it is streamed.
  let feed: RequestFeed?
  let began = ContinuousClock.now
  private let mailbox: CurlMailbox
  private let state = Mutex(State())

  /// The number of waiting bytes at which the transfer pauses.
  private static let highWater = 256 << 10
  /// The reserved size of the buffer. libcurl passes on 16 KiB at a time; several pieces are usually taken at once.
  private static let usualChunk = 64 << 10

  private struct State {
    var head: HTTPResponse?
    var version: String?
    var buffer: [UInt8] = []
    var isPaused = false
    var end: Result<Void, any Error>?
    var summary = TransferSummary()
    var headWaiter: CheckedContinuation<HTTPResponse, any Error>?
    var chunkWaiter: CheckedContinuation<[UInt8]?, any Error>?

    /// The body's next bytes or its end; `nil` if the reader must wait.
    mutating func takeChunk() -> Result<[UInt8]?, any Error>? {
      if !buffer.isEmpty {
        defer { buffer = [] }
        return .success(buffer)
      }
      return end.map { $0.map { nil } }
    }
  }

  init(request: TransportRequest, mailbox: CurlMailbox) {
    self.request = request
    self.mailbox = mailbox
    feed = request.head.method == .head ? nil : request.stream.map(RequestFeed.init)
  }

  // MARK: The reader's side

  func head() async throws -> HTTPResponse {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let known: Result<HTTPResponse, any Error>? = state.withLock { state in
          if let head = state.head { return .success(head) }
          if let end = state.end { return headless(end) }
          state.headWaiter = continuation
          return nil
        }
        if let known { continuation.resume(with: known) }
      }
    } onCancel: {
      cancel()
    }
  }

  /// Returns the next bytes, `nil` at the end.
  func nextChunk() async throws -> [UInt8]? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let (known, wasPaused) = state.withLock { state in
          let known = state.takeChunk()
          if known == nil { state.chunkWaiter = continuation }
          defer { state.isPaused = false }
          return (known, state.isPaused)
        }
        if wasPaused { mailbox.post(.resume(self)) }
        if let known { continuation.resume(with: known) }
      }
    } onCancel: {
      cancel()
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
    let waiter = state.withLock { state in
      (state.head, state.version) = (head, version)
      defer { state.headWaiter = nil }
      return state.headWaiter
    }
    waiter?.resume(returning: head)
  }

  /// Takes bytes of the body; returns `false`, without taking them, if the reader must catch up first.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let (isTaken, waiter, chunk) = state.withLock {
      state -> (Bool, CheckedContinuation<[UInt8]?, any Error>?, [UInt8]) in
      if let waiter = state.chunkWaiter {
        state.chunkWaiter = nil
        return (true, waiter, Array(bytes))
      }
      guard state.end == nil else { return (true, nil, []) }
      guard state.buffer.count < Self.highWater else {
        state.isPaused = true
        return (false, nil, [])
      }
      if state.buffer.isEmpty { state.buffer.reserveCapacity(Self.usualChunk) }
      state.buffer.append(contentsOf: bytes)
      return (true, nil, [])
    }
    waiter?.resume(returning: chunk)
    return isTaken
  }

  func record(_ summary: TransferSummary) {
    state.withLock { $0.summary = summary }
  }

  /// The result for a reader that waits for the head when the transfer ends.
  private func headless(_ end: Result<Void, any Error>) -> Result<HTTPResponse, any Error> {
    end.flatMap { .failure(TransportError.malformed(url: request.url, reason: "it has no head")) }
  }

  func finish(_ end: Result<Void, any Error>) {
    let (headWaiter, chunkWaiter) = state.withLock { state in
      guard state.end == nil else {
        return (nil, nil) as (CheckedContinuation<HTTPResponse, any Error>?, CheckedContinuation<[UInt8]?, any Error>?)
      }
      state.end = end
      if case .failure = end, !(state.head != nil && !state.buffer.isEmpty) { state.buffer = [] }
      defer { (state.headWaiter, state.chunkWaiter) = (nil, nil) }
      return (state.headWaiter, state.chunkWaiter)
    }
    feed?.stop()
    headWaiter?.resume(with: headless(end))
    chunkWaiter?.resume(with: end.map { nil })
  }
}
