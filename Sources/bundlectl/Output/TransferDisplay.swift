import Foundation

/// Shows one download on a terminal, in a line that is drawn over and over.
struct TransferDisplay {
  private let terminal: Terminal
  private let name: String
  private let total: Int64?
  private let began = ContinuousClock.now
  private var drawn: ContinuousClock.Instant?

  private static let interval: Duration = .milliseconds(80)

  /// - Parameter total: bytes; nil where they are not known.
  init(_ terminal: Terminal, name: String, total: Int64?) {
    self.terminal = terminal
    self.name = name
    self.total = total
  }

  mutating func show(_ bytes: Int64) {
    let now = ContinuousClock.now
    guard terminal.isTerminal, drawn.map({ now - $0 >= Self.interval }) ?? true else { return }
    drawn = now
    let seconds = (now - began) / .seconds(1)
    let rate = seconds > 0 ? Double(bytes) / seconds : 0
    // One column less: some terminals wrap when the last is written.
    terminal.write(
      "\r\u{1B}[K" + Self.line(name: name, bytes: bytes, total: total, rate: rate, width: max(10, terminal.width - 1)))
  }

  mutating func end() {
    if drawn != nil { terminal.write("\r\u{1B}[K") }
    drawn = nil
  }

  /// - Parameter rate: bytes a second.
  static func line(name: String, bytes: Int64, total: Int64?, rate: Double, width: Int) -> String {
    let figures = Formatting.progress(bytes: bytes, total: total, rate: rate)
    let nameWidth = min(Formatting.columns(name), max(8, width / 4))
    let room = min(30, width - nameWidth - Formatting.columns(figures) - 2)
    let bar =
      total.map { $0 > 0 && room >= 8 ? Formatting.bar(Double(bytes) / Double($0), width: room) + " " : "" } ?? ""
    return Formatting.clipped("\(Formatting.fitted(name, nameWidth)) \(bar)\(figures)", width)
  }
}
