import PageKit
import Synchronization

/// Warns once that a command's responses are not stored.
enum ReadOnlyNotice {
  private static let wasSaid = Atomic<Bool>(false)

  /// - Parameters:
  ///   - reason: the reason why the cache is read-only.
  ///   - unreadable: the reason why its responses are not used.
  static func say(_ store: StoreDirectory, _ reason: String, unreadable: StoreError? = nil) {
    guard !wasSaid.exchange(true, ordering: .relaxed) else { return }
    Terminal.error.line("bundlectl: the store \(store.path) is read-only, and nothing is stored in it: \(reason)")
    if let unreadable { Terminal.error.line("bundlectl: its responses are not used: \(unreadable)") }
  }
}
