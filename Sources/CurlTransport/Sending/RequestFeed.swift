import HTTPTransport
import HTTPTypes
import Synchronization

/// The buffer of a streamed request body: filled by the producer's task, emptied by the curl thread.
///
/// The producer's next chunk is requested when the one before is in the buffer and there is room for more.
final class RequestFeed: Sendable {
  /// The result of reading bytes.
  enum ReadResult: Equatable {
    case bytes(Int)
    /// There are no bytes yet; the wake function is called when there are.
    case nothingYet
    case end
    case failed
  }

  enum Fault: Error, CustomStringConvertible {
    case tooLong(Int64)
    case tooShort(Int64, of: Int64)
    case sentBefore

    var description: String {
      switch self {
      case .tooLong(let length): "it has more than the \(length) bytes that were announced"
      case .tooShort(let count, let length): "it ended after \(count) of the \(length) bytes that were announced"
      case .sentBefore: "a stream can be sent only once"
      }
    }
  }

  /// The largest number of bytes in the buffer.
  static let capacity = 256 << 10

  let stream: RequestStream
  private let state = Mutex(State())

  private struct State {
    var buffer: [UInt8] = []
    /// The number of bytes at the buffer's beginning that were read.
    var start = 0
    /// The number of bytes that the producer has given.
    var produced: Int64 = 0
    var end: Result<HTTPFields, any Error>?
    var isStarted = false
    var isStopped = false
    var isWaitedFor = false
    var producer: Task<Void, Never>?
    /// The producer's task, while it waits for room.
    var waiting = WaitList()

    var count: Int { buffer.count - start }

    /// Appends bytes as far as there is room, and returns their number.
    mutating func append(_ bytes: ArraySlice<UInt8>) -> Int {
      if start > 0 {
        buffer.removeFirst(start)
        start = 0
      }
      let added = bytes.prefix(RequestFeed.capacity - buffer.count)
      buffer.append(contentsOf: added)
      return added.count
    }

    mutating func stopWaiting() -> Bool {
      defer { isWaitedFor = false }
      return isWaitedFor
    }
  }

  init(_ stream: RequestStream) { self.stream = stream }

  // MARK: The curl thread's side

  /// Starts the producer; later calls do nothing.
  ///
  /// - Parameter wake: called from any thread when there are bytes after ``ReadResult/nothingYet``.
  func start(wake: @escaping @Sendable () -> Void) {
    state.withLock { state in
      guard !state.isStarted, !state.isStopped else { return }
      state.isStarted = true
      state.producer = Task { await self.produce(wake) }
    }
  }

  func read(into room: UnsafeMutableRawBufferPointer) -> ReadResult {
    let (result, woken) = state.withLock { state -> (ReadResult, [WaitList.Waiter]) in
      if case .failure = state.end { return (.failed, []) }
      var ready = state.count
      if let length = stream.length, state.end == nil, state.produced == length {
        // The last byte waits for the producer's end, so that an error at the end leaves the body incomplete.
        ready -= 1
      }
      let count = min(ready, room.count)
      guard count > 0 else {
        if state.end != nil { return (.end, []) }
        state.isWaitedFor = true
        return (.nothingYet, [])
      }
      state.buffer.withUnsafeBytes { room.copyMemory(from: .init(rebasing: $0[state.start..<state.start + count])) }
      state.start += count
      return (.bytes(count), state.waiting.removeAll())
    }
    woken.resume()
    return result
  }

  /// The producer's error, if it failed.
  var failure: (any Error)? {
    state.withLock { state in
      if case .failure(let error) = state.end { error } else { nil }
    }
  }

  /// The trailers; none before the body's end.
  var trailers: HTTPFields { state.withLock { (try? $0.end?.get()) ?? [:] } }

  /// Drops the buffer and cancels the producer's task, since no more bytes will be sent.
  func stop() {
    let (producer, woken) = state.withLock { state in
      state.isStopped = true
      state.buffer = []
      state.start = 0
      defer { state.producer = nil }
      return (state.producer, state.waiting.removeAll())
    }
    producer?.cancel()
    woken.resume()
  }

  // MARK: The producer's side

  private func produce(_ wake: @escaping @Sendable () -> Void) async {
    let end: Result<HTTPFields, any Error>
    do {
      guard try await stream.forEach({ try await self.give($0, wake) }) else { throw Fault.sentBefore }
      let produced = state.withLock(\.produced)
      if let length = stream.length, produced != length { throw Fault.tooShort(produced, of: length) }
      end = .success(try await stream.trailers?() ?? [:])
    } catch {
      end = .failure(error)
    }
    let isWaitedFor = state.withLock { state in
      guard !state.isStopped else { return false }
      state.end = end
      state.producer = nil
      if case .failure = end { return true }
      return state.stopWaiting()
    }
    if isWaitedFor { wake() }
  }

  /// Adds a chunk; returns when all of it is in the buffer and there is room for more.
  private func give(_ chunk: [UInt8], _ wake: @Sendable () -> Void) async throws {
    try state.withLock { state in
      if let length = stream.length, Int64(chunk.count) > length - state.produced { throw Fault.tooLong(length) }
      state.produced += Int64(chunk.count)
    }
    var rest = chunk[...]
    while true {
      let (added, isFull, isWaitedFor) = try state.withLock { state in
        guard !state.isStopped else { throw CancellationError() }
        let added = state.append(rest)
        return (added, state.count >= Self.capacity, added > 0 && state.stopWaiting())
      }
      if isWaitedFor { wake() }
      rest = rest.dropFirst(added)
      if rest.isEmpty, !isFull { return }
      try await room()
    }
  }

  /// Waits until the buffer has room, or the feed is stopped.
  private func room() async throws {
    await withTaskCancellationHandler {
      await state.wait(in: \.waiting) { $0.isStopped || $0.count < Self.capacity }
    } onCancel: {
      stop()
    }
    try Task.checkCancellation()
  }
}
