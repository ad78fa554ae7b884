import ArgumentParser
import Foundation
import PageKit

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show everything that is stored.",
    discussion: """
      Shows each source with its releases and bundles, bundles in no manifest, responses, incomplete downloads, and \
      quarantined files.
      """
  )
  .with(examples: "bundlectl status", "bundlectl status --manifest https://pages.example.com/manifest.json --files")

  @Option(
    name: .long, help: ArgumentHelp("Only this source.", valueName: "url|file"),
    completion: .file(extensions: ["json"]))
  var manifest: String?

  @Flag(name: .long, help: "List the files too.")
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
    var output = StatusOutput(store: store.directory.path)
    if let opened = try store.reading() {
      (output.blobs, output.bytes) = try await opened.usage()
      let listed = try await manifest == nil ? opened.sources() : [StoredSource.chosen(manifest, in: opened)]
      for source in listed {
        guard let shown = source.current ?? source.incoming else { continue }
        output.sources.append(
          StatusOutput.Source(
            source, showing: shown, try await opened.contents(of: shown), try await opened.releases(of: source.url)))
      }
      guard manifest == nil else { return output }
      output.unlisted = try await opened.unlisted().map(StatusOutput.Unlisted.init)
      output.leftovers = StatusOutput.Leftovers(opened.leftovers())
    }
    guard manifest == nil else { return output }
    output.responses = try await usage(of: store.responses)
    for name in store.responses.regionNames {
      output.regions[name] = try await usage(of: store.responses.region(name))
    }
    return output
  }

  private func usage(of directory: ResponseDirectory) async throws -> StatusOutput.Responses? {
    guard directory.hasStore else { return nil }
    if let unreadable = directory.unreadable {
      Terminal.error.line("bundlectl: \(unreadable)")
      return nil
    }
    do {
      return StatusOutput.Responses(try await ResponseStore(at: directory, logger: store.logger).usage())
    } catch StoreError.notWritable {
      return StatusOutput.Responses(try await ResponseStore(reading: directory, logger: store.logger).usage())
    }
  }

  private func show(_ status: StatusOutput) {
    let terminal = Terminal.output
    terminal.line("\(status.store): \(Formatting.count(status.blobs, "blob")), \(Formatting.bytes(status.bytes))")
    if status.isEmpty { terminal.line("nothing is stored yet") }
    for source in status.sources { show(source, terminal) }
    if !status.unlisted.isEmpty {
      let bytes = status.unlisted.reduce(0) { $0 + $1.size }
      title("\(Formatting.count(status.unlisted.count, "bundle")) in no manifest, \(Formatting.bytes(bytes))", terminal)
      let width = min(64, status.unlisted.map { Formatting.columns($0.url) }.max() ?? 0)
      for bundle in status.unlisted {
        terminal.line(
          "  \(Formatting.fitted(bundle.url, width))  \(padded(bundle.size))  \(terminal.styled("used \(bundle.usedAt)", .dim))"
        )
      }
    }
    if let responses = status.responses { show(responses, in: "", terminal) }
    for (name, usage) in status.regions.sorted(by: { $0.key < $1.key }) {
      show(usage, in: " in region \(name)", terminal)
    }
    if let leftovers = status.leftovers {
      if leftovers.partials > 0 {
        title(
          "\(Formatting.count(leftovers.partials, "incomplete download")), \(Formatting.bytes(leftovers.partialBytes)): the next preload continues them",
          terminal)
      }
      if leftovers.quarantined > 0 {
        title(
          "\(Formatting.count(leftovers.quarantined, "quarantined file")), \(Formatting.bytes(leftovers.quarantinedBytes)): \"bundlectl gc\" removes them",
          terminal)
      }
    }
  }

  private func title(_ text: String, _ terminal: Terminal) {
    terminal.line()
    terminal.line(terminal.styled(text, .bold))
  }

  private func show(_ usage: StatusOutput.Responses, in place: String, _ terminal: Terminal) {
    guard !usage.isEmpty else { return }
    let kept = usage.keptEntries > 0 ? "; \(usage.keptEntries) kept, \(Formatting.bytes(usage.keptBytes))" : ""
    title(
      "\(Formatting.count(usage.entries, "response"))\(place), \(Formatting.bytes(usage.bytes))\(kept)", terminal)
  }

  private func show(_ source: StatusOutput.Source, _ terminal: Terminal) {
    title(source.source, terminal)
    let state =
      source.current == nil ? terminal.styled("incoming", .yellow) : "current since \(source.activatedAt ?? "?")"
    terminal.line("release \(source.release) (sequence \(source.sequence)), \(state)")
    if let heldSince = source.heldSince {
      terminal.line(
        terminal.styled("held since \(heldSince): it stays current until \"bundlectl release follow\"", .yellow))
    }
    for other in source.releases where other.release != source.release || other.state != source.state {
      let missing = other.missing > 0 ? ", \(other.missing) of \(other.entries) missing" : ""
      let line =
        switch other.state {
        case .incoming where other.bad.value != nil: other.bad.value ?? ""
        case .incoming where source.heldSince != nil && other.missing == 0:
          "release \(other.id) is complete, and waits"
        case .incoming where other.missing == 0:
          "release \(other.id) is complete, and the next preload switches to it"
        case .incoming: "release \(other.id) is incoming\(missing)"
        case .previous: "release \(other.id) is kept as the previous one"
        case .current, .former: "release \(other.id) is kept for a while"
        }
      terminal.line(other.state == .incoming ? line : terminal.styled(line, .dim))
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

  private func line(for entry: StatusOutput.Entry, width: Int, _ terminal: Terminal) -> String {
    let mark = entry.stored ? terminal.styled("✓", .green) : terminal.styled("–", .yellow)
    return
      "\(mark) \(Formatting.fitted(entry.name, width))  \(padded(entry.size))  \(terminal.styled(entry.md5, .dim))"
  }

  private func padded(_ size: Int64?) -> String {
    Formatting.rightAligned(size.map(Formatting.bytes) ?? "", 8)
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
    let activatedAt, heldSince: String?
    let usedAt: String
    let releases: [ReleaseCommand.List.Entry]
    let entries: [Entry]

    init(
      _ source: StoredSource, showing release: StoredRelease, _ contents: [StoredBundle], _ releases: [ReleaseSummary]
    ) {
      self.source = source.url.readable
      self.release = release.name
      sequence = release.sequence
      current = source.current?.name
      previous = source.previous?.name
      incoming = source.incoming?.name
      activatedAt = release.activatedAt.map { String(rfc3339: $0) }
      heldSince = source.heldSince.map { String(rfc3339: $0) }
      usedAt = String(rfc3339: source.usedAt ?? 0)
      self.releases = ReleaseCommand.List.entries(releases)
      entries = contents.map(Entry.init)
    }

    /// The state of the shown release.
    var state: ReleaseSummary.Role { current == nil ? .incoming : .current }
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

  struct Unlisted: Encodable {
    let url: String
    let size: Int64
    let md5, sha256: String
    /// RFC 3339.
    let storedAt, usedAt: String

    init(_ bundle: UnlistedBundle) {
      url = bundle.url.text
      size = bundle.blob.size
      (md5, sha256) = (bundle.blob.md5.hex, bundle.blob.sha256.hex)
      (storedAt, usedAt) = (String(rfc3339: bundle.storedAt), String(rfc3339: bundle.usedAt))
    }
  }

  struct Responses: Encodable {
    let entries: Int
    let bytes: Int64
    let keptEntries: Int
    let keptBytes: Int64

    var isEmpty: Bool { entries == 0 && keptEntries == 0 }

    init(_ usage: ResponseUsage) {
      (entries, bytes) = (usage.entries, usage.bytes)
      (keptEntries, keptBytes) = (usage.keptEntries, usage.keptBytes)
    }
  }

  struct Leftovers: Encodable {
    let partials: Int
    let partialBytes: Int64
    let quarantined: Int
    let quarantinedBytes: Int64

    init(_ leftovers: StoreLeftovers) {
      (partials, partialBytes) = (leftovers.partials, leftovers.partialBytes)
      (quarantined, quarantinedBytes) = (leftovers.quarantined, leftovers.quarantinedBytes)
    }
  }

  let store: String
  var blobs = 0
  /// The size of all blobs.
  var bytes: Int64 = 0
  var sources: [Source] = []
  var unlisted: [Unlisted] = []
  var responses: Responses?
  var regions: [String: Responses] = [:]
  var leftovers: Leftovers?

  var isEmpty: Bool {
    sources.isEmpty && unlisted.isEmpty && responses?.isEmpty ?? true && regions.values.allSatisfy(\.isEmpty)
  }

  init(store: String) { self.store = store }
}
