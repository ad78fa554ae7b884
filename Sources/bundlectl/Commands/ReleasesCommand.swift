import ArgumentParser
import Foundation
import PageKit
import Publishing

struct ReleasesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "releases",
    abstract: "List the releases in an object store, switch between them, and remove old ones.",
    discussion: """
      "bundlectl publish" puts them there. Not to be confused with "bundlectl release", for those in the local store.

      \(LocationOptions.discussion)
      """,
    subcommands: [List.self, Use.self, GC.self], defaultSubcommand: List.self)

  struct List: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the releases, the current one first.",
      discussion: LocationOptions.discussion
    )
    .with(examples: "bundlectl releases list s3://pages/app")

    @OptionGroup var location: LocationOptions

    var json: Bool { location.json }

    func perform() async throws {
      let place = location.location
      let pointer = try await location.using { releases in
        guard let state = try await releases.state() else {
          throw PublishError.nothingPublished(releases.store.location)
        }
        return state.pointer
      }
      if location.json {
        let releases: [JSONObject] = pointer.releases.map {
          [
            "release": $0.release, "sequence": $0.sequence, "manifest": $0.manifest.url,
            "sha256": $0.manifest.sha256, "publishedAt": $0.publishedAt,
          ]
        }
        return try JSONOutput.print([
          "location": place, "current": pointer.current.release, "releases": releases,
        ])
      }
      let width = pointer.releases.map { Formatting.columns($0.release) }.max() ?? 0
      for (index, release) in pointer.releases.enumerated() {
        Terminal.output.line(
          "\(Formatting.fitted(release.release, width))  \(index == 0 ? "current" : "former ")  published \(release.publishedAt)"
        )
      }
    }
  }

  struct Use: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "use", abstract: "Switch to a former release.",
      discussion: """
        A signed release is not gone back to, since hosts with keys refuse a lower sequence: publish its folder again.

        \(LocationOptions.discussion)
        """
    )
    .with(examples: "bundlectl releases use 2026.11.20-4 s3://pages/app")

    @Argument(help: "The release's name, as \"releases list\" shows it.")
    var name: String

    @OptionGroup var location: LocationOptions

    @OptionGroup var pointer: PointerOptions

    var json: Bool { location.json }

    func perform() async throws {
      let (name, isAlone) = (name, pointer.alone)
      let journal = try pointer.openJournal()
      let former = try await location.using(journal) { try await $0.use(name, isAlone: isAlone)?.release }
      await PointerOptions.announce(name, in: journal)
      if location.json {
        return try JSONOutput.print(["location": location.location, "current": name, "former": former])
      }
      let terminal = Terminal.output
      terminal.line(
        former.map { "\(terminal.styled("✓", .green)) release \(name) is current now, in the place of \($0)" }
          ?? "release \(name) is current already")
    }
  }

  struct GC: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "gc", abstract: "Give up old releases, and remove what no other one needs.",
      discussion: """
        Files that were written in the last 24 hours stay: hosts may be fetching them. So do files with names that \
        "bundlectl publish" does not write.

        \(LocationOptions.discussion)
        """
    )
    .with(examples: "bundlectl releases gc s3://pages/app --keep 5 --dry-run")

    @OptionGroup var location: LocationOptions

    @Option(name: .long, help: ArgumentHelp("The number of former releases to keep.", valueName: "n"))
    var keep = 10

    @Flag(name: .long, help: "Only list what would be removed.")
    var dryRun = false

    @OptionGroup var pointer: PointerOptions

    func validate() throws {
      if keep < 0 { throw ValidationError("--keep must not be negative.") }
    }

    var json: Bool { location.json }

    func perform() async throws {
      let (keep, dryRun, isAlone) = (keep, dryRun, pointer.alone)
      let lines = location.json || dryRun ? nil : DrawnLines(.error)
      let collection = try await location.using(try pointer.openJournal()) {
        try await $0.collect(keeping: keep, isTrial: dryRun, isAlone: isAlone) {
          lines?.draw(["removing \($0.name)"])
        }
      }
      lines?.erase()
      if location.json {
        return try JSONOutput.print([
          "location": location.location, "dryRun": dryRun, "releases": collection.releases.map(\.release),
          "removed": collection.objects.map(\.name), "bytes": collection.bytes, "others": collection.others,
        ])
      }
      let terminal = Terminal.output
      let verb = dryRun ? "would remove" : "removed"
      for release in collection.releases { terminal.line("\(verb) release \(release.release)") }
      if dryRun { for object in collection.objects { terminal.line("\(verb) \(object.name)") } }
      terminal.line(
        "\(verb) \(Formatting.count(collection.objects.count, "file")): \(Formatting.bytes(collection.bytes))")
      if collection.others > 0 {
        terminal.line("\(Formatting.count(collection.others, "file")) of other kinds stay")
      }
    }
  }
}
