import ArgumentParser
import PageKit

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
      report.failures = [.init(name: "store", error: error.sentence)]
      try JSONOutput.print(json(report))
      throw ExitCode.failure
    }
    if store.json {
      try JSONOutput.print(json(report))
    } else {
      summarise(report, manifest: manifest)
    }
    if wasInterrupted { throw Interruption.exitCode }
    if !report.failures.isEmpty { throw ExitCode.failure }
  }

  private func configuration(_ manifest: PageURL) throws -> HostConfiguration {
    var configuration = try source.configuration(store, manifest: manifest)
    configuration.preload = .init(
      jobs: jobs, only: only.isEmpty ? nil : Set(only), isOffline: offline, releaseLimit: maxReleaseSize.bytes)
    // What "release export" writes can be checked by those who import it.
    configuration.keepsSignatures = true
    // A preload is useless if the store is read-only.
    configuration.allowsReadOnlyStore = false
    configuration.saver.isOn = dataSaver
    configuration.saver.budget = idleBudget?.bytes
    configuration.retry.attempts = tries
    configuration.transfer.connect = connectTimeout.duration
    configuration.transfer.lowSpeedTime = stallTimeout.duration
    configuration.transfer.total = maxTime?.duration
    configuration.manifestLimits.fileBytes = maxFileSize.bytes
    configuration.manifestLimits.releaseBytes = maxReleaseSize.bytes
    return configuration
  }

  private func show(_ updates: AsyncStream<PreloadUpdate>) async {
    let terminal = store.json ? Terminal.error : Terminal.output
    if terminal.isTerminal {
      var display = ProgressDisplay(terminal)
      await display.show(updates)
    } else if !store.json {
      await PlainProgress.show(updates, on: terminal)
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
        Terminal.error.line("bundlectl: prefetch: \(Terminal.error.styled(failure, .yellow))")
      }
      for file in report.leftOut {
        Terminal.error.line("bundlectl: left out: \(Terminal.error.styled(file.error, .yellow))")
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
      Terminal.error.line("bundlectl: interrupted; complete downloads stay, and the next run continues the others")
    }
    for failure in report.failures {
      Terminal.error.line("bundlectl: \(Terminal.error.styled(failure.error, .red))")
    }
  }

  private func json(_ report: PreloadReport) -> JSONObject {
    [
      "release": report.release, "sequence": report.sequence, "bundles": report.bundles, "upToDate": report.upToDate,
      "downloaded": report.downloaded, "resumed": report.resumed, "deltas": report.deltas, "copied": report.copied,
      "onDemand": report.onDemand, "files": report.files, "filesUpToDate": report.filesUpToDate,
      "filesDownloaded": report.filesDownloaded, "filesCopied": report.filesCopied, "prefetched": report.prefetched,
      "prefetchSkipped": report.prefetchSkipped, "prefetchFailures": report.prefetchFailures,
      "failed": report.failures.count, "notFetched": report.notFetched, "interrupted": report.isInterrupted,
      "bytesDownloaded": report.bytesDownloaded, "requests": report.requests, "activated": report.activated,
      "held": report.held, "withheld": report.withheld, "bad": report.bad, "disabled": report.disabled,
      "seconds": (report.elapsed.seconds * 1000).rounded() / 1000, "failures": report.failures,
      "leftOut": report.leftOut,
    ]
  }
}
