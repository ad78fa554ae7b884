import PageKit
import Synchronization

/// Says once that nothing is kept of what a command fetches.
enum ReadOnlyNotice {
  private static let wasSaid = Atomic<Bool>(false)

  /// - Parameters:
  ///   - reason: why it may not be written.
  ///   - unreadable: why its responses are not used.
  static func say(_ store: StoreDirectory, _ reason: String, unreadable: StoreError? = nil) {
    guard !wasSaid.exchange(true, ordering: .relaxed) else { return }
    Terminal.error.line("bundlectl: the store \(store.path) is used as it is, and nothing is kept in it: \(reason)")
    if let unreadable { Terminal.error.line("bundlectl: its responses are not used: \(unreadable)") }
  }
}
