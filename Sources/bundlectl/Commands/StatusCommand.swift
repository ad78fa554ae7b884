import ArgumentParser
import Foundation
import PageKit

struct StatusCommand: JSONCommand {
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

  /// The contents of the store.
  private struct Contents {
    var usage: (blobs: Int, bytes: Int64) = (0, 0)
    /// Each source with its current release, or else the incoming one, and that release's contents.
    var sources: [Source] = []
    var unlisted: [UnlistedBundle] = []
    var responses: ResponseUsage?
    var regions: [String: ResponseUsage] = [:]
    var leftovers: StoreLeftovers?

    typealias Source = (
      source: StoredSource, shown: StoredRelease, contents: [StoredBundle], releases: [ReleaseSummary]
    )

    var isEmpty: Bool {
      sources.isEmpty && unlisted.isEmpty && responses?.isEmpty ?? true && regions.values.allSatisfy(\.isEmpty)
    }
  }

  var json: Bool { store.json }

  func perform() async throws {
    try store.check()
    let contents = try await contents()
    if store.json { try JSONOutput.print(json(contents)) } else { show(contents) }
  }

  private func contents() async throws -> Contents {
    var found = Contents()
    if let opened = try store.reading() {
      found.usage = try await opened.usage()
      let listed = try await manifest == nil ? opened.sources() : [StoredSource.chosen(manifest, in: opened)]
      for source in listed {
        guard let shown = source.current ?? source.incoming else { continue }
        found.sources.append(
          (source, shown, try await opened.contents(of: shown), try await opened.releases(of: source.url)))
      }
      guard manifest == nil else { return found }
      found.unlisted = try await opened.unlisted()
      found.leftovers = opened.leftovers()
    }
    guard manifest == nil else { return found }
    found.responses = try await usage(of: store.responses)
    for name in store.responses.regionNames {
      found.regions[name] = try await usage(of: store.responses.region(name))
    }
    return found
  }

  private func usage(of directory: ResponseDirectory) async throws -> ResponseUsage? {
    guard directory.hasStore else { return nil }
    if let unreadable = directory.unreadable {
      Terminal.report("\(unreadable)")
      return nil
    }
    do {
      return try await ResponseStore(at: directory, logger: store.logger).usage()
    } catch StoreError.notWritable {
      return try await ResponseStore(reading: directory, logger: store.logger).usage()
    }
  }

  // MARK: Text

  private func show(_ found: Contents) {
    let terminal = Terminal.output
    terminal.line(
      "\(store.directory.path): \(Formatting.count(found.usage.blobs, "blob")), \(Formatting.bytes(found.usage.bytes))")
    if found.isEmpty { terminal.line("nothing is stored yet") }
    for source in found.sources { show(source, terminal) }
    if !found.unlisted.isEmpty {
      let bytes = found.unlisted.reduce(0) { $0 + $1.blob.size }
      title("\(Formatting.count(found.unlisted.count, "bundle")) in no manifest, \(Formatting.bytes(bytes))", terminal)
      let width = min(64, found.unlisted.map { Formatting.columns($0.url.text) }.max() ?? 0)
      for bundle in found.unlisted {
        let used = terminal.styled("used \(String(rfc3339: bundle.usedAt))", .dim)
        terminal.line("  \(Formatting.fitted(bundle.url.text, width))  \(padded(bundle.blob.size))  \(used)")
      }
    }
    if let responses = found.responses { show(responses, in: "", terminal) }
    for (name, usage) in found.regions.sorted(by: { $0.key < $1.key }) {
      show(usage, in: " in region \(name)", terminal)
    }
    if let leftovers = found.leftovers {
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

  private func show(_ usage: ResponseUsage, in place: String, _ terminal: Terminal) {
    guard !usage.isEmpty else { return }
    let kept = usage.keptEntries > 0 ? "; \(usage.keptEntries) kept, \(Formatting.bytes(usage.keptBytes))" : ""
    title(
      "\(Formatting.count(usage.entries, "response"))\(place), \(Formatting.bytes(usage.bytes))\(kept)", terminal)
  }

  private func show(_ found: Contents.Source, _ terminal: Terminal) {
    let (source, shown) = (found.source, found.shown)
    title(source.url.readable, terminal)
    let since = shown.activatedAt.map { String(rfc3339: $0) } ?? "?"
    let state = source.current == nil ? terminal.styled("incoming", .yellow) : "current since \(since)"
    terminal.line("release \(shown.name) (sequence \(shown.sequence)), \(state)")
    if let heldSince = source.heldSince.map({ String(rfc3339: $0) }) {
      terminal.line(
        terminal.styled("held since \(heldSince): it stays current until \"bundlectl release follow\"", .yellow))
    }
    let role: ReleaseSummary.Role = source.current == nil ? .incoming : .current
    for (other, id) in zip(found.releases, found.releases.map(\.release).uniqueNames)
    where other.release.name != shown.name || other.role != role {
      let missing = other.missing > 0 ? ", \(other.missing) of \(other.entries) missing" : ""
      let line =
        switch (other.role, other.bad) {
        case (.incoming, let bad?): "\(bad)"
        case (.incoming, nil) where source.heldSince != nil && other.missing == 0:
          "release \(id) is complete, and waits"
        case (.incoming, nil) where other.missing == 0:
          "release \(id) is complete, and the next preload switches to it"
        case (.incoming, nil): "release \(id) is incoming\(missing)"
        case (.previous, _): "release \(id) is kept as the previous one"
        case (.current, _), (.former, _): "release \(id) is kept for a while"
        }
      terminal.line(other.role == .incoming ? line : terminal.styled(line, .dim))
    }
    let listed = found.contents.filter { files || $0.bundle.kind == .bundle }
    let width = min(48, listed.map { Formatting.columns($0.bundle.name) }.max() ?? 0)
    for entry in listed { terminal.line("  \(line(for: entry, width: width, terminal))") }
    let rest = found.contents.count - listed.count
    if rest > 0 {
      let stored = found.contents.count { $0.bundle.kind == .file && $0.blob != nil }
      terminal.line("  and \(Formatting.count(rest, "file")), \(stored) stored (--files lists them)")
    }
  }

  private func line(for entry: StoredBundle, width: Int, _ terminal: Terminal) -> String {
    let mark = entry.blob != nil ? terminal.styled("✓", .green) : terminal.styled("–", .yellow)
    let md5 = terminal.styled(entry.bundle.md5.hex, .dim)
    return "\(mark) \(Formatting.fitted(entry.bundle.name, width))  \(padded(entry.size))  \(md5)"
  }

  private func padded(_ size: Int64?) -> String {
    Formatting.rightAligned(size.map(Formatting.bytes) ?? "", 8)
  }

  // MARK: JSON

  private func json(_ found: Contents) -> JSONObject {
    let object: JSONObject = [
      "store": store.directory.path, "blobs": found.usage.blobs, "bytes": found.usage.bytes,
      "sources": found.sources.map(json), "unlisted": found.unlisted.map(json),
      "regions": found.regions.mapValues(json),
    ]
    return object.adding(ifPresent: [
      "responses": found.responses.map(json), "leftovers": found.leftovers.map(json),
    ])
  }

  private func json(_ found: Contents.Source) -> JSONObject {
    let (source, shown) = (found.source, found.shown)
    let object: JSONObject = [
      "source": source.url.readable, "release": shown.name, "sequence": shown.sequence,
      "usedAt": String(rfc3339: source.usedAt ?? 0), "releases": found.releases.json,
      "entries": found.contents.map(json),
    ]
    return object.adding(ifPresent: [
      "current": source.current?.name, "previous": source.previous?.name, "incoming": source.incoming?.name,
      "activatedAt": shown.activatedAt.map { String(rfc3339: $0) },
      "heldSince": source.heldSince.map { String(rfc3339: $0) },
    ])
  }

  private func json(_ entry: StoredBundle) -> JSONObject {
    let (bundle, blob) = (entry.bundle, entry.blob)
    let object: JSONObject = [
      "name": bundle.name, "kind": bundle.kind, "url": bundle.url.text, "md5": bundle.md5.hex, "stored": blob != nil,
    ]
    return object.adding(ifPresent: ["size": entry.size, "sha256": (blob?.sha256 ?? bundle.sha256)?.hex])
  }

  private func json(_ bundle: UnlistedBundle) -> JSONObject {
    [
      "url": bundle.url.text, "size": bundle.blob.size, "md5": bundle.blob.md5.hex, "sha256": bundle.blob.sha256.hex,
      "storedAt": String(rfc3339: bundle.storedAt), "usedAt": String(rfc3339: bundle.usedAt),
    ]
  }

  private func json(_ usage: ResponseUsage) -> JSONObject {
    [
      "entries": usage.entries, "bytes": usage.bytes, "keptEntries": usage.keptEntries, "keptBytes": usage.keptBytes,
    ]
  }

  private func json(_ leftovers: StoreLeftovers) -> JSONObject {
    [
      "partials": leftovers.partials, "partialBytes": leftovers.partialBytes, "quarantined": leftovers.quarantined,
      "quarantinedBytes": leftovers.quarantinedBytes,
    ]
  }
}

extension StoredBundle {
  /// The size in bytes, stored or as the manifest says.
  fileprivate var size: Int64? { blob?.size ?? bundle.size }
}

extension ResponseUsage {
  fileprivate var isEmpty: Bool { entries == 0 && keptEntries == 0 }
}
