import PageKit
import Synchronization

/// Reports that a page is being waited for: on a terminal in a line that disappears when it opens, else once.
final class WaitNotice: Sendable {
  private struct State {
    var lines: DrawnLines
    var hasEnded = false
  }

  private let state: Mutex<State>
  private let task: Mutex<Task<Void, Never>?>

  /// The delay before the notice; longer for a line that stays.
  private static func patience(_ terminal: Terminal) -> Duration { .seconds(terminal.isTerminal ? 1 : 5) }

  /// - Parameter subject: the page that is waited for.
  init(_ terminal: Terminal, _ subject: String) {
    state = Mutex(State(lines: DrawnLines(terminal)))
    task = Mutex(nil)
    let began = ContinuousClock.now
    let ticking = Task { [weak self] in
      var next = Self.patience(terminal)
      while true {
        try? await Task.sleep(until: began + next)
        guard !Task.isCancelled, let self else { return }
        let text = "waiting for \(subject): \(next.inSeconds) …"
        guard terminal.isTerminal else { return say("bundlectl: " + text, on: terminal) }
        draw(text)
        next += .seconds(1)
      }
    }
    task.withLock { $0 = ticking }
  }

  deinit { end() }

  private func draw(_ text: String) {
    state.withLock { state in
      if !state.hasEnded { state.lines.draw([text]) }
    }
  }

  private func say(_ text: String, on terminal: Terminal) {
    state.withLock { state in
      if !state.hasEnded { terminal.line(text) }
    }
  }

  /// Nothing is drawn after this call.
  func end() {
    task.withLock { $0?.cancel() }
    state.withLock { state in
      guard !state.hasEnded else { return }
      state.hasEnded = true
      state.lines.erase()
    }
  }
}
