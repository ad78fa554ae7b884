import PageKit

/// Shows a preload without a terminal: a line for each result.
enum PlainProgress {
  static func show(_ updates: AsyncStream<PreloadUpdate>, on terminal: Terminal) async {
    for await update in updates {
      for bundle in update.changed {
        switch bundle.state {
        case .waiting: break
        case .fetching:
          guard let retry = bundle.retry else { break }
          terminal.line(
            "try \(retry.number) of \(retry.limit) of \(bundle.name) in \(retry.delay.inSeconds): \(retry.reason)")
        case .done: terminal.line("stored \(bundle.name)\(bundle.size.map { " (\(Formatting.bytes($0)))" } ?? "")")
        case .failed: terminal.line("failed \(bundle.name)")
        }
      }
    }
  }
}
