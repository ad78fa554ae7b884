import Foundation
import HTTPTransport
import ScriptEngine

/// A recording of a page, read from a file.
package struct Recording: Sendable {
  /// The URL of the bundle.
  package var url: String { head.url }
  /// The time, the random numbers, the zone and the locale of the page.
  package var determinism: PageDeterminism { head.determinism }
  /// The number of steps.
  package var stepCount: Int { steps.count }
  /// Why the recording ended; `nil` if it was cut off, as when its program was killed.
  package private(set) var ending: String?

  let head: RecordingHead
  private(set) var reader: RecordedTextReader
  private var bytes: [UInt8]
  /// The length of all lines that were read: what follows is no whole line.
  private var lineEnd = 0
  private var lines: [Line] = []
  /// The places of the steps among the lines.
  private var steps: [Int] = []

  private struct Line {
    let kind: RecordingLine
    /// The place of the line in the file, and that of its JSON.
    let start: Int
    let json: Range<Int>
  }

  /// The longest file that is read. A recording itself ends before.
  package static let fileLimit = RecordingLine.byteLimit + (1 << 20)
  static let limits = JSONLimits(depth: 600, values: 10_000_000)
  /// The letter, the digits, and the space.
  private static let prefixLength = 10

  /// Reads a recording. A last line that is not whole is left out.
  ///
  /// - Throws: ``RecordingError``.
  package init(reading bytes: [UInt8]) throws {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
      throw RecordingError.foreign(bytes.isEmpty ? "it is empty" : "it has no line")
    }
    let first = try Self.line(bytes, 0..<end, isFirst: true)
    guard first.kind == .head else { throw RecordingError.foreign("it does not begin with the head of a recording") }
    head = try Self.reading(first) { try RecordingHead(try Self.json(bytes, first)) }
    reader = RecordedTextReader(texts: [:])
    self.bytes = bytes
    lines = [first]
    lineEnd = end + 1
    try readLines()
  }

  /// Reads what has been written since: the bytes that follow those that were read.
  ///
  /// - Throws: ``RecordingError``. The recording has the lines before the damaged one then.
  package mutating func append(_ more: [UInt8]) throws {
    bytes += more
    try readLines()
  }

  /// The number of bytes that were read.
  package var byteCount: Int { bytes.count }

  private mutating func readLines() throws {
    while lineEnd < bytes.count, let end = bytes[lineEnd...].firstIndex(of: UInt8(ascii: "\n")) {
      let line = try Self.line(bytes, lineEnd..<end, isFirst: false)
      switch line.kind {
      case .head: throw RecordingError.damaged(byte: line.start, "there is a second head")
      case .text:
        let json = try Self.reading(line) { ScriptValue(try Self.json(bytes, line)) }
        guard let digest = json["digest"].string, let text = json["text"].string else {
          throw RecordingError.damaged(byte: line.start, "it has no text")
        }
        reader.texts[digest] = text
      case .step: steps.append(lines.count)
      case .change, .elements: break
      case .end:
        ending = try Self.reading(line) { ScriptValue(try Self.json(bytes, line))["reason"].string ?? "" }
      }
      lines.append(line)
      lineEnd = end + 1
    }
  }

  private static func line(_ bytes: [UInt8], _ range: Range<Int>, isFirst: Bool) throws -> Line {
    func fault(_ reason: String) -> RecordingError {
      isFirst ? .foreign(reason) : .damaged(byte: range.lowerBound, reason)
    }
    guard range.count > prefixLength, bytes[range.lowerBound + prefixLength - 1] == UInt8(ascii: " ") else {
      throw fault("a line has no kind and digits before its JSON")
    }
    guard let kind = RecordingLine(rawValue: bytes[range.lowerBound]) else {
      throw fault("there is no kind of line \(String(UnicodeScalar(bytes[range.lowerBound])).quotedForMessage)")
    }
    let json = range.lowerBound + prefixLength..<range.upperBound
    let digits = bytes[range.lowerBound + 1..<range.lowerBound + prefixLength - 1]
    guard digits.elementsEqual(kind.check(bytes[json])) else {
      let text = String(decoding: digits, as: UTF8.self)
      throw fault("its digits are \(text.quotedForMessage), and those of its JSON are others")
    }
    return Line(kind: kind, start: range.lowerBound, json: json)
  }

  private static func json(_ bytes: [UInt8], _ line: Line) throws -> JSONValue {
    try JSONValue(reading: Array(bytes[line.json]), limits: limits)
  }

  private static func reading<Value>(_ line: Line, _ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as RecordingError {
      throw error
    } catch let fault as RecordedTextReader.Fault {
      throw RecordingError.damaged(byte: line.start, fault.reason)
    } catch {
      throw RecordingError.damaged(byte: line.start, "\(error)")
    }
  }

  /// A text that the head names.
  func text(_ digest: String) throws -> String {
    do {
      return try reader.text(digest)
    } catch let fault as RecordedTextReader.Fault {
      throw RecordingError.damaged(byte: 0, fault.reason)
    }
  }

  /// The lines that a run of the script needs: all but the elements, and the end.
  ///
  /// - Parameter bundle: the text of the bundle to run; `nil` for that of the recording.
  package func linesToRun(bundle: String? = nil) -> [UInt8] {
    var needed: [UInt8] = []
    for line in lines where [.head, .text, .step].contains(line.kind) {
      needed += bytes[line.start...line.json.upperBound]
    }
    if let bundle {
      // Of two texts with the same digest the last one counts.
      let text: JSONValue = .object(["digest": .string(head.bundle), "text": .string(bundle)])
      needed += RecordingLine.text.line(text.text)
    }
    return needed
  }

  /// The bytes of the recording up to a step, and to the changes that come before the next one: a recording that was cut off
  /// there.
  ///
  /// - Throws: ``RecordingError`` if there is no such step.
  package func beginning(to number: Int) throws -> [UInt8] {
    _ = try step(number)
    return number < stepCount ? Array(bytes[..<lines[steps[number]].start]) : bytes
  }

  /// The step of a number, from 1.
  ///
  /// - Throws: ``RecordingError``.
  package func step(_ number: Int) throws -> RecordedStep {
    try check(number)
    let line = lines[steps[number - 1]]
    return try Self.reading(line) { try RecordedStep(number, try Self.json(bytes, line), reader) }
  }

  private func check(_ number: Int) throws {
    guard (1...max(1, stepCount)).contains(number), stepCount > 0 else {
      throw RecordingError.noStep(number, count: stepCount)
    }
  }

  /// The changes of the elements between a step and the next one: those that did not come from the script.
  ///
  /// - Parameter number: the number of the step; 0 for those before the first.
  /// - Throws: ``RecordingError``.
  package func changes(after number: Int) throws -> [RenderCommand] {
    let first = number == 0 ? 0 : steps[number - 1] + 1
    let end = number < steps.count ? steps[number] : lines.count
    return try lines[first..<end].filter { $0.kind == .change }.flatMap(commands)
  }

  private func commands(_ line: Line) throws -> [RenderCommand] {
    try Self.reading(line) {
      guard case .object(let members) = try Self.json(bytes, line) else {
        throw RecordedTextReader.Fault(reason: "it has no commands")
      }
      return try reader.commands(members["commands"] ?? .null)
    }
  }

  /// The elements after a step, and after the changes that come before the next one. The script does not run: they are made
  /// of the elements that were recorded last before the step, and of the changes since.
  ///
  /// - Parameter number: the number of the step, from 1.
  /// - Throws: ``RecordingError``.
  package func tree(after number: Int) throws -> ElementTree {
    try check(number)
    let end = number < steps.count ? steps[number] : lines.count
    let first = lines[..<end].lastIndex { $0.kind == .elements } ?? 0
    var tree = ElementTree()
    for line in lines[first..<end] where [.elements, .step, .change].contains(line.kind) {
      tree.applyAll(try commands(line))
    }
    return tree
  }
}

extension ElementTree {
  /// Applies commands as a page does: those that the tree refuses change nothing.
  package mutating func applyAll(_ commands: [RenderCommand]) {
    for command in commands { try? apply(command) }
  }
}

/// The error of a file that is not a recording, or not a whole one.
package enum RecordingError: Error, Hashable, CustomStringConvertible {
  /// It is something else.
  case foreign(String)
  /// A newer program has made it.
  case newer(String)
  /// The line that begins at this byte is not as it was written.
  case damaged(byte: Int, String)
  case noStep(Int, count: Int)
  /// The script has made other elements when it ran again up to this step.
  case otherElements(after: Int)
  /// The process that runs the script has sent something else than a step.
  case malformedRun

  package var description: String {
    switch self {
    case .foreign(let reason): "it is not a recording of a page: \(reason) (byte 0)"
    case .newer(let format):
      "it has the format \(format.quotedForMessage), and this program reads \(RecordingLine.format): a newer one has made it (byte 0)"
    case .damaged(let byte, let reason): "it is damaged in the line that begins at byte \(byte): \(reason)"
    case .malformedRun: "the process that runs its script has sent something else than a step"
    case .otherElements(let number):
      "its script ran again and made other elements: those after step \(number) are not the recorded ones"
    case .noStep(let number, let count): "it has the steps 1 to \(count), and no step \(number)"
    }
  }
}

/// The first input of a recorded page: its bundle, and what it was given.
struct RecordingHead: Sendable {
  let page: String
  let url: String
  let type: BundleType
  /// The digests of texts.
  let bundle: String
  let framework: String?
  let prelude: String?
  let services: [(name: String, digest: String)]
  let modules: ModuleTable
  let components: ComponentTable
  let determinism: PageDeterminism
  let nodeEnvironment: String
  let environment: ScriptValue

  init(_ json: JSONValue) throws {
    let head = ScriptValue(json)
    guard let format = head["pagekit"].string else { throw RecordingError.foreign("its head names no format") }
    guard format == RecordingLine.format else {
      throw format.hasPrefix("recording/") ? RecordingError.newer(format) : .foreign("its format is \(format)")
    }
    let fixed = head["determinism"]
    guard let page = head["page"].string, let url = head["url"].string,
      let type = head["type"].string.flatMap({ BundleType(rawValue: $0) }), let bundle = head["bundle"].string,
      let seed = fixed["seed"].string.flatMap({ UInt64($0) }), let time = fixed["time"].number,
      let zone = fixed["zone"].string, let locale = fixed["locale"].string,
      let clock = fixed["clock"].string.flatMap({ PageDeterminism.Clock(rawValue: $0) })
    else { throw RecordedTextReader.Fault(reason: "the head lacks what the page opened with") }
    (self.page, self.url, self.type, self.bundle) = (page, url, type, bundle)
    (framework, prelude) = (head["framework"].string, head["prelude"].string)
    services = (head["services"].array ?? []).compactMap { service in
      guard let name = service[0].string, let digest = service[1].string else { return nil }
      return (name, digest)
    }
    determinism = PageDeterminism(
      seed: seed, time: Date(timeIntervalSince1970: time / 1_000), zone: zone, locale: locale, clock: clock)
    nodeEnvironment = head["nodeEnvironment"].string ?? ScriptConfiguration.defaultNodeEnvironment
    environment = head["environment"]
    var modules = ModuleTable()
    for (module, methods) in head["modules"].object ?? [:] {
      let kinds = (methods.object ?? [:]).compactMapValues { $0.string.flatMap { ModuleMethod.Kind(rawValue: $0) } }
      modules.set(module, kinds.mapValues { ModuleMethod(replayed: $0) })
    }
    self.modules = modules
    var components = ComponentTable()
    for (type, methods) in head["components"].object ?? [:] {
      let names = (methods.array ?? []).compactMap(\.string)
      components.add(type, methods: Dictionary(names.map { ($0, .idle) }) { $1 })
    }
    self.components = components
  }
}

/// An entry into a page's script, as it was recorded.
package struct RecordedStep: Sendable {
  /// The number, from 1.
  package let number: Int
  /// The time of the script in milliseconds since 1970.
  package let time: Double
  /// The input of the script, in one line: `call fireEvent #12 click`.
  package let title: String
  /// The changes of the elements.
  package let commands: [RenderCommand]
  /// The digest of the changes.
  package let digest: String
  /// The calls that the script has made.
  package let made: [RecordedCall]
  /// The calls that the script has made, each in one line.
  package var calls: [String] { made.map(\.title) }
  /// The texts that it has logged.
  package let logs: [String]
  /// The messages of the errors that it has thrown, and of the one that ended it.
  package let exceptions: [String]
  let input: RecordedInput
  let answers: [CallAnswer]

  init(_ number: Int, _ json: JSONValue, _ reader: RecordedTextReader) throws {
    guard case .object(let members) = json, case .object(let entered)? = members["in"] else {
      throw RecordedTextReader.Fault(reason: "it has no input")
    }
    self.number = number
    time = ScriptValue(members["t"] ?? .null).number ?? 0
    input = try RecordedInput(try entered.mapValues(reader.value))
    title = input.title
    commands = try reader.commands(members["commands"] ?? .null)
    digest = ScriptValue(members["digest"] ?? .null).string ?? ""
    func list(_ name: String) throws -> [ScriptValue] { try members[name].map(reader.value)?.array ?? [] }
    made = try list("calls").map { call in
      RecordedCall(
        module: call[0].string ?? "", method: call[1].string ?? "", arguments: call[2].array ?? [])
    }
    logs = try list("logs").map { "\($0[0].string ?? "log"): \($0[1].string ?? "")" }
    exceptions =
      try list("exceptions").compactMap(\.string)
      + [members["failure"].flatMap { ScriptValue($0).string }].compactMap(\.self)
    answers = try list("answers").map { answer in
      if let message = answer["error"].string { return .error(message) }
      return .value(answer["value"])
    }
  }
}

/// A call that a recorded script has made.
package struct RecordedCall: Sendable {
  /// The module; for a component, the ref of its element behind `#`.
  package let module: String
  package let method: String
  package let arguments: [ScriptValue]

  package init(module: String, method: String, arguments: [ScriptValue]) {
    (self.module, self.method, self.arguments) = (module, method, arguments)
  }

  /// The call in one line.
  var title: String { "\(module).\(method)(\(arguments.map(\.outlineText).joined(separator: ", ")))" }

  /// The id of the callback at a place among the arguments; `nil` if there is none.
  package func callback(at index: Int) -> String? {
    arguments.indices.contains(index) ? arguments[index].reference.flatMap { $0.isEmpty ? nil : $0 } : nil
  }
}

/// An entry of a recorded script, as far as a test can say it.
package enum RecordedEntry: Sendable {
  case open(data: ScriptValue)
  /// An event of an element.
  case event(ref: String, type: String, event: ScriptValue)
  /// An event in a cell that a template made: its ref is that of the template.
  case templateEvent(type: String)
  /// An answer to a callback; `json` is the text of its member `data`, if it was given as JSON.
  case answer(callback: String, value: ScriptValue, json: String?)
  case timer
  /// Hooks of components in cells, which follow from the page's elements.
  case hooks
  /// Any other entry, by a noun for several of its kind.
  case other(String)
}

extension RecordedStep {
  /// The entry that the step began with.
  package var entry: RecordedEntry {
    switch input {
    case .open(_, let data): return .open(data: data)
    case .entry(.open(let opening)): return .open(data: opening.data)
    case .entry(.call("fireEvent", let arguments, _)):
      guard arguments.count >= 2, let ref = arguments[0].reference, let type = arguments[1].string else {
        return .other("events without an element")
      }
      guard arguments.count < 5 else { return .templateEvent(type: type) }
      return .event(ref: ref, type: type, event: arguments.count > 2 ? arguments[2] : [:])
    case .entry(.call("callback", let arguments, let json)):
      return .answer(
        callback: arguments.first?.reference ?? "", value: arguments.count > 1 ? arguments[1] : .undefined,
        json: json?.text)
    case .entry(.call(let method, _, _)): return .other("calls of \(method.quotedForMessage)")
    case .entry(.hooks): return .hooks
    case .entry(.refresh): return .other("new data")
    case .entry(.timer): return .timer
    case .entry(.message): return .other("messages of channels")
    case .entry(.settle): return .other("answers to promises")
    }
  }
}

/// The texts and settings that a recorded page was opened with.
package struct RecordedPage: Sendable {
  package let bundle: String
  /// The framework file, and the script that ran before the bundle; `nil` if there was none.
  package let framework: String?
  package let prelude: String?
  /// The names of the services beside the page.
  package let services: [String]
  /// `process.env.NODE_ENV`; `nil` for that of pages by default.
  package let nodeEnvironment: String?
  /// The object that the script has seen as `WXEnvironment`.
  package let environment: ScriptValue
}

extension Recording {
  /// Returns the texts and settings that the page was opened with.
  ///
  /// - Throws: ``RecordingError`` if a text is missing.
  package func page() throws -> RecordedPage {
    RecordedPage(
      bundle: try text(head.bundle), framework: try head.framework.map(text), prelude: try head.prelude.map(text),
      services: head.services.map(\.name),
      nodeEnvironment: head.nodeEnvironment == ScriptConfiguration.defaultNodeEnvironment
        ? nil : head.nodeEnvironment,
      environment: head.environment)
  }
}

/// An input of a recorded script.
enum RecordedInput: Sendable {
  case open(config: ScriptValue, data: ScriptValue)
  /// All other inputs.
  case entry(ScriptInput)

  init(_ members: [String: ScriptValue]) throws {
    func int(_ name: String) throws -> Int {
      guard let number = members[name]?.int else { throw RecordedTextReader.Fault(reason: "it has no number \(name)") }
      return number
    }
    if let config = members["open"] {
      self = .open(config: config, data: members["data"] ?? .undefined)
    } else if let arguments = members["call"]?.array, let method = members["method"]?.string {
      var json: (name: String, text: String)?
      if let name = members["json"]?[0].string, let text = members["json"]?[1].string { json = (name, text) }
      self = .entry(.call(method: method, arguments, json: json))
    } else if let hooks = members["hooks"]?.array {
      self = .entry(
        .hooks(
          hooks.map { hook in
            (
              target: hook[0].string ?? "", name: hook[1].string ?? "", arguments: hook[2].array ?? [],
              component: hook[3].string ?? ""
            )
          }))
    } else if let data = members["refresh"] {
      self = .entry(.refresh(data))
    } else if members["timer"] != nil {
      self = .entry(.timer(try int("timer")))
    } else if let message = members["message"], let channel = members["channel"]?.string {
      self = .entry(.message(message, channel: channel))
    } else if let value = members["settle"] {
      self = .entry(.settle(ticket: try int("ticket"), .success(value)))
    } else if let reason = members["reject"]?.string {
      self = .entry(.settle(ticket: try int("ticket"), .failure(DescribedError(reason))))
    } else {
      throw RecordedTextReader.Fault(reason: "its input is not known")
    }
  }

  /// The input in one line.
  var title: String {
    switch self {
    case .open: "open"
    case .entry(.open): "open"
    case .entry(.call("fireEvent", let arguments, _)):
      "event \(arguments.dropFirst().first?.string ?? "") of #\(arguments.first?.reference ?? "")"
    case .entry(.call("callback", let arguments, _)): "answer to callback \(arguments.first?.reference ?? "")"
    case .entry(.call(let method, _, _)): method
    case .entry(.hooks(let hooks)):
      "hooks of \(hooks.count == 1 ? "1 component" : "\(hooks.count) components") in cells"
    case .entry(.refresh): "new data"
    case .entry(.timer(let id)): "timer \(id)"
    case .entry(.message(_, let channel)): "message of the channel \(channel.quotedForMessage)"
    case .entry(.settle(let ticket, .success)): "answer to call \(ticket)"
    case .entry(.settle(let ticket, .failure)): "refusal of call \(ticket)"
    }
  }
}
