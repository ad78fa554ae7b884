import ArgumentParser
import PageKit

struct GCCommand: JSONCommand {
  static let configuration = CommandConfiguration(
    commandName: "gc",
    abstract: "Remove contents that no current release needs, and list the rest with reasons.",
    discussion: """
      Removes former releases, unreferenced bytes, abandoned downloads and quarantined files. Current, held and \
      incoming releases stay; of bundles in no manifest, the last used ones stay. Responses have their own limit: see \
      "bundlectl cache".
      """
  )
  .with(examples: "bundlectl gc --dry-run", "bundlectl gc --releases 500MB")

  @Flag(name: .long, help: "Only list the contents that would be removed.")
  var dryRun = false

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The limit of all releases; the least recently used go first, the last used source stays. Default: no limit.",
      valueName: "size"))
  var releases: SizeArgument?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The limit of bundles in no manifest; the last used one stays. Default: 64MB.", valueName: "size"))
  var unlisted: SizeArgument?

  @OptionGroup var store: StoreOptions

  var json: Bool { store.json }

  func perform() async throws {
    try store.check()
    var report = GarbageReport()
    if let opened = try store.writing() {
      var quotas = opened.quotas
      quotas.releases = releases?.bytes
      quotas.unlisted = unlisted?.bytes ?? quotas.unlisted
      report = try await opened.collectGarbage(keepingPrevious: false, dryRun: dryRun, quotas: quotas)
    }
    if store.json { try JSONOutput.print(json(report)) } else { show(report) }
  }

  private func show(_ report: GarbageReport) {
    let terminal = Terminal.output
    for (verb, items) in [("keeps", report.kept), (dryRun ? "would remove" : "removed", report.removed)] {
      for item in items {
        terminal.line("\(verb) \(item.name), \(Formatting.bytes(item.bytes)): \(item.reason)")
      }
    }
    let parts = [
      Formatting.count(report.releases, "release"), Formatting.count(report.unlisted, "bundle") + " in no manifest",
      Formatting.count(report.blobs, "blob"), Formatting.count(report.partials, "partial download"),
      Formatting.count(report.quarantined, "quarantined file"),
    ]
    terminal.line(
      "\(dryRun ? "would remove" : "removed") \(parts.joined(separator: ", ")): \(Formatting.bytes(report.bytes))")
  }

  private func json(_ report: GarbageReport) -> JSONObject {
    [
      "dryRun": dryRun, "releases": report.releases, "unlisted": report.unlisted, "blobs": report.blobs,
      "partials": report.partials, "quarantined": report.quarantined, "bytes": report.bytes, "kept": report.kept,
      "removed": report.removed,
    ]
  }
}
