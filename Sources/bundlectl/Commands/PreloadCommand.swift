import ArgumentParser
import PageKit
import PageWorkers

struct PreloadCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "preload",
    abstract: "Download a manifest's bundles into the store, checked against the server's MD5s.",
    discussion: """
      Asks the server once for its manifest, downloads new and changed bundles, and switches to the release when it \
      is complete. The run after an interrupted one continues its downloads. Without --manifest it uses manifest.json \
      in this folder, or else the store's source if it has only one; the bundles of a manifest file with a relative base are read from disk.
      """
  )
  .with(
    examples: "bundlectl preload --manifest https://pages.example.com/manifest.json",
    "bundlectl preload --only home --only cart --max-file-size 5MB")

  @OptionGroup var source: SourceOptions
  @OptionGroup var store: StoreOptions

  @Option(name: [.short, .long], help: "The number of concurrent downloads.")
  var jobs = 8

  @Option(
    name: .long, help: ArgumentHelp("Only the bundle or file of this name. Repeatable.", valueName: "name"),
    completion: Completions.bundles)
  var only: [String] = []

  @Flag(name: .long, help: "Use no network: show the stored and the missing bundles.")
  var offline = false

  @Flag(name: .long, help: "Leave out idle bundles and prefetching.")
  var dataSaver = false

  @Option(
    name: .long, help: ArgumentHelp("The limit of idle bundles and prefetching.", valueName: "size"))
  var idleBudget: SizeArgument?

  @Option(name: .long, help: ArgumentHelp("The number of tries for each bundle.", valueName: "n"))
  var tries = 4

  @Option(
    name: .long, help: ArgumentHelp("The time limit of name resolution, connection and TLS.", valueName: "time"))
  var connectTimeout = TimeArgument(seconds: 10)

  @Option(
    name: .long,
    help: ArgumentHelp("The time after which a transfer below 256 bytes per second is given up.", valueName: "time"))
  var stallTimeout = TimeArgument(seconds: 15)

  @Option(name: .long, help: ArgumentHelp("The time limit of one transfer.", valueName: "time"))
  var maxTime: TimeArgument?

  @Option(name: .long, help: ArgumentHelp("The limit of a bundle or a file.", valueName: "size"))
  var maxFileSize = SizeArgument(bytes: ManifestLimits.standard.fileBytes)

  @Option(name: .long, help: ArgumentHelp("The limit of a release.", valueName: "size"))
  var maxReleaseSize = SizeArgument(bytes: ManifestLimits.standard.releaseBytes)

  mutating func validate() throws {
    guard (1...256).contains(jobs) else { throw ValidationError("--jobs must be from 1 to 256.") }
    guard (1...100).contains(tries) else { throw ValidationError("--tries must be from 1 to 100.") }
    for time in [connectTimeout, stallTimeout, maxTime].compactMap(\.self) where !time.isWithin(0.1...86_400) {
      throw ValidationError("A time limit must be from 0.1 to 86400 seconds.")
    }
    guard maxFileSize.bytes > 0, maxReleaseSize.bytes > 0 else {
      throw ValidationError("A size limit must be positive.")
    }
  }

  func run() async throws {
    let manifest = try await source.manifestToPreload(into: store)
    let interruption = await Interruption()
    let report: PreloadReport
    let wasInterrupted: Bool
    do {
      try store.check()
      (report, wasInterrupted) = try await PageHost.using(configuration(manifest)) { host in
        let preload = host.preload()
        return await interruption.watching(cancel: { preload.cancel() }) {
          await show(preload.updates)
          return await preload.report()
        }
      }
    } catch {
      guard store.json else { throw error }
      var report = PreloadReport()
      report.failures = [.init(name: "store", error: error.message)]
      try JSONOutput.print(report)
      throw ExitCode.failure
    }
    if store.json {
      try JSONOutput.print(report)
    } else {
      summarise(report, manifest: manifest)
    }
    if wasInterrupted { throw Interruption.exitCode }
    if !report.failures.isEmpty { throw ExitCode.failure }
  }

  private func configuration(_ manifest: PageURL) throws -> HostConfiguration {
    var configuration = try source.configuration(store, manifest: manifest)
    configuration.releases.preload = .init(
      jobs: jobs, only: only.isEmpty ? nil : Set(only), isOffline: offline, releaseLimit: maxReleaseSize.bytes)
    // "release import" can then check a release that "release export" has written.
    configuration.releases.keepsSignatures = true
    // A preload is useless if the store is read-only.
    configuration.storage.allowsReadOnly = false
    configuration.network.saver.isOn = dataSaver
    configuration.network.saver.budget = idleBudget?.bytes
    configuration.network.retry.attempts = tries
    configuration.network.transfer.connect = connectTimeout.duration
    configuration.network.transfer.lowSpeedTime = stallTimeout.duration
    configuration.network.transfer.total = maxTime?.duration
    configuration.releases.manifestLimits.fileBytes = maxFileSize.bytes
    configuration.releases.manifestLimits.releaseBytes = maxReleaseSize.bytes
    return configuration
  }

  private func show(_ updates: AsyncStream<PreloadUpdate>) async {
    let terminal = store.json ? Terminal.error : Terminal.output
    if terminal.isTerminal {
      var display = ProgressDisplay(terminal)
      await display.show(updates)
    } else if !store.json {
      for await update in updates { show(update, terminal) }
    }
  }

  /// Shows an update without a terminal: a line for each result.
  private func show(_ update: PreloadUpdate, _ terminal: Terminal) {
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

  private func summarise(_ report: PreloadReport, manifest: PageURL) {
    let terminal = Terminal.output
    let ends = "in \(Formatting.seconds(report.elapsed.seconds)), \(Formatting.count(report.requests, "request"))"
    if let bad = report.bad {
      terminal.line("\(bad); nothing of it is fetched until the server has another release")
    } else if let release = report.release {
      let deltas = report.deltas > 0 ? " (\(report.deltas) as \(report.deltas == 1 ? "a delta" : "deltas"))" : ""
      let parts = [
        (report.upToDate + report.filesUpToDate, "up to date"),
        (report.downloaded + report.filesDownloaded, "downloaded\(deltas)"),
        (report.copied + report.filesCopied, "copied"), (report.onDemand, "on demand"),
        (report.leftOut.count, "left out"), (report.failures.count, "failed"), (report.notFetched, "not fetched"),
      ]
      let counts = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
      let bytes = report.bytesDownloaded > 0 ? ", \(Formatting.bytes(report.bytesDownloaded))" : ""
      terminal.line(
        "release \(release): \(Formatting.count(report.bundles, "bundle")), \(Formatting.count(report.files, "file")); \(counts.isEmpty ? "nothing to do" : counts)\(bytes) \(ends)"
      )
      if report.prefetched > 0 || !report.prefetchFailures.isEmpty {
        let failed = report.prefetchFailures.isEmpty ? "" : ", \(report.prefetchFailures.count) failed"
        terminal.line("prefetched \(Formatting.count(report.prefetched, "response")) for offline use\(failed)")
      }
      if report.prefetchSkipped > 0 {
        terminal.line(
          "left out for the data saver: \(Formatting.count(report.prefetchSkipped, "response")) to prefetch")
      }
      for failure in report.prefetchFailures {
        Terminal.report("prefetch: \(Terminal.error.styled(failure, .yellow))")
      }
      for file in report.leftOut {
        Terminal.report("left out: \(Terminal.error.styled(file.message, .yellow))")
      }
      if let held = report.held {
        terminal.line("release \(held) is held and stays current; \"bundlectl release follow\" switches to \(release)")
      }
      if let current = report.withheld {
        terminal.line("release \(current) stays current: the publisher holds \(release) back")
      }
      if !report.disabled.isEmpty {
        terminal.line("disabled by the publisher: \(report.disabled.joined(separator: ", "))")
      }
      if report.activated { terminal.line("\(terminal.styled("✓", .green)) release \(release) is current now") }
    }
    if report.isInterrupted {
      Terminal.report("interrupted; complete downloads stay, and the next run continues the others")
    }
    for failure in report.failures {
      Terminal.report(failure.message, .red)
    }
  }
}

/// Shows a preload on a terminal: results scroll, and transfers under way are redrawn below.
struct ProgressDisplay {
  private let terminal: Terminal
  private let drawn: DrawnLines
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
      let finished = record(update)
      for line in finished { drawn.print(line) }
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
  private mutating func record(_ update: PreloadUpdate) -> [String] {
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

  private func draw(_ totals: PreloadUpdate.Totals) {
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
