import ArgumentParser
import PageKit

struct GCCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gc",
    abstract: "Remove what no current release needs.",
    discussion: """
      Removes former releases, bytes that nothing names, downloads that nobody is at, and what was quarantined. \
      Releases that are current or coming in stay.
      """)

  @Flag(name: .long, help: "Only say what would be removed.")
  var dryRun = false

  @OptionGroup var store: StoreOptions

  func run() async throws {
    try await JSONOutput.reporting(store.json) {
      try store.check()
      var report = GarbageReport()
      if store.directory.hasStore {
        let opened = try BundleStore(at: store.directory, logger: store.logger)
        report = try await opened.collectGarbage(keepingPrevious: false, dryRun: dryRun)
      }
      if store.json { return try JSONOutput.print(Output(report, dryRun: dryRun)) }
      let parts = [
        Formatting.count(report.releases, "release"), Formatting.count(report.blobs, "blob"),
        Formatting.count(report.partials, "partial download"),
        Formatting.count(report.quarantined, "quarantined file"),
      ]
      Terminal.output.line(
        "\(dryRun ? "would remove" : "removed") \(parts.joined(separator: ", ")): \(Formatting.bytes(report.bytes))")
    }
  }

  private struct Output: Encodable {
    let dryRun: Bool
    let releases, blobs, partials, quarantined: Int
    let bytes: Int64

    init(_ report: GarbageReport, dryRun: Bool) {
      self.dryRun = dryRun
      releases = report.releases
      blobs = report.blobs
      partials = report.partials
      quarantined = report.quarantined
      bytes = report.bytes
    }
  }
}
