import Bundles
import Logging
import PageKit
import ServiceLifecycle

/// Follows another server's manifest: checks it at the start, then at intervals, and at every report of a change.
package struct UpstreamFollower: Service {
  let publisher: ReleasePublisher
  let period: Duration
  let signal: FollowSignal

  package func run() async throws {
    await publisher.publishStored()
    _ = await publisher.bring()
    publisher.feed.markAsked()
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [period, signal] in
        while (try? await Task.sleep(for: period)) != nil { signal.send() }
      }
      for await _ in signal.stream.cancelOnGracefulShutdown() { _ = await publisher.bring() }
      group.cancelAll()
    }
  }
}

/// Reports that the source may have changed; several reports before the next check are one. Only one reader is
/// supported.
package struct FollowSignal: Sendable {
  let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() {
    (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  }

  package func send() { continuation.yield() }
}

/// Restores the release after the store was removed or damaged.
struct StoreRenewal: Service {
  let store: BundleStore
  let signal: FollowSignal

  func run() async throws {
    for await _ in store.renewals.cancelOnGracefulShutdown() { signal.send() }
  }
}
