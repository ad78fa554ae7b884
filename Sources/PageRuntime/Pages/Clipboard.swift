import Synchronization

/// What the pages of one host copied last.
public final class Clipboard: Sendable {
  private let state = Mutex("")

  public init() {}

  public var text: String {
    get { state.withLock(\.self) }
    set { state.withLock { $0 = newValue } }
  }
}
