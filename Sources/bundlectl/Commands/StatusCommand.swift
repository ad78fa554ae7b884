import ArgumentParser
import Foundation
import PageKit

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show the releases and bundles in the store.")

  @Option(
    name: .long, help: ArgumentHelp("Only this source.", valueName: "url|file"),
    completion: .file(extensions: ["json"]))
  var manifest: String?

  @Flag(name: .long, help: "List the files too, not only the bundles.")
  var files = false

  @OptionGroup var store: StoreOptions

  func run() async throws {
    try await JSONOutput.reporting(store.json) {
      try store.check()
      let output = try await status()
      if store.json { try JSONOutput.print(output) } else { show(output) }
    }
  }

  private func status() async throws -> StatusOutput {
    let opened: BundleStore
    do {
      opened = try BundleStore(reading: store.directory, logger: store.logger)
    } catch StoreError.absent {
      return StatusOutput(store: store.directory.path, blobs: 0, bytes: 0, sources: [])
    }
    let usage = try await opened.usage()
    let listed = try await manifest == nil ? opened.sources() : [StoredSource.chosen(manifest, in: opened)]
    var sources: [StatusOutput.Source] = []
    for source in listed {
      guard let shown = source.current ?? source.incoming else { continue }
      let contents = try await opened.contents(of: shown)
      sources.append(StatusOutput.Source(source, showing: shown, contents))
    }
    return StatusOutput(store: opened.directory.path, blobs: usage.blobs, bytes: usage.bytes, sources: sources)
  }

  private func show(_ status: StatusOutput) {
    let terminal = Terminal.output
    terminal.line("\(status.store): \(Formatting.count(status.blobs, "blob")), \(Formatting.bytes(status.bytes))")
    if status.sources.isEmpty { terminal.line("nothing is stored yet") }
    for source in status.sources {
      terminal.line()
      terminal.line(terminal.styled(source.source, .bold))
      let state =
        source.current == nil ? terminal.styled("coming in", .yellow) : "current since \(source.activatedAt ?? "?")"
      terminal.line("release \(source.release) (sequence \(source.sequence)), \(state)")
      if let incoming = source.incoming, source.current != nil { terminal.line("release \(incoming) is coming in") }
      if let previous = source.previous {
        terminal.line(terminal.styled("release \(previous) is kept as the previous one", .dim))
      }
      let listed = source.entries.filter { files || $0.kind == .bundle }
      let width = min(48, listed.map { Formatting.columns($0.name) }.max() ?? 0)
      for entry in listed { terminal.line("  \(line(for: entry, width: width, terminal))") }
      let rest = source.entries.count - listed.count
      if rest > 0 {
        let stored = source.entries.count { $0.kind == .file && $0.stored }
        terminal.line("  and \(Formatting.count(rest, "file")), \(stored) stored (--files lists them)")
      }
    }
  }

  private func line(for entry: StatusOutput.Entry, width: Int, _ terminal: Terminal) -> String {
    let mark = entry.stored ? terminal.styled("✓", .green) : terminal.styled("–", .yellow)
    let size = entry.size.map(Formatting.bytes) ?? ""
    return
      "\(mark) \(Formatting.fitted(entry.name, width))  \(Formatting.rightAligned(size, 8))  \(terminal.styled(entry.md5, .dim))"
  }
}

/// The JSON of `status`.
struct StatusOutput: Encodable {
  struct Source: Encodable {
    let source: String
    let release: String
    let sequence: Int64
    let current: String?
    let previous: String?
    let incoming: String?
    /// RFC 3339.
    let activatedAt: String?
    let entries: [Entry]

    init(_ source: StoredSource, showing release: StoredRelease, _ contents: [StoredBundle]) {
      self.source = source.url.readable
      self.release = release.name
      sequence = release.sequence
      current = source.current?.name
      previous = source.previous?.name
      incoming = source.incoming?.name
      activatedAt = release.activatedAt.map { Timestamp.text($0) }
      entries = contents.map(Entry.init)
    }
  }

  struct Entry: Encodable {
    let name: String
    let kind: PageBundle.Kind
    let url: String
    let size: Int64?
    let md5: String
    let sha256: String?
    let stored: Bool

    init(_ stored: StoredBundle) {
      name = stored.bundle.name
      kind = stored.bundle.kind
      url = stored.bundle.url.text
      size = stored.blob?.size ?? stored.bundle.size
      md5 = stored.bundle.md5.hex
      sha256 = (stored.blob?.sha256 ?? stored.bundle.sha256)?.hex
      self.stored = stored.blob != nil
    }
  }

  let store: String
  let blobs: Int
  /// Of all blobs.
  let bytes: Int64
  let sources: [Source]
}
