import ArgumentParser
import Foundation
import PageKit

struct SourceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "source", abstract: "List and remove the manifests whose releases are stored.",
    subcommands: [List.self, Forget.self])

  struct List: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the sources, the one used last first."
    )
    .with(examples: "bundlectl source list")

    @OptionGroup var store: StoreOptions

    var json: Bool { store.json }

    func perform() async throws {
      let opened = try store.reading()
      let sources = try await opened?.sources().sorted { ($0.usedAt ?? 0) > ($1.usedAt ?? 0) } ?? []
      var entries: [(source: StoredSource, releases: Int, bytes: Int64)] = []
      for source in sources {
        let releases = try await opened?.releases(of: source.url) ?? []
        entries.append((source, releases.count, releases.reduce(0) { $0 + $1.bytes }))
      }
      if store.json {
        let objects: [JSONObject] = entries.map { source, releases, bytes in
          [
            "source": source.url.readable, "current": source.current?.name, "isHeld": source.isHeld,
            "releases": releases, "bytes": bytes, "usedAt": String(rfc3339: source.usedAt ?? 0),
          ]
        }
        return try JSONOutput.print(["sources": objects])
      }
      if entries.isEmpty { Terminal.output.line("nothing is stored yet") }
      let width = sources.map { Formatting.columns($0.url.readable) }.max() ?? 0
      for (source, _, bytes) in entries {
        let release =
          source.current.map { "release \($0.name)\(source.isHeld ? ", held" : "")" } ?? "nothing complete"
        let size = Formatting.fitted(Formatting.bytes(bytes), 7)
        Terminal.output.line(
          "\(Formatting.fitted(source.url.readable, width))  \(size)  \(release), used \(String(rfc3339: source.usedAt ?? 0))"
        )
      }
    }
  }

  struct Forget: JSONCommand {
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

    var json: Bool { store.json }

    func perform() async throws {
      let url = try PageURL(manifestArgument: source)
      guard let opened = try store.writing(), try await opened.forget(url) else {
        throw DescribedError(
          "the store \(store.directory.path) has no release of \(url.readable): \"bundlectl source list\" shows what it has"
        )
      }
      let report = try await opened.collectGarbage(keepingPrevious: true, dryRun: false)
      if store.json { return try JSONOutput.print(["source": url.readable, "bytes": report.bytes]) }
      Terminal.output.line("forgot \(url.readable): \(Formatting.bytes(report.bytes)) removed")
    }
  }
}
