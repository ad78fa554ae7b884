import ArgumentParser
import PageKit

struct ManifestDiffCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff", abstract: "Show the changes between two manifests."
  )
  .with(examples: "bundlectl manifest diff old/manifest.json https://pages.example.com/manifest.json")

  @Argument(
    help: ArgumentHelp("The older: an http or https URL, or a file.", valueName: "old"),
    completion: .file(extensions: ["json"]))
  var old: String

  @Argument(
    help: ArgumentHelp("The newer: an http or https URL, or a file.", valueName: "new"),
    completion: .file(extensions: ["json"]))
  var new: String

  @Option(
    name: .long,
    help: ArgumentHelp("A header field, sent to the origin of each manifest only. Repeatable.", valueName: "field"))
  var header: [String] = []

  @Option(
    name: .long, help: ArgumentHelp("PEM file of the certificate authorities to trust.", valueName: "file"),
    completion: .file())
  var caFile: String?

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  func run() async throws {
    try await JSONOutput.reporting(json) { try await compare() }
  }

  private func compare() async throws {
    let reader = ManifestReader(header: header, caFile: caFile)
    let changes = ManifestChanges(
      from: try await reader.read(try PageURL(manifestArgument: old)),
      to: try await reader.read(try PageURL(manifestArgument: new)))
    if json {
      return try JSONOutput.print([
        "added": changes.added, "changed": changes.changed, "removed": changes.removed,
      ])
    }
    let terminal = Terminal.output
    for path in changes.added { terminal.line(terminal.styled("+ \(path)", .green)) }
    for path in changes.changed { terminal.line(terminal.styled("~ \(path)", .yellow)) }
    for path in changes.removed { terminal.line(terminal.styled("- \(path)", .red)) }
    terminal.line(
      "\(changes.added.count) added, \(changes.changed.count) changed, \(changes.removed.count) removed")
  }
}
