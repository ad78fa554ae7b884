import Synchronization

/// Says whether work that nobody waits for may use the network: a switch, a budget, and a pause.
public final class DataSaver: Sendable {
  private struct State {
    var isOn = false
    var isPaused = false
    var budget: Int64?
    var spent: Int64 = 0
  }

  private let state = Mutex(State())

  public init() {}

  /// With it on, nothing is loaded that nobody waits for.
  public var isOn: Bool {
    get { state.withLock(\.isOn) }
    set { state.withLock { $0.isOn = newValue } }
  }

  /// Bytes that such work may cost from now on; nil for any number.
  public var budget: Int64? {
    get { state.withLock { state in state.budget.map { max(0, $0 - state.spent) } } }
    set {
      state.withLock { state in
        state.budget = newValue
        state.spent = 0
      }
    }
  }

  public func pause() { state.withLock { $0.isPaused = true } }
  public func resume() { state.withLock { $0.isPaused = false } }

  /// Whether work that nobody waits for may begin.
  public var allowsIdleWork: Bool {
    state.withLock { state in
      !state.isOn && !state.isPaused && state.budget.map { $0 > state.spent } ?? true
    }
  }

  package func spend(_ bytes: Int64) { state.withLock { $0.spent += bytes } }
}
