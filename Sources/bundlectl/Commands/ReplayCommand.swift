import ArgumentParser
import Foundation
import PageKit
import PageWorkers

struct ReplayCommand: JSONCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Run a recorded page again, and compare its elements step by step.",
    discussion: """
      Takes a file that render --record has written. Nothing but the page's script runs: its requests and calls get \
      the answers that were recorded, at the recorded times. Exit status: 0 if the elements are those of the \
      recording after each step, 1 if they are not, or if the file is damaged.

      A step is all that one entry into the script has done: the bundle's first run, an event, an answer, a timer.

      --as-test makes a test of the recording, for \"bundlectl test\": the bundle, its answers, and a step for each tap, \
      typed text and other event, with a snapshot at the start and at the end. It says what a test cannot have, runs the \
      test once, and ends with 1 if the test fails or its last elements are not those of the recording.
      """
  )
  .with(
    examples: "bundlectl render dist/home.js --fire 12:click --record home.recording",
    "bundlectl replay home.recording",
    "bundlectl replay home.recording --bundle dist/home.js", "bundlectl replay home.recording --list",
    "bundlectl replay home.recording --show 2", "bundlectl replay home.recording --as-test tests")

  @Argument(help: "The recording.", completion: .file())
  var file: String

  @Option(name: .long, help: ArgumentHelp("Run up to this step.", valueName: "step"))
  var to: Int?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Run this bundle in place of the recorded one: the first step that it changes is shown.", valueName: "file"),
    completion: .file(extensions: ["js"]))
  var bundle: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Write a test of the recording into this folder, and run it. Files that are there are not replaced.",
      valueName: "dir"),
    completion: .directory)
  var asTest: String?

  @Flag(name: .long, help: "List the steps, and run nothing.")
  var list = false

  @Option(name: .long, help: ArgumentHelp("Show the elements after a step, and run nothing.", valueName: "step"))
  var show: Int?

  @Flag(name: .long, help: "Show the elements' styles, and compare by them in what is shown.")
  var styles = false

  @OptionGroup var scriptTime: ScriptTimeOptions

  @Flag(
    name: .long,
    help: """
      Run the script in the command's own process, without confinement and without a memory limit. Only for recordings \
      that you trust.
      """)
  var inProcess = false

  @Flag(name: .long, help: "Print one JSON object.")
  var json = false

  /// The largest number of lines of a difference that are shown.
  private static let lineLimit = 200
  /// The largest part of a recording that a process is sent.
  private static let processLimit = 60 << 20

  func validate() throws {
    for (name, step) in [("to", to), ("show", show)] {
      if let step, step < 1 { throw ValidationError("--\(name) is \(step): steps count from 1.") }
    }
    guard !list || show == nil else { throw ValidationError("--list and --show cannot be used together.") }
    guard !list && show == nil || to == nil && bundle == nil else {
      throw ValidationError("--\(list ? "list" : "show") runs nothing: it cannot be used with --to or --bundle.")
    }
    guard asTest == nil || !list && show == nil && bundle == nil && !inProcess && !json else {
      throw ValidationError(
        "--as-test writes a test: it cannot be used with --list, --show, --bundle, --in-process or --json.")
    }
    guard asTest != "" else { throw ValidationError("The folder of --as-test has an empty name.") }
  }

  func perform() async throws {
    let recording = try InputFile.read(file) { bytes in
      guard bytes.count <= Recording.fileLimit else {
        throw DescribedError("it has \(bytes.count) bytes; the limit is \(Recording.fileLimit)")
      }
      return try Recording(reading: bytes)
    }
    if let to, to > recording.stepCount {
      throw DescribedError("\(file): \(RecordingError.noStep(to, count: recording.stepCount))")
    }
    if recording.ending == nil {
      Terminal.report("\(file) was cut off: it has \(Formatting.count(recording.stepCount, "whole step"))", .yellow)
    }
    do {
      if list { return try showSteps(recording) }
      if let show { return try showElements(recording, show) }
      if let asTest { return try await makeTest(of: recording, in: asTest) }
      try await run(recording)
    } catch let error as RecordingError {
      throw DescribedError("\(file): \(error)")
    }
  }

  private func showSteps(_ recording: Recording) throws {
    let steps = try (0..<recording.stepCount).map { try recording.step($0 + 1) }
    let began = steps.first?.time ?? 0
    if json {
      return try JSONOutput.print([
        "url": recording.url, "ending": recording.ending,
        "steps": steps.map { step in
          [
            "step": step.number, "milliseconds": step.time - began, "title": step.title,
            "commands": step.commands.count,
            "calls": step.calls, "logs": step.logs, "exceptions": step.exceptions,
          ] as JSONObject
        },
      ])
    }
    for step in steps {
      let time = "+\(Formatting.seconds((step.time - began) / 1_000))"
      Terminal.output.line(
        "\(step.number)  \(Formatting.fitted(time, 8)) \(step.title): \(Formatting.count(step.commands.count, "change"))"
      )
      for text in step.calls + step.logs + step.exceptions.map({ "threw \($0)" }) {
        Terminal.output.line(Terminal.output.styled("     \(text)", .dim))
      }
    }
  }

  private func showElements(_ recording: Recording, _ step: Int) throws {
    let tree = try recording.tree(after: step)
    if json { return try JSONOutput.print(["step": step, "root": tree.json]) }
    Terminal.output.write(Terminal.output.styled(outline: tree.outline(withStyles: styles) + "\n"))
  }

  private func run(_ recording: Recording) async throws {
    let source = try bundle.map { path in
      let bytes = try InputFile.read(path) { bytes in
        if let fault = BundleFault(in: bytes) { throw DescribedError("it is not a bundle: \(fault)") }
        return bytes
      }
      return String(decoding: bytes, as: UTF8.self)
    }
    let difference = try await compared(recording, source)
    let ran = difference?.step.number ?? min(recording.stepCount, to ?? .max)
    if json {
      try JSONOutput.print([
        "url": recording.url, "steps": recording.stepCount, "ending": recording.ending, "ran": ran,
        "equal": difference == nil, "difference": difference.map(object),
      ])
    } else if let difference {
      report(difference)
    } else {
      Terminal.output.line("\(Formatting.count(ran, "step")): the elements are those of the recording after each")
    }
    if difference != nil { throw ExitCode.failure }
  }

  private func compared(_ recording: Recording, _ source: String?) async throws -> ReplayDifference? {
    let time = scriptTime.limit
    if inProcess { return try await recording.replay(bundle: source, to: to, limits: ScriptLimits(time: time)) }
    let lines = recording.linesToRun(bundle: source)
    guard lines.count <= Self.processLimit else {
      throw DescribedError(
        "\(file): its steps have \(lines.count) bytes; the limit is \(Self.processLimit) for a process of their own, and --in-process has none"
      )
    }
    let process = try await ReplayProcess(recording, lines, WorkerLimits(time: time, memory: 512 << 20))
    do {
      let difference = try await recording.compare(to: to) { try await process.run($0) }
      await process.end()
      return difference
    } catch {
      await process.end()
      throw error
    }
  }

  // MARK: Tests

  /// Writes a test of the recording, and runs it.
  private func makeTest(of recording: Recording, in folder: String) async throws {
    let recorded = try RecordedTest(recording, to: to)
    let files = try recorded.files().map { (path: "\(folder)/\($0.path)", bytes: $0.bytes) }
    let test = "\(folder)/\(recorded.testFile)"
    // A snapshot of another test would be compared with.
    let snapshots = SnapshotFolder(ofTest: test).path
    if let present = (files.map(\.path) + [snapshots]).first(where: { FileStatus(ofLink: $0) != nil }) {
      throw DescribedError("\(present) is there already, and is not replaced: nothing was written")
    }
    for (path, bytes) in files {
      let parent = path.pathParts.folder
      do {
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
      } catch {
        throw DescribedError("\(parent) cannot be made: \(error.plainReason)")
      }
      try OutputFile.write(Data(bytes), to: path, replaces: false)
      Terminal.output.line(path)
    }
    for (kind, count) in recorded.leftOut.sorted(by: { $0.key < $1.key }) {
      Terminal.output.line("left out: \(kind) (\(count))")
    }
    for note in recorded.notes { Terminal.output.line("note: \(note)") }
    guard try await passes(recorded, test) else { throw ExitCode.failure }
  }

  /// Runs the new test, which writes its snapshots.
  ///
  /// - Returns: `true` if it passes, and its elements at the end are those of the recording.
  private func passes(_ recorded: RecordedTest, _ file: String) async throws -> Bool {
    let test = try PageTest(file: file)
    let timeout: Duration = .seconds(60)
    let worker = TestWorker(timeout: timeout)
    var end = ElementTree()
    let result = await TestRun.result(of: test, mode: .local, timeout: timeout, on: worker) { end = $0 }
    await worker.stop()
    let report = TestReport(results: [result])
    for line in report.lines(of: result, on: .output) + report.summary() { Terminal.output.line(line) }
    guard result.hasPassed else { return false }
    let path = URL(fileURLWithPath: test.page).standardizedFileURL.path
    let shown = end.snapshot(
      withStyles: true, withStates: false, folder: PageURL(filePath: path)?.resolving(".")?.text ?? "")
    let wanted = recorded.end.snapshot(withStyles: true, withStates: false, folder: recorded.folder)
    guard shown != wanted else { return true }
    Terminal.output.line("the test ends with other elements than the recording (-)")
    Terminal.output.line(OutlineDifference(from: wanted, to: shown).text(limit: Self.lineLimit))
    return false
  }

  private func lines(of difference: ReplayDifference) -> [String] {
    // Elements may differ in what the outline leaves out.
    let plain = LineDifference(
      from: difference.recorded.outline(withStyles: styles), to: difference.found.outline(withStyles: styles))
    guard plain.lines.isEmpty else { return plain.lines }
    return LineDifference(
      from: difference.recorded.outline(withStyles: true), to: difference.found.outline(withStyles: true)
    ).lines
  }

  private func object(_ difference: ReplayDifference) -> JSONObject {
    [
      "step": difference.step.number, "title": difference.step.title, "exceptions": difference.exceptions,
      "lines": lines(of: difference),
    ]
  }

  private func report(_ difference: ReplayDifference) {
    Terminal.output.line(
      "step \(difference.step.number), \(difference.step.title): other elements than in the recording (-)")
    for message in difference.exceptions { Terminal.output.line("the script threw: \(message)") }
    let lines = lines(of: difference)
    for line in lines.prefix(Self.lineLimit) {
      let style: Terminal.Style? = line.hasPrefix("-") ? .red : line.hasPrefix("+") ? .green : nil
      Terminal.output.line(style.map { Terminal.output.styled(line, $0) } ?? line)
    }
    if lines.count > Self.lineLimit {
      Terminal.output.line("… (\(lines.count - Self.lineLimit) more lines; --json has all)")
    }
  }
}
