import Foundation
import PageKit

/// A test that does what a recording has.
struct RecordedTest: Sendable {
  /// The name of the test and of the bundle's file: letters, digits, `-` and `_`.
  let name: String
  let page: RecordedPage
  let determinism: PageDeterminism
  private(set) var data: ScriptValue = [:]
  /// The screen; `nil` for that of tests.
  private(set) var device: PictureOptions.Screen?
  private(set) var answers: [TestAnswer] = []
  private(set) var actions: [PageTest.Action] = []
  /// The entries that no step can say: their number, by a noun for several of their kind.
  private(set) var leftOut: [String: Int] = [:]
  /// Sentences about what the test has not from the recording.
  private(set) var notes: [String] = []
  /// The elements at the end of the recording.
  private(set) var end = ElementTree()
  /// The URL of the recorded page's folder.
  let folder: String

  /// The names of the snapshots.
  static let (startSnapshot, endSnapshot) = ("start", "end")
  /// The largest part of a name that comes from the page's URL.
  private static let nameLimit = 60
  /// Texts up to this length are among the answers; longer ones, and JSON, have files of their own.
  private static let inlineText = 200
  /// The fields of answers that do not fit a body that has been read, or that are a user's.
  private static let leftFields: Set<String> = [
    "connection", "content-encoding", "content-length", "set-cookie", "transfer-encoding",
  ]

  /// Decides about the steps.
  ///
  /// - Parameter last: the number of the last recorded step that counts; `nil` for all.
  /// - Throws: ``RecordingError``; ``DescribedError`` if the test would have more steps than tests may have.
  init(_ recording: Recording, to last: Int? = nil) throws {
    name = Self.name(ofPage: recording.url)
    page = try recording.page()
    determinism = recording.determinism
    let began = determinism.time.timeIntervalSince1970
    guard abs(began) < PageTest.timeLimit else {
      throw DescribedError("the recording began \(began) s after 1970, which is no time of a test")
    }
    folder = PageURL(recording.url)?.resolving(".")?.text ?? ""
    if recording.url.contains("?") { notes.append("the page's URL has a query, which a test does not have") }
    takeEnvironment()
    var steps = RecordedSteps(startingAt: began * 1_000)
    end.applyAll(try recording.changes(after: 0))
    let count = min(recording.stepCount, last ?? .max)
    for number in 0..<count {
      let step = try recording.step(number + 1)
      if case .open(let value) = step.entry { take(value) }
      take(step)
      try steps.add(step.entry, at: step.time, calling: step.made, in: end)
      end.applyAll(step.commands)
      // Those before the next step: the text that is typed then is among them, which no name of an element has.
      end.applyAll(try recording.changes(after: number + 1))
    }
    steps.finish()
    (actions, leftOut) = (steps.actions, steps.leftOut)
    finishAnswers()
    if let ending = recording.ending, ending != "closed" {
      notes.append("the recording ended before the page: \(ending.quotableStart)")
    }
  }

  /// The name of a test for a page's URL, which may say anything.
  static func name(ofPage url: String) -> String {
    var last = url.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").last ?? ""
    if let dot = last.firstIndex(of: ".") { last = last[..<dot] }
    let plain = last.unicodeScalars.filter {
      $0.isASCII && ($0.properties.isAlphabetic || "0123456789-_".unicodeScalars.contains($0))
    }
    let name = String(String.UnicodeScalarView(plain.drop { "-_".unicodeScalars.contains($0) }.prefix(nameLimit)))
    return name.isEmpty ? "page" : name
  }

  private mutating func take(_ value: ScriptValue) {
    if value.object != nil {
      data = value
    } else if !value.isNothing {
      notes.append("the page's data is no object, and a test has none")
    }
  }

  private mutating func takeEnvironment() {
    let (found, plain) = (page.environment.object ?? [:], DefaultConfiguration().environment.object ?? [:])
    let screen = ["deviceWidth", "deviceHeight", "scale"]
    if let width = found["deviceWidth"]?.number, let height = found["deviceHeight"]?.number,
      let scale = found["scale"]?.number, scale > 0, let across = Int(exactly: (width / scale).rounded()),
      let down = Int(exactly: (height / scale).rounded()),
      let device = PictureOptions.Screen("\(across)x\(down)@\(scale)")
    {
      if device != PageTest.Device.phone { self.device = device }
    } else {
      notes.append("the page's screen is none that a test has")
    }
    let others = Set(found.keys).union(plain.keys).subtracting(screen).filter { found[$0] != plain[$0] }.sorted()
    if !others.isEmpty {
      notes.append("members of WXEnvironment are those of a test: \(others.prefix(20).joined(separator: ", "))")
    }
    if let mode = page.nodeEnvironment {
      notes.append("process.env.NODE_ENV is that of a test, and was \(mode.quotedForMessage)")
    }
    if !page.services.isEmpty {
      notes.append("a test has no services: \(page.services.prefix(20).joined(separator: ", "))")
    }
  }

  // MARK: Answers

  /// The requests without an answer so far, by the ids of their callbacks.
  private var asked: [String: (method: String, url: String, isText: Bool)] = [:]
  /// The places of the options of requests among the arguments, by the methods of `stream`; the callback is behind them.
  private static let options = ["fetch": 0, "fetchWithArrayBuffer": 1, "sendHttp": 0]
  /// The places of the answers, by the same ids.
  private var answered: [String: Int] = [:]

  /// Takes the answer that a step is, and the requests that it makes.
  private mutating func take(_ step: RecordedStep) {
    if case .answer(let callback, let value, let json) = step.entry {
      if let request = asked.removeValue(forKey: callback) {
        answered[callback] = answers.count
        let text = request.isText ? value.string ?? "" : nil
        answers.append(
          text.map { Self.answer(request.method, request.url, text: $0) }
            ?? Self.answer(request.method, request.url, value, json))
      } else if let place = answered[callback] {
        // What the cache had came first, and the server's answer now.
        answers[place] = Self.answer(answers[place].method, answers[place].url, value, json)
      }
    }
    for call in step.made where call.module == "stream" {
      guard let place = Self.options[call.method], call.arguments.indices.contains(place),
        let url = call.arguments[place]["url"].string, !url.isEmpty, !url.isDataURL,
        let callback = call.callback(at: place + 1)
      else { continue }
      let method = (call.arguments[place]["method"].string ?? "GET").uppercased()
      // This one gives the body alone.
      asked[callback] = (method, url, call.method == "sendHttp")
    }
  }

  /// - Parameter text: the body; empty if there was none, or no answer.
  private static func answer(_ method: String, _ url: String, text: String) -> TestAnswer {
    var answer = TestAnswer(method: method, url: url)
    answer.body = Array(text.utf8)
    if answer.body.count > inlineText { answer.file = "txt" }
    return answer
  }

  private static func answer(_ method: String, _ url: String, _ value: ScriptValue, _ json: String?) -> TestAnswer {
    var answer = TestAnswer(method: method, url: url)
    guard let status = value["status"].number.flatMap({ Int(exactly: $0) }), (200...599).contains(status) else {
      let reason = value["data"].string ?? ""
      answer.failure = reason.isEmpty ? "there was no answer" : reason
      return answer
    }
    answer.status = status
    for (name, field) in value["headers"].object ?? [:] {
      guard let text = field.string, !text.isEmpty, HTTPField.Name(name) != nil, HTTPField.isValidValue(text),
        !leftFields.contains(name.lowercased())
      else { continue }
      // The body is written as UTF-8.
      answer.fields[name] =
        name.lowercased() == "content-type"
        ? String(text.prefix { $0 != ";" }).trimmingCharacters(in: .whitespaces) : text
    }
    answer.body = Array((json ?? value["data"].string ?? "").utf8)
    answer.file = json == nil && answer.body.count <= inlineText ? nil : json == nil ? "txt" : "json"
    return answer
  }

  private mutating func finishAnswers() {
    if !asked.isEmpty { notes.append("\(Formatting.count(asked.count, "request")) had no answer") }
    if answers.count > PageTest.answerLimit {
      notes.append(
        "a test has at most \(PageTest.answerLimit) answers: \(answers.count - PageTest.answerLimit) more are left out")
      answers.removeLast(answers.count - PageTest.answerLimit)
    }
    for index in answers.indices where answers[index].body.count > PageTest.bodyLimit {
      notes.append(
        "the answer of \(answers[index].url.quotableStart) has \(answers[index].body.count) bytes, and was left out: the limit is \(PageTest.bodyLimit)"
      )
      (answers[index].body, answers[index].file, answers[index].failure) = (
        [], nil, "the answer was too long for a test"
      )
    }
    for index in answers.indices {
      if let ending = answers[index].file { answers[index].file = "\(index + 1).\(ending)" }
    }
    (asked, answered) = ([:], [:])
  }

  // MARK: Files

  /// The path of the test's file in its folder.
  var testFile: String { name + PageTest.suffix }

  /// The files of the test, by their paths in its folder, in the order in which they are written.
  ///
  /// - Throws: ``DescribedError`` if a file would be longer than tests are read.
  func files() throws -> [(path: String, bytes: [UInt8])] {
    var files: [(path: String, bytes: [UInt8])] = [("\(name).js", Array(page.bundle.utf8))]
    if let framework = page.framework { files.append((frameworkFile, Array(framework.utf8))) }
    if let prelude = page.prelude { files.append((preludeFile, Array(prelude.utf8))) }
    if !answers.isEmpty {
      for answer in answers {
        if let file = answer.file { files.append(("\(answerFolder)/\(file)", answer.body)) }
      }
      files.append(("\(answerFolder)/answers.json", Array(Self.lines("[", answers.map(\.written), "]\n").utf8)))
    }
    files.append((testFile, Array(text.utf8)))
    for (path, bytes) in files where path.hasSuffix(PageTest.suffix) || path.hasSuffix("/answers.json") {
      guard bytes.count <= PageTest.fileLimit else {
        throw DescribedError(
          "\(path) would have \(bytes.count) bytes; the limit is \(PageTest.fileLimit): give an earlier step with --to")
      }
    }
    return files
  }

  private var frameworkFile: String { "\(name).framework.js" }
  private var preludeFile: String { "\(name).prelude.js" }
  private var answerFolder: String { "answers/\(name)" }

  /// The test's file, as people write it.
  var text: String {
    let began = determinism.time.timeIntervalSince1970
    let isWhole = began.rounded() == began
    // The style cuts what is less than a millisecond, and a recorded millisecond may be a little less than one.
    let time = Date(timeIntervalSince1970: isWhole ? began : began + 0.000_1)
      .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: !isWhole))
    var members: [(String, JSONValue)] = [("page", .string("\(name).js"))]
    if data.object?.isEmpty == false { members.append(("data", data.json)) }
    if let device { members.append(("device", .string("\(device)"))) }
    if page.framework != nil { members.append(("framework", .string(frameworkFile))) }
    if page.prelude != nil { members.append(("prelude", .string(preludeFile))) }
    if !answers.isEmpty { members.append(("answers", .string(answerFolder))) }
    members += [
      ("time", .string(time)),
      ("seed", Int64(exactly: determinism.seed).map { .integer($0) } ?? .string(String(determinism.seed))),
      ("zone", .string(determinism.zone)), ("locale", .string(determinism.locale)),
    ]
    let steps = Self.lines("[", actions.map(\.written), "]", indent: "    ", last: "  ")
    let written = members.map { "\(JSONValue.string($0.0).spaced): \($0.1.spaced)" } + ["\"steps\": \(steps)"]
    return Self.lines("{", written, "}\n")
  }

  private static func lines(
    _ start: String, _ parts: [String], _ end: String, indent: String = "  ", last: String = ""
  ) -> String {
    "\(start)\n\(parts.map { indent + $0 }.joined(separator: ",\n"))\n\(last)\(end)"
  }
}

/// The steps of a test that follow from the entries of a recording.
struct RecordedSteps {
  private(set) var actions: [PageTest.Action] = [.snapshot(name: RecordedTest.startSnapshot, withStyles: false)]
  private(set) var leftOut: [String: Int] = [:]
  /// The time of the test's page, in milliseconds since 1970.
  private var clock: Double
  /// The timers that are due until this long after the clock run by themselves.
  private var reach = settling
  /// The time of the last timer that does not.
  private var due: Double?
  private var timers: Set<String> = []
  /// The names of calls by the ids of their callbacks; `nil` for those that a test answers.
  private var callers: [String: String?] = [:]
  private var hasInput = false
  private var scrolled: String?
  private var typed: (ref: String, text: String, step: Int)?

  /// The times in milliseconds within which timers belong to a step, and from which a user has waited before an input.
  private static let (settling, pause) = (PendingWork.timerLimit.seconds * 1_000, 500.0)
  /// The longest time that a step lets pass, in milliseconds.
  private static let longest = 31_536_000_000.0
  /// The events that a page's elements fire by themselves.
  private static let ownEvents: Set<String> = ["viewappear", "viewdisappear", "load"]
  /// The members of taps and of typing that tell where and when they were.
  private static let incidental: Set<String> = ["type", "timestamp", "position"]

  init(startingAt clock: Double) { self.clock = clock }

  /// Adds what an entry is in a test.
  ///
  /// - Parameter tree: the elements before the entry.
  /// - Throws: ``DescribedError`` if a test cannot have so many steps.
  mutating func add(_ entry: RecordedEntry, at time: Double, calling made: [RecordedCall] = [], in tree: ElementTree)
    throws
  {
    switch entry {
    case .open, .hooks: break
    case .timer: pass(timerAt: time)
    case .answer(let callback, _, _):
      if timers.contains(callback) {
        pass(timerAt: time)
      } else if let caller = callers[callback, default: "other calls"] {
        leftOut["answers of \(caller)", default: 0] += 1
      }
    case .event(let ref, let type, let event): try add(type, event, of: ref, at: time, in: tree)
    case .templateEvent(let type): leftOut["events \(type.quotableStart) of cells of a template", default: 0] += 1
    case .other(let kind): leftOut[kind, default: 0] += 1
    }
    for call in made {
      if call.module == "timer", let callback = call.callback(at: 0) { timers.insert(callback) }
      let isAnswered = ["stream", "timer"].contains(call.module)
      for place in call.arguments.indices {
        guard let callback = call.callback(at: place) else { continue }
        callers[callback] = .some(isAnswered ? nil : "\(call.module).\(call.method)".quotableStart)
      }
    }
  }

  /// Ends the steps.
  mutating func finish() {
    if let due { advance(to: due) }
    actions.append(.snapshot(name: RecordedTest.endSnapshot, withStyles: false))
  }

  // MARK: Time

  private mutating func pass(timerAt time: Double) {
    if due == nil, time <= clock + reach {
      clock = max(clock, time)
    } else {
      due = max(due ?? 0, time)
    }
  }

  private mutating func advance(to time: Double) {
    let milliseconds = (time - clock).rounded(.up)
    guard milliseconds >= 1, milliseconds <= Self.longest else { return }
    actions.append(.advance(.milliseconds(Int(milliseconds))))
    (clock, reach, due) = (time, 1, nil)
  }

  // MARK: Events

  private mutating func add(
    _ type: String, _ event: ScriptValue, of ref: String, at time: Double, in tree: ElementTree
  ) throws {
    guard !Self.ownEvents.contains(type), hasInput || !["appear", "disappear"].contains(type) else { return }
    // A page that is told of a scroll tells what follows from it.
    if ["loadmore", "scrollend"].contains(type), scrolled == ref { return }
    scrolled = type == "scroll" ? ref : nil
    let shown = tree.expanded
    guard let element = shown[ref] else {
      return leftOut["events \(type.quotableStart) of elements that are gone", default: 0] += 1
    }
    guard shown.listens(to: type, at: element) else {
      return leftOut["events \(type.quotableStart) that no element listens to", default: 0] += 1
    }
    let members = event.object ?? [:]
    let isTap = type == "click" && element.events.contains(type) && Self.incidental.isSuperset(of: members.keys)
    guard let selector = ElementSelector(for: element, listeningTo: type, isTap: isTap, in: shown) else {
      return leftOut["events \(type.quotableStart) of elements that a test cannot name", default: 0] += 1
    }
    if type == "change", let typed, typed.ref == ref, typed.step == actions.count - 1,
      members["value"]?.string == typed.text
    {
      actions[typed.step] = .input(selector, typed.text)
      self.typed = nil
      return
    }
    let rest = max(due ?? 0, time)
    if due != nil || rest - clock >= Self.pause { advance(to: rest) }
    // With the snapshot and the time at the end.
    guard actions.count < PageTest.stepLimit - 2 else {
      throw DescribedError(
        "the recording has more inputs than the \(PageTest.stepLimit) steps of a test: give an earlier step with --to")
    }
    typed = nil
    let isText = ["input", "textarea"].contains(element.type) && type == "input"
    if isTap {
      actions.append(.tap(selector))
    } else if isText, let text = members["value"]?.string,
      Self.incidental.union(["value"]).isSuperset(of: members.keys)
    {
      if element.events.contains("change") {
        // A step that types fires both: it is one if the other one follows.
        typed = (ref, text, actions.count)
        actions.append(.fire(selector, type: type, event: ["value": .string(text)]))
      } else {
        actions.append(.input(selector, text))
      }
    } else {
      actions.append(.fire(selector, type: type, event: .object(members)))
    }
    (reach, hasInput) = (Self.settling, true)
  }
}

extension ElementSelector {
  /// The longest text that an element is named by, and the number of elements in it whose texts may name it.
  private static let (textLimit, partLimit) = (80, 20)

  /// The name that a person would give an element: its text if no other one with that text listens, else its `id`, else its
  /// type, else its place among those of its type.
  ///
  /// - Parameters:
  ///   - type: the event that the element, or one around it, listens to.
  ///   - isTap: `true` if the element around a text may be meant by the text, as in taps.
  ///   - tree: the elements, expanded.
  /// - Returns: `nil` if its type is no name.
  init?(for element: ElementTree.Element, listeningTo type: String, isTap: Bool, in tree: ElementTree) {
    /// The element that an event reaches if its step names another one.
    func target(_ named: ElementTree.Element) -> String? {
      guard isTap else { return tree.listens(to: type, at: named) ? named.ref : nil }
      return try? tree.clicked(.ref(named.ref)).ref
    }
    func names(_ selector: ElementSelector, isOnly: Bool) -> Bool {
      let found = selector.all(in: tree)
      guard let first = found.first, target(first) == element.ref else { return false }
      return !isOnly || found.allSatisfy { target($0).map { $0 == element.ref } ?? true }
    }
    // The value of a field is what the user types.
    let parts = tree.preorder(from: element.ref).prefix(isTap ? Self.partLimit : 1)
    let texts = parts.filter { !["input", "textarea"].contains($0.type) }.compactMap { part in
      part.attributes["value"]?.plainText.flatMap { $0.count <= Self.textLimit ? ElementSelector("text=\($0)") : nil }
    }
    if let text = texts.first(where: { names($0, isOnly: true) }) {
      self = text
    } else if let id = element.attributes["id"]?.plainText.flatMap({ ElementSelector("#\($0)") }),
      names(id, isOnly: false)
    {
      self = id
    } else if let place = tree.all(.type(element.type)).firstIndex(where: { $0.ref == element.ref }) {
      let plain = ElementSelector(element.type)
      if let plain, plain.all(in: tree).count == 1 {
        self = plain
      } else if let numbered = ElementSelector("\(element.type)[\(place + 1)]") {
        self = numbered
      } else {
        return nil
      }
    } else {
      return nil
    }
  }
}

// MARK: - Writing

extension PageTest.Action {
  /// The step as people write it. Those that no recording has are not written.
  fileprivate var written: String {
    switch self {
    case .snapshot(let name, let withStyles):
      "{\"snapshot\": \(JSONValue.string(name).spaced)\(withStyles ? ", \"styles\": true" : "")}"
    case .tap(let selector): "{\"tap\": \(selector.written)}"
    case .input(let selector, let text): "{\"input\": [\(selector.written), \(JSONValue.string(text).spaced)]}"
    case .fire(let selector, let type, let event):
      "{\"fire\": [\(selector.written), \(JSONValue.string(type).spaced)\(event.object?.isEmpty == false ? ", " + event.json.spaced : "")]}"
    case .advance(let time):
      time.milliseconds % 1_000 == 0
        ? "{\"advance\": \"\(time.milliseconds / 1_000)s\"}" : "{\"advance\": \"\(time.milliseconds)ms\"}"
    case .wait, .expect, .accessible: "{}"
    }
  }
}

extension ElementSelector {
  fileprivate var written: String { JSONValue.string(description).spaced }
}

extension TestAnswer {
  /// The answer as people write it.
  fileprivate var written: String {
    var members = ["\"url\": \(JSONValue.string(url).spaced)"]
    if method != "GET" { members.append("\"method\": \(JSONValue.string(method).spaced)") }
    if status != 200 { members.append("\"status\": \(status)") }
    if !fields.isEmpty {
      members.append("\"headers\": \(JSONValue.object(fields.mapValues { .string($0) }).spaced)")
    }
    if let failure {
      members.append("\"failure\": \(JSONValue.string(failure).spaced)")
    } else if let file {
      members.append("\"body\": \(JSONValue.string(file).spaced)")
    } else if !body.isEmpty {
      members.append("\"text\": \(JSONValue.string(String(decoding: body, as: UTF8.self)).spaced)")
    }
    return "{\(members.joined(separator: ", "))}"
  }
}

extension JSONValue {
  /// The value as JSON in a line, with a space behind commas and colons.
  fileprivate var spaced: String {
    var result = ""
    var isInText = false
    var isEscaped = false
    // Of the writer's text, which has no space between its parts.
    for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
      result.unicodeScalars.append(scalar)
      if isInText {
        if !isEscaped, scalar == "\"" { isInText = false }
        isEscaped = !isEscaped && scalar == "\\"
      } else if scalar == "\"" {
        isInText = true
      } else if scalar == "," || scalar == ":" {
        result += " "
      }
    }
    return result
  }
}
