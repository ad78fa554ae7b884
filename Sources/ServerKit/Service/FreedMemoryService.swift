import CLinux
import Dispatch
import HTTPTransport
import ServiceLifecycle

/// Returns freed memory to the system: the allocator keeps the memory of a peak, in one arena for each thread.
struct FreedMemoryService: Service {
  /// The freed bytes that are kept for later use.
  private static let kept = 16 << 20
  private static let pause = Duration.seconds(5)

  private let queue = DispatchQueue(label: "renderhost.memory")

  func run() async throws {
    try? await cancelWhenGracefulShutdown {
      while true {
        try await Task.sleep(for: Self.pause)
        try await queue.result {
          if mallinfo2().fordblks > Self.kept { malloc_trim(0) }
        }
      }
    }
  }
}
