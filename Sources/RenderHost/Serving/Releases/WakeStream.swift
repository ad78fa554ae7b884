/// Yields an element after each change, and at intervals without one.
struct WakeStream: Sendable {
  enum Wake: Sendable {
    case change
    case heartbeat
  }

  let stream: AsyncStream<Wake>
  private let tasks: [Task<Void, Never>]

  init(_ changes: AsyncStream<Void>, every period: Duration) {
    let (stream, continuation) = AsyncStream.makeStream(of: Wake.self, bufferingPolicy: .bufferingNewest(2))
    self.stream = stream
    tasks = [
      Task {
        for await _ in changes { continuation.yield(.change) }
        continuation.finish()
      },
      Task { while (try? await Task.sleep(for: period)) != nil { continuation.yield(.heartbeat) } },
    ]
  }

  func stop() { for task in tasks { task.cancel() } }
}
