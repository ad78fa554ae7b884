import Bundles
import PageKit
import ServiceLifecycle

/// Has the release brought in again when the store was found removed or damaged while the host runs.
struct StoreRenewal: Service {
  let store: BundleStore
  let signal: FollowSignal

  func run() async throws {
    for await _ in store.renewals.cancelOnGracefulShutdown() { signal.send() }
  }
}
