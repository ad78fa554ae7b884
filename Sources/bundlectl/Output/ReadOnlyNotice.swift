import PageKit
import Synchronization

/// Says once that nothing is kept of what a command fetches.
enum ReadOnlyNotice {
  private static let wasSaid = Atomic<Bool>(false)

  static func say(_ store: StoreDirectory, _ reason: String) {
    guard !wasSaid.exchange(true, ordering: .relaxed) else { return }
    Terminal.error.line("bundlectl: the store \(store.path) is used as it is, and nothing is kept in it: \(reason)")
  }
}
