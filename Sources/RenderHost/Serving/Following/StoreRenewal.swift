import Bundles
import PageKit
import ServiceLifecycle

/// Restores the release after the store was removed or damaged.
struct StoreRenewal: Service {
  let store: BundleStore
  let signal: FollowSignal

  func run() async throws {
    for await _ in store.renewals.cancelOnGracefulShutdown() { signal.send() }
  }
}
