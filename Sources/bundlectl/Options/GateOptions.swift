import ArgumentParser
import Foundation
import PageKit
import PageWorkers
import Releases

extension GateMode: ExpressibleByArgument {}

/// The gate before a release is published.
struct GateOptions: ParsableArguments {
  /// The discussion of commands with these options.
  static let discussion = """
    A release is refused if a page of it throws what the release before did not, exceeds its time or memory, creates no \
    body, uses modules or components that neither it did nor gate.json names, or exceeds a budget: then the exit status is \
    1, and nothing is written. Other differences are shown. gate.json, beside the manifest, has budgets, exemptions, \
    and the folder of recorded answers; it is no file of the release then. A request without an answer fails as without \
    a network.
    """

  @Option(
    name: .customLong("gate"), defaultAsFlag: .fail, parsing: .next,
    help: ArgumentHelp(
      "Run every page first. fail refuses a release; warn only shows why it would.", valueName: "warn|fail"))
  var mode: GateMode?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "With --gate: the folder with answers.json, recorded answers to requests of pages.",
      discussion: "Default: that of gate.json.", valueName: "dir"),
    completion: .directory)
  var answers: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "With --gate: a file for the report, in the form of JUnit: junit=FILE.", valueName: "junit=file"))
  var report: MemberArgument?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "With --gate: the framework file for bundles that need one: Vue, Rax, Weex.", valueName: "file"),
    completion: .file(extensions: ["js"]))
  var framework: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "With --gate: a script to run in pages before their bundles: weex-rax-api.js for Rax 1.", valueName: "file"),
    completion: .file(extensions: ["js"]))
  var prelude: String?

  mutating func validate() throws {
    let given = [
      ("--answers", answers), ("--report", report?.key), ("--framework", framework), ("--prelude", prelude),
    ].filter { $0.1 != nil }.map(\.0)
    if mode == nil, let first = given.first { throw ValidationError("\(first) belongs to --gate.") }
    if let report, report.key != "junit" || report.value.isEmpty {
      throw ValidationError("--report must be junit=FILE.")
    }
  }

  /// Runs the pages of a release, and shows the findings.
  ///
  /// - Parameters:
  ///   - folder: the folder of `gate.json`.
  ///   - json: `true` for a command that prints JSON.
  /// - Returns: the report on a release that may be published.
  /// - Throws: `ExitCode` for one that is refused, ``DescribedError`` if the pages cannot be run.
  func pass(
    _ release: GateRelease, beside former: GateRelease?, settingsIn folder: String, json: Bool
  ) async throws -> GateReport {
    let settings = try GateSettings(in: folder)
    let place = answers ?? settings.answers.map { $0.hasPrefix("/") || folder.isEmpty ? $0 : "\(folder)/\($0)" }
    var configuration = GateRunner.Configuration()
    configuration.frameworkAdvice = { _ in "name its file with --framework FILE" }
    configuration.preludeAdvice = { _ in "name its file with --prelude FILE" }
    if let text = try RenderCommand.script("framework", framework) {
      for type in [BundleType.vue, .rax, .weex] { configuration.frameworks[type] = text }
    }
    if let text = try RenderCommand.script("prelude", prelude) {
      for type in BundleType.allCases { configuration.preludes[type] = text }
    }
    let lines = json ? nil : DrawnLines(.error)
    defer { lines?.end() }
    let runner = GateRunner(configuration, settings, try place.map { try RecordedAnswers(folder: $0) } ?? .init())
    var report = try await runner.report(on: release, beside: former) { done, all in
      lines?.draw(["gate: \(done) of \(Formatting.count(all, "page"))"])
    }
    lines?.erase()
    report.shortenPaths(below: FileManager.default.currentDirectoryPath)
    if let file = self.report?.value { try OutputFile.write(Data(report.junit.utf8), to: file) }
    if !json { report.write(to: .error, mode: mode) }
    guard report.isRefused, mode == .fail else { return report }
    if json { try JSONOutput.print(["error": report.refusal, "gate": report.json]) }
    throw ExitCode.failure
  }
}

extension GateReport {
  /// Writes a line for each finding, and one for all.
  fileprivate func write(to terminal: Terminal, mode: GateMode?) {
    let width = min(findings.map { Formatting.columns($0.page ?? "") }.max() ?? 0, 30)
    for finding in findings {
      let (sign, style): (String, Terminal.Style) =
        switch finding.effect {
        case .refused: ("✗", mode == .warn ? .yellow : .red)
        case .exempt: ("○", .yellow)
        case .shown: ("·", .dim)
        }
      let page = terminal.styled(Formatting.fitted(finding.page ?? "", width), .bold)
      let text = finding.effect == .shown ? terminal.styled(finding.sentence, .dim) : finding.sentence
      terminal.line("\(terminal.styled(sign, style)) \(page)  \(text)")
    }
    let counts = [("refused", GateFinding.Effect.refused), ("exempt", .exempt), ("shown", .shown)].compactMap {
      name, effect in
      let count = findings.count { $0.effect == effect }
      return count > 0 ? "\(count) \(name)" : nil
    }
    let beside = former.map { " beside \($0)" } ?? ""
    let result = counts.isEmpty ? "nothing found" : counts.joined(separator: ", ")
    let took = Formatting.seconds(time.seconds)
    terminal.line("gate: \(Formatting.count(pages.count, "page")) of \(release)\(beside) in \(took): \(result)")
    guard isRefused else { return }
    if mode == .warn {
      terminal.line(terminal.styled("gate: the release goes on (--gate warn)", .yellow))
    } else {
      terminal.line(terminal.styled("gate: the release is refused", .red))
    }
  }
}

extension GateRelease {
  /// A release in a folder, or beside its manifest.
  ///
  /// - Throws: ``DescribedError``, ``ManifestError``.
  init(former place: String) throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: place, isDirectory: &isFolder) else {
      throw DescribedError("\(place) is no folder or manifest of an older release: there is no such file")
    }
    guard let url = PageURL(filePath: isFolder.boolValue ? "\(place)/manifest.json" : place) else {
      throw DescribedError("\(place) cannot be written as a URL")
    }
    if isFolder.boolValue {
      var builder = ManifestBuilder(folder: place)
      builder.excluded = "\(place)/manifest.json"
      builder.hasGate = true
      var manifest = try builder.manifest(following: nil, base: "")
      manifest.release = place
      try self.init(manifest, of: place, at: url)
      return
    }
    let manifest = try InputFile.read(place) { try Manifest(reading: $0) }
    let paths = Dictionary(
      zip((manifest.bundles + manifest.files).map(\.path), try manifest.located(at: url).map(\.contentURL))
    ) { first, _ in first }
    try self.init(manifest, at: url) { entry in
      guard let path = paths[entry.path]?.filePath else {
        throw DescribedError(
          "\(place) says that its files are at \(paths[entry.path]?.origin ?? "a server"): name the folder that has them in the place of the manifest"
        )
      }
      return try InputFile.bytes(path)
    }
  }
}
