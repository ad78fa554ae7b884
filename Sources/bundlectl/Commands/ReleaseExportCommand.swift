import ArgumentParser
import Foundation
import PageKit

extension ReleaseCommand {
  struct Export: AsyncParsableCommand {
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

    func run() async throws {
      try await JSONOutput.reporting(options.store.json) {
        let (opened, source) = try await options.source(in: options.store.reading())
        let named = if let name { try await source.release(named: name, in: opened) } else { source.current }
        guard let release = named else {
          throw CommandError("no release of \(source.url.readable) is complete: run \"bundlectl preload\" first")
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
          Terminal.error.line(
            "bundlectl: left out, since they are not stored: \(summary.leftOut.joined(separator: ", "))")
        }
      }
    }
  }

  struct Import: AsyncParsableCommand {
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

    func run() async throws {
      try await JSONOutput.reporting(store.json) {
        try store.check()
        let archive = try ReleaseArchive(reading: file)
        let source = try manifest.map { try PageURL(manifestArgument: $0) } ?? archive.source()
        guard !source.isFile else {
          throw CommandError(
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
    }

    private func configuration(_ source: PageURL) throws -> HostConfiguration {
      var configuration = HostConfiguration(manifest: source, store: store.directory)
      configuration.decidesAboutReleases = false
      if let root {
        configuration.trust = ReleaseTrust(try RootFile(root).root, freshFor: freshFor?.duration).withoutStatus
      }
      configuration.keepsSignatures = true
      configuration.allowsReadOnlyStore = false
      configuration.logger = store.logger
      // What is not in the file does not come by asking again.
      configuration.retry.attempts = 1
      return configuration
    }

    /// Imports what the release needs, and then the entries on demand that the file has too.
    private static func report(of host: PageHost, _ transport: ArchiveTransport) async -> PreloadReport {
      guard let preloader = host.preloader else { return PreloadReport() }
      var report = await preloader.withoutPrefetching(host.configuration.preload).start().report()
      guard report.failures.isEmpty, !transport.onDemand.isEmpty else { return report }
      var options = host.configuration.preload
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
        Terminal.error.line("bundlectl: \(Terminal.error.styled(failure.error, .red))")
      }
    }
  }
}
