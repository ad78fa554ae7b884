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
      """
  )
  .with(
    examples: "bundlectl render dist/home.js --fire 12:click --record home.recording",
    "bundlectl replay home.recording",
    "bundlectl replay home.recording --bundle dist/home.js", "bundlectl replay home.recording --list",
    "bundlectl replay home.recording --show 2")

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
