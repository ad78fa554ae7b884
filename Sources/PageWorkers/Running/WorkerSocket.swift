import Foundation
import NIOCore
import PageKit
import Synchronization

/// The worker's end of its socket: one thread reads. A message is written by its sender if nothing waits and the socket
/// takes it; what is left, and what comes meanwhile, is written by a thread. Senders wait while the daemon does not keep up.
final class WorkerSocket: Sendable {
  /// The limit of buffered bytes, above which events wait.
  private static let highWater = 4 << 20

  private let descriptor: Int32
  private let state = Mutex<(frames: [ByteBuffer], bytes: Int, waiters: [CheckedContinuation<Void, Never>])>(
    ([], 0, []))
  private let wake = DispatchSemaphore(value: 0)

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    let thread = Thread { [self] in write() }
    thread.name = "worker.socket"
    thread.start()
  }

  /// The next message; `nil` at the end, or after an invalid message.
  func read() -> (HostMessage, [UInt8])? {
    guard let lengths = bytes(Frame.lengthBytes), let (head, payload) = Frame.lengths(lengths),
      let message = bytes(head), let payload = bytes(payload)
    else { return nil }
    return (try? Frame.decode(HostMessage.self, from: message)).map { ($0, payload) }
  }

  private func bytes(_ count: Int) -> [UInt8]? {
    let buffer = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let read = Foundation.read(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled)
        if read < 0, errno == EINTR { continue }
        guard read > 0 else { return }
        filled += read
      }
    }
    return buffer.count == count ? buffer : nil
  }

  /// Writes a message, or appends it to the buffer. In place of one that cannot be encoded, such as one above the limit of a
  /// frame, the reason is sent.
  func post(_ message: WorkerMessage, _ payload: [UInt8] = []) {
    do {
      post(try Frame.encode(message, payload))
    } catch {
      if let reason = try? Frame.encode(message.failure(error.sentence)) { post(reason) }
    }
  }

  /// Writes a frame, or appends it to the buffer.
  func post(_ frame: ByteBuffer) {
    var frame = frame
    let waits = state.withLock { state in
      // What is being written counts too, so that messages stay in order.
      if state.bytes == 0 { frame.moveReaderIndex(forwardBy: writeAtOnce(frame)) }
      guard frame.readableBytes > 0 else { return false }
      state.frames.append(frame)
      state.bytes += frame.readableBytes
      return true
    }
    if waits { wake.signal() }
  }

  /// Writes what the socket takes without waiting: waking the thread that writes costs more than a message.
  ///
  /// - Returns: the number of bytes that were written.
  private func writeAtOnce(_ frame: ByteBuffer) -> Int {
    frame.withUnsafeReadableBytes {
      // An error is the thread's: it tries again.
      max(0, Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)))
    }
  }

  /// `false` if the buffer is full.
  var hasRoom: Bool { state.withLock { $0.bytes <= Self.highWater } }

  /// Appends a message, and waits while the buffer is full.
  func send(_ message: WorkerMessage, _ payload: [UInt8] = []) async {
    post(message, payload)
    await waitForRoom()
  }

  /// Appends a message that was encoded before, and waits while the buffer is full.
  ///
  /// - Parameters:
  ///   - head: that of ``Frame/head(of:)``.
  ///   - payload: at most ``Frame/pieceLimit``.
  func send(head: [UInt8], _ payload: [UInt8]) async {
    if let frame = try? Frame.encode(head: head, payload) { post(frame) }
    await waitForRoom()
  }

  /// Waits while the buffer is full.
  func waitForRoom() async {
    guard !hasRoom else { return }
    await withCheckedContinuation { continuation in
      let mayGoOn = state.withLock { state in
        if state.bytes > Self.highWater { state.waiters.append(continuation) }
        return state.bytes <= Self.highWater
      }
      if mayGoOn { continuation.resume() }
    }
  }

  private func write() {
    while true {
      wake.wait()
      let frames = state.withLock { state in
        defer { state.frames = [] }
        return state.frames
      }
      for frame in frames {
        frame.withUnsafeReadableBytes { write($0) }
        let waiters = state.withLock { state in
          state.bytes -= frame.readableBytes
          guard state.bytes <= Self.highWater else { return [] as [CheckedContinuation<Void, Never>] }
          defer { state.waiters = [] }
          return state.waiters
        }
        for waiter in waiters { waiter.resume() }
      }
    }
  }

  private func write(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let written = Foundation.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
      if written < 0, errno == EINTR { continue }
      // The daemon has ended.
      guard written > 0 else { _exit(0) }
      rest = rest.dropFirst(written)
    }
  }
}

extension Slice<UnsafeRawBufferPointer> {
  fileprivate var baseAddress: UnsafeRawPointer? { UnsafeRawBufferPointer(rebasing: self).baseAddress }
}
