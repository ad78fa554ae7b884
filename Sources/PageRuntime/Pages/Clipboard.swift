import Synchronization

/// The text that a page of the host copied last.
final class Clipboard: Sendable {
  private let state = Mutex("")

  var text: String {
    get { state.withLock(\.self) }
    set { state.withLock { $0 = newValue } }
  }
}
