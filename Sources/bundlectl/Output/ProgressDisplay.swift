import Foundation
import PageKit

/// Shows a preload on a terminal: what is done scrolls by, what is under way is drawn over and over below it.
struct ProgressDisplay {
  private let terminal: Terminal
  private var drawnLines = 0
  private var active: [String: PreloadUpdate.Bundle] = [:]
  private var order: [String] = []

  /// With more to fetch than this, only failures scroll by.
  private static let scrolledLimit = 50
  private static let interval: Duration = .milliseconds(80)
  private static let activeLimit = 8

  init(_ terminal: Terminal) {
    self.terminal = terminal
  }

  /// Draws until the preload has ended.
  mutating func show(_ updates: PreloadUpdates) async {
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
    erase()
  }

  /// Notes what is under way; returns the lines for what has ended.
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
          lines.append(
            "\(terminal.styled("✓", .green)) \(bundle.name)  \(terminal.styled(bundle.size.map(Formatting.bytes) ?? "", .dim))"
          )
        }
      case .failed:
        // The summary tells why.
        remove(bundle.name)
        lines.append("\(terminal.styled("✗", .red)) \(bundle.name)")
      }
    }
    return lines
  }

  private mutating func remove(_ name: String) {
    if active.removeValue(forKey: name) != nil { order.removeAll { $0 == name } }
  }

  private mutating func scroll(_ line: String) {
    erase()
    terminal.line(line)
  }

  private mutating func draw(_ totals: PreloadUpdate.Totals) {
    erase()
    // One column less: some terminals wrap when the last is written.
    let width = max(10, terminal.width - 1)
    var lines = order.prefix(Self.activeLimit).compactMap { active[$0] }.map { line(for: $0, width: width) }
    lines.append(line(for: totals, width: width))
    let clipped = lines.map { Formatting.clipped($0, width) }
    terminal.write(clipped.joined(separator: "\n") + "\n")
    drawnLines = lines.count
  }

  private mutating func erase() {
    guard drawnLines > 0 else { return }
    // Up to the first drawn line, and clear from there to the end of the screen.
    terminal.write("\u{1B}[\(drawnLines)A\r\u{1B}[J")
    drawnLines = 0
  }

  private func line(for bundle: PreloadUpdate.Bundle, width: Int) -> String {
    let bytes: Int64 = if case .fetching(let bytes) = bundle.state { bytes } else { 0 }
    let nameWidth = min(32, max(8, width / 3))
    let name = "  " + Formatting.fitted(bundle.name, nameWidth)
    guard let size = bundle.size, size > 0 else { return "\(name) \(Formatting.bytes(bytes))" }
    let figures = Formatting.progress(bytes: bytes, total: size, rate: 0)
    let room = width - nameWidth - 2 - 1 - 1 - 20 - 1
    let bar = room >= 8 ? Formatting.bar(Double(bytes) / Double(size), width: min(room, 24)) + " " : ""
    return "\(name) \(bar)\(figures)"
  }

  private func line(for totals: PreloadUpdate.Totals, width: Int) -> String {
    switch totals.phase {
    case .askingServer: return "asking the server for its MD5s …"
    case .prefetching: return "fetching what the bundles will ask for …"
    case .activating: return "switching to release \(totals.release ?? "") …"
    case .fetching, .waiting, .finished:
      let done = totals.fetched + totals.failed
      let fraction =
        totals.bytesToFetch > 0
        ? Double(totals.bytesHere) / Double(totals.bytesToFetch) : Double(done) / Double(max(1, totals.toFetch))
      let total = totals.bytesToFetch > 0 ? totals.bytesToFetch : nil
      let figures =
        "\(done)/\(totals.toFetch)  " + Formatting.progress(bytes: totals.bytesHere, total: total, rate: totals.rate)
      let room = max(6, min(40, width - Formatting.columns(figures) - 4))
      return "\(Formatting.bar(fraction, width: room))  \(figures)"
    }
  }
}
