import ArgumentParser
import Foundation
import PageKit

struct SourceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "source", abstract: "List and remove the manifests whose releases are stored.",
    subcommands: [List.self, Forget.self])

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the sources, the one used last first."
    )
    .with(examples: "bundlectl source list")

    @OptionGroup var store: StoreOptions

    func run() async throws {
      try await JSONOutput.reporting(store.json) {
        let opened = try store.reading()
        let sources = try await opened?.sources().sorted { ($0.usedAt ?? 0) > ($1.usedAt ?? 0) } ?? []
        var entries: [Entry] = []
        for source in sources {
          entries.append(Entry(source, try await opened?.releases(of: source.url) ?? []))
        }
        if store.json { return try JSONOutput.print(Output(sources: entries)) }
        if entries.isEmpty { Terminal.output.line("nothing is stored yet") }
        let width = entries.map { Formatting.columns($0.source) }.max() ?? 0
        for entry in entries {
          let release = entry.current.value.map { "release \($0)\(entry.isHeld ? ", held" : "")" } ?? "nothing complete"
          let size = Formatting.bytes(entry.bytes)
          Terminal.output.line(
            "\(Formatting.fitted(entry.source, width))  \(Formatting.fitted(size, 7))  \(release), used \(entry.usedAt)"
          )
        }
      }
    }

    private struct Output: Encodable {
      let sources: [Entry]
    }

    private struct Entry: Encodable {
      let source: String
      let current: Nullable<String>
      let isHeld: Bool
      let releases: Int
      let bytes: Int64
      /// RFC 3339.
      let usedAt: String

      init(_ source: StoredSource, _ releases: [ReleaseSummary]) {
        self.source = source.url.readable
        current = Nullable(value: source.current?.name)
        isHeld = source.isHeld
        self.releases = releases.count
        bytes = releases.reduce(0) { $0 + $1.bytes }
        usedAt = String(rfc3339: source.usedAt ?? 0)
      }
    }
  }

  struct Forget: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "forget", abstract: "Remove a manifest with all its releases.",
      discussion: """
        Bytes that only its releases use are removed at once. The next preload of the manifest downloads everything \
        again.
        """
    )
    .with(examples: "bundlectl source forget https://pages.example.com/manifest.json")

    @Argument(
      help: ArgumentHelp("The manifest, as \"source list\" shows it.", valueName: "url|file"),
      completion: Completions.sources)
    var source: String

    @OptionGroup var store: StoreOptions

    private struct Output: Encodable {
      let source: String
      let bytes: Int64
    }

    func run() async throws {
      try await JSONOutput.reporting(store.json) {
        let url = try PageURL(manifestArgument: source)
        guard let opened = try store.writing(), try await opened.forget(url) else {
          throw CommandError(
            "the store \(store.directory.path) has no release of \(url.readable): \"bundlectl source list\" shows what it has"
          )
        }
        let report = try await opened.collectGarbage(keepingPrevious: true, dryRun: false)
        if store.json { return try JSONOutput.print(Output(source: url.readable, bytes: report.bytes)) }
        Terminal.output.line("forgot \(url.readable): \(Formatting.bytes(report.bytes)) removed")
      }
    }
  }
}
