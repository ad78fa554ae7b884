import Foundation
import PageKit

/// Shows a preload on a terminal: results scroll, and transfers under way are redrawn below.
struct ProgressDisplay {
  private let terminal: Terminal
  private var drawn: DrawnLines
  private var active: [String: PreloadUpdate.Bundle] = [:]
  private var order: [String] = []

  /// With more bundles than this, only failures scroll.
  private static let scrolledLimit = 50
  private static let interval: Duration = .milliseconds(80)
  private static let activeLimit = 8

  init(_ terminal: Terminal) {
    self.terminal = terminal
    drawn = DrawnLines(terminal)
  }

  /// Draws until the preload has ended.
  mutating func show(_ updates: AsyncStream<PreloadUpdate>) async {
    var last: ContinuousClock.Instant?
    for await update in updates {
      let finished = take(update)
      for line in finished { scroll(line) }
      if update.report != nil { break }
      if last == nil || !finished.isEmpty || ContinuousClock.now - (last ?? .now) >= Self.interval {
        draw(update.totals)
        last = .now
      }
      try? await Task.sleep(for: Self.interval)
    }
    drawn.erase()
  }

  /// Records transfers under way, and returns the lines of results.
  private mutating func take(_ update: PreloadUpdate) -> [String] {
    var lines: [String] = []
    for bundle in update.changed {
      switch bundle.state {
      case .waiting:
        break
      case .fetching:
        if active.updateValue(bundle, forKey: bundle.name) == nil { order.append(bundle.name) }
      case .done:
        remove(bundle.name)
        if update.totals.toFetch <= Self.scrolledLimit {
          let size = bundle.size.map { "  \(terminal.styled(Formatting.bytes($0), .dim))" } ?? ""
          lines.append("\(terminal.styled("✓", .green)) \(fitted(bundle.name))\(size)")
        }
      case .failed:
        // The summary has the reason.
        remove(bundle.name)
        lines.append("\(terminal.styled("✗", .red)) \(fitted(bundle.name))")
      }
    }
    return lines
  }

  private mutating func remove(_ name: String) {
    if active.removeValue(forKey: name) != nil { order.removeAll { $0 == name } }
  }

  /// The name, cut so that a line with a mark and a size fits the terminal.
  private func fitted(_ name: String) -> String {
    let room = max(8, drawn.width - 12)
    return Formatting.columns(name) > room ? Formatting.fitted(name, room) : name
  }

  private mutating func scroll(_ line: String) {
    drawn.erase()
    terminal.line(line)
  }

  private mutating func draw(_ totals: PreloadUpdate.Totals) {
    let width = drawn.width
    let shown = order.prefix(Self.activeLimit).compactMap { active[$0] }
    drawn.draw(
      shown.map { Self.line(for: $0, width: width) }
        + [Self.line(for: totals, isPausing: active.values.allSatisfy { $0.retry != nil }, width: width)])
  }

  static func line(for bundle: PreloadUpdate.Bundle, width: Int) -> String {
    let bytes: Int64 = if case .fetching(let bytes) = bundle.state { bytes } else { 0 }
    let nameWidth = min(32, max(8, width / 3))
    let name = "  " + Formatting.fitted(bundle.name, nameWidth)
    if let retry = bundle.retry {
      return "\(name) try \(retry.number) of \(retry.limit) in \(retry.delay.inSeconds): \(retry.reason)"
    }
    guard let size = bundle.size, size > 0 else { return "\(name) \(Formatting.bytes(bytes))" }
    let figures = Formatting.progress(bytes: bytes, total: size, rate: 0)
    let room = width - nameWidth - 2 - 1 - 1 - 20 - 1
    let bar = room >= 8 ? Formatting.bar(Double(bytes) / Double(size), width: min(room, 24)) + " " : ""
    return "\(name) \(bar)\(figures)"
  }

  /// - Parameter isPausing: `true` if all bundles wait for their next try.
  static func line(for totals: PreloadUpdate.Totals, isPausing: Bool, width: Int) -> String {
    switch totals.phase {
    case .askingServer: return "asking the server for its MD5s …"
    case .prefetching: return "prefetching resources of the bundles …"
    case .activating: return "switching to release \(totals.release ?? "") …"
    case .fetching, .waiting, .finished:
      let failed = totals.failed > 0 ? ", \(totals.failed) failed" : ""
      let count = "\(totals.fetched)/\(totals.toFetch)\(failed)  "
      let done = totals.fetched + totals.failed
      let fraction =
        totals.bytesToFetch > 0
        ? Double(totals.bytesHere) / Double(totals.bytesToFetch) : Double(done) / Double(max(1, totals.toFetch))
      let figures =
        count
        + Formatting.progress(
          bytes: totals.bytesHere, total: totals.bytesToFetch > 0 ? totals.bytesToFetch : nil,
          rate: isPausing ? 0 : totals.rate, width: width - Formatting.columns(count))
      let room = min(40, width - Formatting.columns(figures) - 2)
      return room >= 6 ? "\(Formatting.bar(fraction, width: room))  \(figures)" : figures
    }
  }
}
