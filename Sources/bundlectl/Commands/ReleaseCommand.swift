import ArgumentParser
import Foundation
import PageKit
import PageWorkers
import Releases

struct ReleaseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "release",
    abstract: "Show the stored releases of a manifest, choose the one for pages, and carry one elsewhere.",
    discussion: """
      "release use" and "release rollback" hold a release: it stays current until "release follow", also if the \
      server has a newer one. Newer ones are still downloaded.

      A release whose pages fail in an app is bad there: the newest good one takes its place until the server has \
      another. "release list" shows why, and "release mark" changes it.
      """,
    subcommands: [List.self, Use.self, Rollback.self, Follow.self, Mark.self, Export.self, Import.self])

  /// The source and the store.
  struct Options: ParsableArguments {
    @Option(
      name: .long, help: ArgumentHelp("The source, if the store has several.", valueName: "url|file"))
    var manifest: String?

    @OptionGroup var store: StoreOptions

    func source(in opened: BundleStore?) async throws -> (BundleStore, StoredSource) {
      guard let opened else { throw StoreError.absent(path: store.directory.path) }
      return (opened, try await StoredSource.chosen(manifest, in: opened))
    }

    /// Prints the current release.
    func show(_ source: PageURL, in opened: BundleStore) async throws {
      let stored = try await opened.source(source)
      let (current, isHeld) = (stored?.current?.name, stored?.isHeld ?? false)
      if store.json {
        return try JSONOutput.print(["source": source.readable, "current": current, "isHeld": isHeld])
      }
      let terminal = Terminal.output
      let name = current ?? ""
      terminal.line(
        isHeld
          ? "\(terminal.styled("✓", .green)) release \(name) is current, and stays so until \"bundlectl release follow\""
          : "\(terminal.styled("✓", .green)) release \(name) is current; newer ones are switched to when they are complete"
      )
    }
  }

  struct List: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the stored releases of a manifest, newest first."
    )
    .with(examples: "bundlectl release list")

    @OptionGroup var options: Options

    var json: Bool { options.store.json }

    func perform() async throws {
      let (opened, source) = try await options.source(in: options.store.reading())
      let releases = try await opened.releases(of: source.url)
      if options.store.json {
        return try JSONOutput.print(["source": source.url.readable, "releases": releases.json])
      }
      let ids = releases.map(\.release).uniqueNames
      let width = ids.map(Formatting.columns).max() ?? 0
      for (release, id) in zip(releases, ids) {
        let state = Formatting.fitted(release.isHeld ? "held" : release.role.rawValue, 8)
        let size = Formatting.fitted(Formatting.bytes(release.bytes), 7)
        let missing = release.missing > 0 ? ", \(release.missing) missing" : ""
        let since = release.switchedAt.map { ", switched to \($0)" } ?? ""
        let standing = Formatting.fitted(release.release.standing.rawValue, 5)
        Terminal.output.line(
          "\(Formatting.fitted(id, width))  \(state)  \(standing)  \(size)  \(release.entries) entries\(missing)\(since)"
        )
        if let bad = release.bad { Terminal.output.line("  \(Terminal.output.styled("\(bad)", .yellow))") }
      }
    }
  }

  struct Use: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "use", abstract: "Switch to a stored release, and hold it until \"release follow\"."
    )
    .with(examples: "bundlectl release use 2026.11.20-4")

    @Argument(help: "The release's name, as \"release list\" shows it.", completion: Completions.releases)
    var name: String

    @OptionGroup var options: Options

    var json: Bool { options.store.json }

    func perform() async throws {
      let (opened, source) = try await options.source(in: options.store.writing())
      try await opened.hold(try await source.release(named: name, in: opened))
      try await options.show(source.url, in: opened)
    }
  }

  struct Rollback: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "rollback",
      abstract: "Go back to the release before the current one, and hold it until \"release follow\"."
    )
    .with(examples: "bundlectl release rollback")

    @Argument(
      help: "An older release's name. Default: the one before the current one.", completion: Completions.releases)
    var name: String?

    @OptionGroup var options: Options

    var json: Bool { options.store.json }

    func perform() async throws {
      let (opened, source) = try await options.source(in: options.store.writing())
      let target: StoredRelease? =
        if let name { try await source.release(named: name, in: opened) } else { source.previous }
      guard let target else {
        throw DescribedError(
          "the store has no release before \(source.current?.name ?? "the current one"): \"bundlectl release list\" shows what it has"
        )
      }
      guard target.id < source.current?.id ?? .max else {
        throw DescribedError(
          "release \(target.name) is not older than \(source.current?.name ?? ""): \"bundlectl release use \(target.name)\" switches to it"
        )
      }
      try await opened.hold(target)
      try await options.show(source.url, in: opened)
    }
  }

  struct Mark: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "mark", abstract: "Mark a stored release as good or bad, or give it another trial.",
      discussion: """
        The newest good release takes the place of one that is marked as bad, also in apps that are running, for the \
        pages that open next. A release that is marked otherwise can be fetched and opened again.
        """
    )
    .with(examples: "bundlectl release mark 2026.11.20-4 bad")

    @Argument(help: "The release's name, as \"release list\" shows it.", completion: Completions.releases)
    var name: String

    @Argument(help: ArgumentHelp("The standing.", valueName: "good|bad|trial"))
    var standing: ReleaseStanding

    @OptionGroup var options: Options

    var json: Bool { options.store.json }

    func perform() async throws {
      let (opened, source) = try await options.source(in: options.store.writing())
      let release = try await source.release(named: name, in: opened)
      try await opened.mark(release, as: standing)
      let current = try await opened.source(source.url)?.current?.name
      if options.store.json {
        return try JSONOutput.print([
          "source": source.url.readable, "release": release.name, "standing": standing, "current": current,
        ])
      }
      let terminal = Terminal.output
      let marked = standing == .trial ? "on trial" : "marked as \(standing.rawValue)"
      let rest = current.map { $0 == release.name ? "" : "; release \($0) is current" } ?? ""
      terminal.line("\(terminal.styled("✓", .green)) release \(release.name) is \(marked)\(rest)")
    }
  }

  struct Follow: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "follow", abstract: "End the hold: switch to the newest complete release, and to each later one."
    )
    .with(examples: "bundlectl release follow")

    @OptionGroup var options: Options

    var json: Bool { options.store.json }

    func perform() async throws {
      let (opened, source) = try await options.source(in: options.store.writing())
      _ = try await opened.follow(source.url)
      try await options.show(source.url, in: opened)
    }
  }
}

extension ReleaseCommand {
  struct Export: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Write a stored release to one file, for \"release import\" on another machine.",
      discussion: """
        The file has the manifest with its signatures and roots, and the bytes of all bundles and files that are \
        stored. It is an SQLite archive: "sqlite3 FILE -At" lists what is in it.
        """
    )
    .with(examples: "bundlectl release export pages.release")

    @Argument(
      help: ArgumentHelp("The file to write; one that exists is replaced.", valueName: "file"), completion: .file())
    var file: String

    @Argument(
      help: "The release's name, as \"release list\" shows it. Default: the current one.",
      completion: Completions.releases)
    var name: String?

    @OptionGroup var options: Options

    var json: Bool { options.store.json }

    func perform() async throws {
      let (opened, source) = try await options.source(in: options.store.reading())
      let named = if let name { try await source.release(named: name, in: opened) } else { source.current }
      guard let release = named else {
        throw DescribedError("no release of \(source.url.readable) is complete: run \"bundlectl preload\" first")
      }
      let summary = try await ReleaseArchive.write(release, of: opened, to: file)
      if options.store.json {
        return try JSONOutput.print([
          "file": file, "release": release.name, "source": source.url.readable, "bundles": summary.bundles,
          "files": summary.files, "bytes": summary.bytes, "isSigned": summary.isSigned, "leftOut": summary.leftOut,
        ])
      }
      Terminal.output.line(
        "\(file): release \(release.name), \(Formatting.count(summary.bundles, "bundle")), \(Formatting.count(summary.files, "file")), \(Formatting.bytes(summary.bytes)), \(summary.isSigned ? "signed" : "without signatures")"
      )
      if !summary.leftOut.isEmpty {
        Terminal.report("left out, since they are not stored: \(summary.leftOut.joined(separator: ", "))")
      }
    }
  }

  struct Import: JSONCommand {
    static let configuration = CommandConfiguration(
      commandName: "import",
      abstract: "Store the release of a file that \"release export\" has written, and switch to it.",
      discussion: """
        No network is used. The release is checked as if its server had sent it: digests, and with --root signatures, \
        sequence and expiry. Nothing changes if it is refused.
        """
    )
    .with(examples: "bundlectl release import pages.release --root 1.root.json")

    @Argument(
      help: ArgumentHelp("The file.", valueName: "file"), completion: .file())
    var file: String

    @Option(
      name: .long,
      help: ArgumentHelp(
        "The manifest's URL, under which pages look for the release.", discussion: "Default: the one in the file.",
        valueName: "url"))
    var manifest: String?

    @Option(
      name: .long,
      help: ArgumentHelp("The root whose keys must have signed the manifest.", valueName: "file"),
      completion: .file(extensions: ["json"]))
    var root: String?

    @Option(
      name: .long,
      help: ArgumentHelp("With --root: the longest time since the manifest was signed, such as 7d.", valueName: "time"))
    var freshFor: TimeArgument?

    @OptionGroup var store: StoreOptions

    mutating func validate() throws {
      if freshFor != nil, root == nil { throw ValidationError("--fresh-for needs --root.") }
    }

    var json: Bool { store.json }

    func perform() async throws {
      try store.check()
      let archive = try ReleaseArchive(reading: file)
      let source = try manifest.map { try PageURL(manifestArgument: $0) } ?? archive.source()
      guard !source.isFile else {
        throw DescribedError(
          "\(file) is a release of a file on a machine, \(source.readable): name the URL that pages use with --manifest"
        )
      }
      let transport = try ArchiveTransport(archive, of: source)
      let report = try await PageHost.using(configuration(source), transport: transport) { host in
        await Self.report(of: host, transport)
      }
      try show(report, source)
      if !report.failures.isEmpty { throw ExitCode.failure }
    }

    private func configuration(_ source: PageURL) throws -> HostConfiguration {
      var configuration = HostConfiguration(manifest: source, store: store.directory)
      configuration.releases.decides = false
      if let root {
        configuration.releases.trust =
          ReleaseTrust(try TrustRoot(file: root), freshFor: freshFor?.duration).withoutStatus
      }
      configuration.releases.keepsSignatures = true
      configuration.storage.allowsReadOnly = false
      configuration.logger = store.logger
      // A further attempt would not find more in the file.
      configuration.network.retry.attempts = 1
      return configuration
    }

    /// Imports what the release needs, and then the entries on demand that the file has too.
    private static func report(of host: PageHost, _ transport: ArchiveTransport) async -> PreloadReport {
      guard let preloader = host.preloader else { return PreloadReport() }
      var report = await preloader.withoutPrefetching(host.configuration.releases.preload).start().report()
      guard report.failures.isEmpty, !transport.onDemand.isEmpty else { return report }
      var options = host.configuration.releases.preload
      options.only = transport.onDemand
      let more = await preloader.withoutPrefetching(options).start().report()
      report.downloaded += more.downloaded
      report.filesDownloaded += more.filesDownloaded
      report.failures = more.failures
      return report
    }

    private func show(_ report: PreloadReport, _ source: PageURL) throws {
      let imported = report.downloaded + report.filesDownloaded
      if store.json {
        return try JSONOutput.print([
          "release": report.release, "source": source.readable, "imported": imported,
          "upToDate": report.upToDate + report.filesUpToDate, "activated": report.activated,
          "failures": report.failures,
        ])
      }
      let terminal = Terminal.output
      if let release = report.release, report.failures.isEmpty {
        terminal.line(
          "release \(release) of \(source.readable): \(imported) imported, \(report.upToDate + report.filesUpToDate) up to date"
        )
        if report.activated { terminal.line("\(terminal.styled("✓", .green)) release \(release) is current now") }
        if let held = report.held {
          terminal.line(
            "release \(held) is held and stays current; \"bundlectl release follow\" switches to \(release)")
        }
      }
      for failure in report.failures {
        Terminal.report(failure.message, .red)
      }
    }
  }
}

extension ReleaseStanding: ExpressibleByArgument {}

extension StoredSource {
  /// The stored release of this name. If several have the name, it is followed by `@` and the beginning of a digest.
  func release(named name: String, in opened: BundleStore) async throws -> StoredRelease {
    let releases = try await opened.releases(of: url).map(\.release)
    let ids = releases.uniqueNames
    let found = zip(releases, ids).filter { $0.name == name || $1 == name }
    guard let (only, _) = found.first else {
      let all = ids.joined(separator: ", ")
      throw DescribedError("the store has no release \(name.quotedForMessage) of \(url.readable); it has \(all)")
    }
    guard found.count == 1 else {
      let all = found.map { $1 }.joined(separator: ", ")
      throw DescribedError(
        "the store has \(found.count) releases \(name.quotedForMessage) of \(url.readable): name one of \(all)")
    }
    return only
  }
}

extension [StoredRelease] {
  /// The releases' names. A server may publish other bytes under a former name: a name that several releases have is
  /// followed by the beginning of the manifest's SHA-256.
  var uniqueNames: [String] {
    let repeated = Dictionary(grouping: self, by: \.name).filter { $0.value.count > 1 }
    return map { repeated[$0.name] == nil ? $0.name : "\($0.name)@\($0.digest.hex.prefix(8))" }
  }
}

extension ReleaseSummary {
  /// The time of the switch to it, RFC 3339.
  fileprivate var switchedAt: String? { release.activatedAt.flatMap { $0 > 0 ? String(rfc3339: $0) : nil } }
}

extension [ReleaseSummary] {
  /// The releases as `release list` and `status` print them; `id` is the argument of `release use`.
  var json: [JSONObject] {
    zip(self, map(\.release).uniqueNames).map { summary, id in
      [
        "release": summary.release.name, "id": id, "sequence": summary.release.sequence, "state": summary.role,
        "standing": summary.release.standing, "bad": summary.bad?.description, "isHeld": summary.isHeld,
        "entries": summary.entries, "missing": summary.missing, "bytes": summary.bytes,
        "activatedAt": summary.switchedAt,
      ]
    }
  }
}
