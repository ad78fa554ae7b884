import Synchronization

/// Limits background loading, such as preloading idle bundles and prefetching, with a switch, a budget and a pause.
///
///     configuration.network.saver.isOn = true  // on a metered network
///     configuration.network.saver.budget = 10 << 20  // or so many bytes in the background
public final class DataSaver: Sendable {
  private typealias State = (isOn: Bool, isPaused: Bool, budget: Int64?, spent: Int64)

  private let state = Mutex<State>((false, false, nil, 0))

  /// Makes a data saver that allows everything.
  public init() {}

  /// `true` to forbid background loading.
  public var isOn: Bool {
    get { state.withLock(\.isOn) }
    set { state.withLock { $0.isOn = newValue } }
  }

  /// The remaining bytes for background loading; `nil` for no limit. Setting it starts a new budget.
  public var budget: Int64? {
    get { state.withLock { state in state.budget.map { max(0, $0 - state.spent) } } }
    set {
      state.withLock { state in
        state.budget = newValue
        state.spent = 0
      }
    }
  }

  /// Forbids background loading until ``resume()``.
  public func pause() { state.withLock { $0.isPaused = true } }
  /// Ends the effect of ``pause()``.
  public func resume() { state.withLock { $0.isPaused = false } }

  /// `true` if background loading may begin now.
  package var allowsIdleWork: Bool {
    state.withLock { state in
      !state.isOn && !state.isPaused && state.budget.map { $0 > state.spent } ?? true
    }
  }

  package func spend(_ bytes: Int64) { state.withLock { $0.spent += bytes } }
}
