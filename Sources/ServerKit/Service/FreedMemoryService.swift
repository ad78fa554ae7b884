import CLinux
import Dispatch
import HTTPTransport
import ServiceLifecycle

/// Gives memory that was freed back to the system: the allocator keeps what many clients needed at once, in one arena
/// for each thread.
struct FreedMemoryService: Service {
  /// Freed bytes that are kept for what comes next.
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
