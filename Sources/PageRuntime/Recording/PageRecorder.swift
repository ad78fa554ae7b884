import Foundation
import HTTPTransport
import ScriptEngine

/// The lines of a recording. Each has a letter for its kind, the first eight hexadecimal digits of the SHA-256 of the letter
/// and the JSON, a space, and the JSON.
package enum RecordingLine: UInt8 {
  /// The head, which is the first line.
  case head = 0x48
  /// A text, under its digest.
  case text = 0x54
  /// An entry into the script: what entered it, and what it has done.
  case step = 0x53
  /// A change of the elements that did not come from the script.
  case change = 0x43
  /// The elements after all lines before this one.
  case elements = 0x45
  /// The end.
  case end = 0x5A

  /// The version of the format, which the head has.
  static let format = "recording/1"
  /// The largest length of a recording, in bytes, and the largest number of its steps.
  static let (byteLimit, stepLimit) = (256 << 20, 100_000)
  /// The least number of steps after which the elements are recorded again.
  static let stepsPerElements = 100

  /// - Returns: the line with its end.
  func line(_ json: [UInt8]) -> [UInt8] {
    var line: [UInt8] = []
    line.reserveCapacity(json.count + 11)
    line.append(rawValue)
    line += check(json[...])
    line.append(UInt8(ascii: " "))
    line += json
    line.append(UInt8(ascii: "\n"))
    return line
  }

  /// The last line of a recording.
  ///
  /// - Parameters:
  ///   - reason: why it ends, for its reader.
  ///   - steps: the number of steps before it; `nil` if it is not known.
  package static func ending(_ reason: String, steps: Int? = nil) -> [UInt8] {
    var members: [String: JSONValue] = ["reason": .string(reason)]
    if let steps { members["steps"] = .integer(Int64(steps)) }
    return RecordingLine.end.line(JSONValue.object(members).text)
  }

  /// The first digits of the digest of a line's letter and JSON.
  func check(_ json: ArraySlice<UInt8>) -> Substring.UTF8View {
    guard var digester = try? Digester.sha256() else { return "00000000".utf8[...] }
    withUnsafeBytes(of: rawValue) { digester.update($0) }
    json.withUnsafeBytes { digester.update($0) }
    return ((try? digester.finish().hex) ?? "").utf8.prefix(8)
  }

  /// The SHA-256 in hexadecimal.
  static func digest(_ bytes: [UInt8]) -> String {
    guard var digester = try? Digester.sha256() else { return String(repeating: "0", count: 64) }
    digester.update(bytes)
    return (try? digester.finish().hex) ?? ""
  }
}

/// Records one opening of a page: what enters its script, and its changes of the elements, as lines that are written as they
/// come. Pages that it embeds or pushes are not recorded.
@PageActor package final class PageRecorder {
  private let write: @Sendable ([UInt8]) async -> Void
  private let byteLimit: Int
  private let stepLimit: Int
  /// The lines that are to be written.
  private var waiting: [UInt8] = []
  private var written = 0
  private var steps = 0
  /// The steps since the elements were recorded, and the bytes of all lines since.
  private var (stepsSinceElements, bytesSinceElements) = (0, 0)
  /// The bytes of the line that has recorded the elements last.
  private var elementsLength = 0
  /// The digests of the texts that are recorded.
  private var texts: Set<String> = []
  private var state = State.idle

  private enum State {
    case idle, begun
    /// The last line is written.
    case ended
  }

  /// - Parameters:
  ///   - byteLimit: the length in bytes at which the recording ends; the page goes on.
  ///   - stepLimit: the number of steps at which it ends.
  ///   - write: writes the bytes, which follow those before them. It is called after each step.
  package init(
    byteLimit: Int = RecordingLine.byteLimit, stepLimit: Int = RecordingLine.stepLimit,
    write: @escaping @Sendable ([UInt8]) async -> Void
  ) {
    (self.byteLimit, self.stepLimit, self.write) = (byteLimit, stepLimit, write)
  }

  // MARK: Lines

  /// Records what a page opens with.
  func begin(
    _ opening: ScriptOpening, page: String, _ services: [(name: String, source: String)], _ frameworks: FrameworkPool
  ) {
    guard case .idle = state, let determinism = opening.purpose.determinism else { return }
    state = .begun
    let (purpose, scripts) = (opening.purpose, frameworks.configuration)
    var kept = RecordedText()
    var head: [String: JSONValue] = [
      "pagekit": .string(RecordingLine.format), "page": .string(page), "url": .string(purpose.url),
      "type": .string(purpose.type.rawValue), "bundle": .string(kept.reference(to: purpose.source)),
      "services": .array(services.map { .array([.string($0.name), .string(kept.reference(to: $0.source))]) }),
      "modules": .object(purpose.modules.kinds), "components": ScriptValue.object(purpose.components.names).json,
      "determinism": determinism.recorded, "nodeEnvironment": .string(scripts.nodeEnvironment),
      "environment": scripts.environment.json,
    ]
    if let text = scripts.frameworks[purpose.type] { head["framework"] = .string(kept.reference(to: text)) }
    if let text = opening.prelude { head["prelude"] = .string(kept.reference(to: text)) }
    add(.head, JSONValue.object(head).text)
    keep(kept.texts)
  }

  /// Records an entry into the script, before its changes are applied.
  func record(_ input: ScriptInput, at time: Double, _ outcome: EntryOutcome) {
    guard case .begun = state else { return }
    guard steps < stepLimit else { return end("after \(steps) steps, which is the limit") }
    steps += 1
    stepsSinceElements += 1
    var commands = RecordedText()
    commands.write(outcome.commands)
    var text = RecordedText()
    text.append(#"{"n":"#)
    text.write(steps)
    text.append(#","t":"#)
    text.write(.number(time))
    text.append(#","in":"#)
    text.write(input)
    if !outcome.answers.isEmpty {
      text.append(#","answers":"#)
      text.write(outcome.answers) { $0.write($1) }
    }
    if !outcome.calls.isEmpty {
      text.append(#","calls":"#)
      text.write(outcome.calls.map(\.call)) { $0.write($1) }
    }
    if !outcome.logs.isEmpty {
      text.append(#","logs":"#)
      text.write(.array(outcome.logs.prefix(1_000).map { .array([.string($0.level), .string($0.text)]) }))
    }
    if !outcome.exceptions.isEmpty {
      text.append(#","exceptions":"#)
      text.write(.array(outcome.exceptions.prefix(100).map { .string($0.message) }))
    }
    if let failure = outcome.failure {
      text.append(#","failure":"#)
      text.write("\(failure)")
    }
    text.append(#","digest":"#)
    text.write(String(RecordingLine.digest(commands.bytes).prefix(32)))
    text.append(#","commands":"#)
    keep(text.texts)
    keep(commands.texts)
    add(.step, text.bytes + commands.bytes + [UInt8(ascii: "}")])
  }

  /// Records changes of the elements that do not come from an entry.
  func record(_ commands: [RenderCommand]) {
    guard case .begun = state, !commands.isEmpty else { return }
    var text = RecordedText()
    text.append(#"{"commands":"#)
    text.write(commands)
    text.append("}")
    keep(text.texts)
    add(.change, text.bytes)
  }

  /// Ends the recording. Later calls change nothing.
  ///
  /// - Parameter reason: why it ends, for its reader.
  package func end(_ reason: String) {
    guard case .begun = state else { return }
    state = .ended
    waiting += RecordingLine.ending(reason, steps: steps)
  }

  /// Writes what has been recorded, and waits until it is written.
  ///
  /// - Parameter tree: the elements after all of it.
  func flush(_ tree: ElementTree) async {
    // Elements that are written after as many bytes of steps as they have are at most as long as all steps since the last
    // ones twice over: so a recording grows with its steps, and not with their number times that of the elements.
    if case .begun = state, stepsSinceElements >= RecordingLine.stepsPerElements, bytesSinceElements >= elementsLength {
      var text = RecordedText()
      text.append(#"{"n":"#)
      text.write(steps)
      text.append(#","commands":"#)
      text.write(tree.makingCommands)
      text.append("}")
      keep(text.texts)
      let before = written
      add(.elements, text.bytes)
      (stepsSinceElements, bytesSinceElements, elementsLength) = (0, 0, written - before)
    }
    guard !waiting.isEmpty else { return }
    let bytes = waiting
    waiting = []
    await write(bytes)
  }

  private func add(_ kind: RecordingLine, _ json: [UInt8]) {
    guard case .begun = state else { return }
    let line = kind.line(json)
    guard written + line.count <= byteLimit else {
      return end("after \(written) bytes: the limit is \(byteLimit)")
    }
    written += line.count
    bytesSinceElements += line.count
    waiting += line
  }

  /// Records texts that are not recorded yet.
  private func keep(_ new: [String: String]) {
    for (digest, text) in new.sorted(by: { $0.key < $1.key }) where !texts.contains(digest) {
      texts.insert(digest)
      add(.text, JSONValue.object(["digest": .string(digest), "text": .string(text)]).text)
    }
  }
}

extension PageDeterminism {
  /// The values for the head of a recording. The seed is text: JSON's numbers are not that long.
  fileprivate var recorded: JSONValue {
    .object([
      "seed": .string(String(seed)), "time": .number(milliseconds), "zone": .string(zone), "locale": .string(locale),
      "clock": .string(clock.rawValue),
    ])
  }
}

extension RecordedText {
  mutating func write(_ input: ScriptInput) {
    append("{")
    switch input {
    case .open(let opening):
      write("open", opening.config)
      append(#","data":"#)
      write(opening.data)
    case .call(let method, let arguments, let json):
      write("call", .array(arguments))
      append(#","method":"#)
      write(method)
      if let json {
        append(#","json":["#)
        write(json.name)
        append(",")
        write(.string(json.text))
        append("]")
      }
    case .hooks(let hooks):
      write(
        "hooks",
        .array(
          hooks.map { .array([.string($0.target), .string($0.name), .array($0.arguments), .string($0.component)]) }))
    case .refresh(let data): write("refresh", data)
    case .timer(let id): write("timer", .number(Double(id)))
    case .message(let message, let channel):
      write("message", message)
      append(#","channel":"#)
      write(channel)
    case .settle(let ticket, let result):
      switch result {
      case .success(let value): write("settle", value)
      case .failure(let error): write("reject", .string(error.description))
      }
      append(#","ticket":"#)
      write(ticket)
    }
    append("}")
  }

  private mutating func write(_ kind: StaticString, _ value: ScriptValue) {
    append("\"")
    append(kind)
    append("\":")
    write(value)
  }

  mutating func write(_ answer: CallAnswer) {
    append("{")
    switch answer {
    case .value(let value): write("value", value)
    case .error(let message): write("error", .string(message))
    }
    append("}")
  }

  mutating func write(_ call: ModuleCall) {
    write(
      .array([
        .string(call.ref.map { "#" + $0 } ?? call.module), .string(call.method), .array(call.arguments),
      ]))
  }
}

extension ModuleTable {
  /// The results that each method returns at once, by how a script calls it.
  fileprivate var kinds: [String: JSONValue] {
    modules.mapValues { .object($0.mapValues { .string($0.kind.rawValue) }) }
  }
}
