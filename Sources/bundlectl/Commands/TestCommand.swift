import ArgumentParser
import Foundation
import PageKit
import PageWorkers
import Synchronization

struct TestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test",
    abstract: "Test pages by the steps in files, and compare their elements with snapshots.",
    discussion: """
      Takes test files, and folders that are searched for *.test.json. Each test opens a bundle in a confined process, \
      taps, types and lets time pass, and says what it expects. There is no network: requests have the answers of the \
      test, and files of the bundle's folder. Time is the page's own, and nothing is waited for. Budgets in the test \
      limit the bundle's size, also after brotli, what the page needs, and the processor time in which it opens.

      A snapshot is a text file in a folder beside the test. A missing one is written, and the output says so. With \
      --ci, or a variable CI in the environment, nothing is written: a missing snapshot and one that no step takes are \
      failures. --update writes what differs and removes what no step takes.

      Exit status: 0 if all tests passed, 1 if not, 64 for wrong usage, 130 when interrupted.
      """
  )
  .with(
    examples: "bundlectl test", "bundlectl test tests/home.test.json --update",
    "bundlectl test tests --ci --report junit=results.xml --report github",
    "bundlectl test --shuffle 7 --jobs 1")

  /// A report and where it goes.
  struct Report: ExpressibleByArgument, Hashable {
    enum Format: String, CaseIterable {
      case junit, github, tap, json
    }

    let format: Format
    /// `nil` for standard output.
    let file: String?

    static let form = "junit=FILE, tap=FILE, json=FILE, or github, which goes to standard output"

    init?(argument: String) {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard let format = parts.first.flatMap({ Format(rawValue: $0) }) else { return nil }
      self.format = format
      file = parts.count > 1 ? parts[1] : nil
      // GitHub reads its commands from the output.
      guard (format == .github) == (file == nil), file?.isEmpty != true else { return nil }
    }
  }

  @Argument(
    help: ArgumentHelp("Test files, and folders with tests; this folder by default.", valueName: "file|dir"),
    completion: .file())
  var paths: [String] = []

  @Flag(name: .long, help: "Write snapshots that differ, and remove those that no step takes.")
  var update = false

  @Flag(name: .long, help: "Write no snapshot, as in an environment with CI.")
  var ci = false

  @Option(
    name: .long, help: ArgumentHelp("Run only tests whose path contains this text.", valueName: "text"))
  var filter: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "A report for programs. Repeatable.",
      discussion: """
        junit=FILE, tap=FILE and json=FILE write a file; github prints annotations for GitHub Actions. A report is the \
        same in every run and order.
        """, valueName: "report"))
  var report: [Report] = []

  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp("A file for the whole text, with differences of any length.", valueName: "file"),
    completion: .file())
  var output: String?

  @Flag(name: .long, help: "Add the time of each test to the output and the reports.")
  var times = false

  @Option(name: .long, help: ArgumentHelp("The longest time of a test, 100ms to 1h.", valueName: "time"))
  var timeout = TimeArgument(seconds: 10)

  @Option(
    name: .long,
    help: ArgumentHelp(
      "The number of tests at once, each in a process of its own. (default: the number of processors)", valueName: "n"))
  var jobs: Int?

  @Option(
    name: .long,
    help: ArgumentHelp("Run the tests in an order that follows from this number.", valueName: "seed"))
  var shuffle: UInt64?

  @Flag(
    name: .long,
    help: ArgumentHelp(
      "Run again whenever a test, its page or its answers change, until interrupted.",
      discussion: """
        On a terminal Enter runs the tests again, a all of them and f those that failed, u updates the snapshots, and q \
        quits with status 0.
        """))
  var watch = false

  func validate() throws {
    guard timeout.isWithin(0.1...3600) else { throw ValidationError("--timeout must be from 100ms to 1h.") }
    guard jobs.map({ (1...64).contains($0) }) ?? true else { throw ValidationError("--jobs must be from 1 to 64.") }
    guard !ci || !update else {
      throw ValidationError("--ci writes no snapshot, and --update writes them: give one of them.")
    }
    guard !watch || !update else {
      throw ValidationError("--update writes what the first run shows: it cannot be used with --watch.")
    }
  }

  func run() async throws {
    let mode = SnapshotMode(isCI: ci, isUpdate: update, environment: ProcessInfo.processInfo.environment)
    var runner = TestRunner(mode: mode, timeout: timeout.duration, seed: shuffle)
    if let jobs { runner.jobs = jobs }
    let session = TestSession(
      paths: paths, filter: filter, runner: runner, reports: report, output: output, hasTimes: times)
    let interruption = await Interruption()
    let keys = watch ? TerminalKeys() : nil
    defer { keys?.end() }
    let hasQuit = Atomic(false)
    let work = Task { [watch] in try await watch ? session.runOnChanges(keys) : session.run() }
    async let _: Void? = keys?.read { key in
      guard key == "q" else { return false }
      hasQuit.store(true, ordering: .sequentiallyConsistent)
      work.cancel()
      return true
    }
    let (outcome, wasInterrupted) = await interruption.watching(cancel: { work.cancel() }) { await work.result }
    if wasInterrupted { throw Interruption.exitCode }
    if hasQuit.load(ordering: .sequentiallyConsistent) { return }
    guard try outcome.get() else { throw ExitCode.failure }
  }
}

/// The runs of one command, with their output.
private struct TestSession: Sendable {
  let paths: [String]
  let filter: String?
  let runner: TestRunner
  let reports: [TestCommand.Report]
  let output: String?
  let hasTimes: Bool

  private func files() throws -> TestFiles {
    var files = try TestFiles(paths.isEmpty ? ["."] : paths)
    if let filter { files.filter(by: filter) }
    return files
  }

  /// - Returns: `true` if all tests passed.
  /// - Throws: ``DescribedError`` if there is nothing to test, or a file cannot be written; `CancellationError`.
  func run() async throws -> Bool { try await !run(files(), runner.mode).hasFailed }

  private func run(_ files: TestFiles, _ mode: SnapshotMode) async throws -> TestReport {
    guard !files.paths.isEmpty else {
      let place = paths.isEmpty ? "this folder" : paths.joined(separator: ", ")
      let text = filter.map { "no test in \(place) has \($0.quotedForMessage) in its path" }
      throw DescribedError(text ?? "there is no *\(PageTest.suffix) in \(place)")
    }
    let tests = TestRunner.read(files.paths)
    let telling = TestReport(results: [], hasTimes: hasTimes)
    var runner = runner
    runner.mode = mode
    let results = await runner.run(tests, of: files.paths) { result in
      for line in telling.lines(of: result, on: .output) { Terminal.output.line(line) }
    }
    try Task.checkCancellation()
    let obsolete = (TestRunner.obsolete(besides: tests) + files.orphans).sorted()
    if mode == .update { try SnapshotFolder.remove(obsolete) }
    let report = TestReport(results: results, obsolete: obsolete, mode: mode, hasTimes: hasTimes)
    for line in report.summary() { Terminal.output.line(line) }
    try write(report)
    return report
  }

  private func write(_ results: TestReport) throws {
    for report in reports {
      let text =
        switch report.format {
        case .junit: results.junit()
        case .github: results.github()
        case .tap: results.tap()
        case .json: try results.json()
        }
      guard let file = report.file else {
        Terminal.output.write(text)
        continue
      }
      try OutputFile.write(Data(text.utf8), to: file)
    }
    if let output { try OutputFile.write(Data(results.text().utf8), to: output) }
  }

  // MARK: Watching

  /// The time between two looks at the keys, and the number of these before the next look at the files.
  private static let lookInterval: Duration = .milliseconds(50)
  private static let looksAtKeys = 4

  /// Runs the tests again whenever their files change or a key says so.
  ///
  /// - Parameter keys: those that are pressed; `nil` without a terminal.
  /// - Throws: `CancellationError`.
  func runOnChanges(_ keys: TerminalKeys?) async throws -> Bool {
    var tests = WatchedTests(mode: runner.mode)
    var mode = runner.mode
    while true {
      let all = try self.files()
      let files = tests.choose(among: all)
      let watched = Self.files(of: TestRunner.read(files.paths), files.paths)
      // The states are taken before the run reads the files, so that no change is missed.
      let former = watched.map(Self.status)
      do {
        tests.finish(try await run(files, mode).results)
      } catch let error as DescribedError {
        // The next change may repair it.
        Terminal.report(error.message, .red)
      }
      if keys != nil { Terminal.error.line(Terminal.error.styled(WatchedTests.keys(runner.mode), .dim)) }
      mode = runner.mode
      var present = all.paths
      waiting: repeat {
        for _ in 0..<Self.looksAtKeys {
          try await Task.sleep(for: Self.lookInterval)
          guard let key = keys?.next() else { continue }
          switch tests.press(key) {
          case .run(let wanted):
            mode = wanted
            break waiting
          case .say(let text): Terminal.error.line(text)
          case .nothing: break
          }
        }
        present = try self.files().paths
      } while present == all.paths && watched.map(Self.status) == former
      Terminal.error.line(
        Terminal.error.styled("── \(Date().formatted(date: .omitted, time: .standard))", .dim))
    }
  }

  /// The files that tests depend on.
  private static func files(of tests: [TestRunner.Reading], _ files: [String]) -> [String] {
    var paths = Set(files)
    for reading in tests {
      switch reading {
      case .success(let test):
        paths.formUnion([test.page, test.framework, test.prelude].compactMap(\.self) + test.answerFiles)
      // It may be in a file that the test names.
      case .failure(let error): paths.insert(error.file)
      }
    }
    return paths.sorted()
  }

  private static func status(of path: String) -> FileStatus? {
    FileStatus(ofLink: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
  }
}
