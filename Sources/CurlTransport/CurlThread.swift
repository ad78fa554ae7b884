import Foundation
import HTTPTransport
import Synchronization

/// The thread on which libcurl runs. Its end can be awaited, after which OpenSSL has freed its data of the thread.
final class CurlThread: Sendable {
  private final class Body {
    let run: @Sendable () -> Void
    let ended: AsyncStream<Void>.Continuation

    init(_ run: @escaping @Sendable () -> Void, _ ended: AsyncStream<Void>.Continuation) {
      self.run = run
      self.ended = ended
    }
  }

  private let handle: Mutex<pthread_t?>
  private let joining: Mutex<Task<Void, Never>?> = Mutex(nil)
  private let ended: AsyncStream<Void>

  /// - Throws: ``TransportError`` if the system cannot make another thread.
  init(_ run: @escaping @Sendable () -> Void) throws {
    let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
    self.ended = ended
    var thread = pthread_t()
    let body = Unmanaged.passRetained(Body(run, continuation))
    let code = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
        Thread.current.name = "pagekit.curl"
        body.run()
        body.ended.finish()
        return nil
      }, body.toOpaque())
    guard code == 0 else {
      body.release()
      throw TransportError.failed(url: "libcurl", code: Int(code), reason: String(cString: strerror(code)))
    }
    handle = Mutex(thread)
  }

  /// A detached thread frees its resources by itself.
  deinit {
    if let thread = handle.withLock({ $0.take() }) { pthread_detach(thread) }
  }

  /// Returns when the thread has ended.
  func end() async {
    let task = joining.withLock { joining in
      if let joining { return joining }
      let task = Task {
        for await _ in ended {}
        // The thread is about to end, so that joining it does not block.
        if let thread = handle.withLock({ $0.take() }) { pthread_join(thread, nil) }
      }
      joining = task
      return task
    }
    await task.value
  }
}
