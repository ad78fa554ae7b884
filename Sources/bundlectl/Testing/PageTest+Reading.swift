import Foundation
import PageKit
import PageWorkers

extension PageTest {
  /// The limits of a test file and of a list of answers, in bytes and values.
  static let fileLimit = 1 << 20
  static let stepLimit = 1_000
  static let answerLimit = 1_000
  private static let jsonLimits = JSONLimits(depth: 64, values: 50_000)
  /// The limit of the body of an answer in bytes.
  static let bodyLimit = 16 << 20
  /// The limit of the time of a page, in seconds before and after 1970.
  static let timeLimit = 1e11

  /// Reads a test file and the answers that it names.
  ///
  /// - Throws: ``TestFileError``.
  init(file: String) throws(TestFileError) {
    try self.init(reading: Self.contents(of: file, Self.fileLimit), file: file)
  }

  /// Reads a test.
  ///
  /// - Parameter file: the path of the test file; what it names is relative to its folder.
  /// - Throws: ``TestFileError``.
  init(reading bytes: [UInt8], file: String) throws(TestFileError) {
    let reader = try TestReader(bytes, file: file, limits: Self.jsonLimits)
    let root = try reader.members(
      of: reader.root,
      [
        "page", "data", "device", "framework", "prelude", "answers", "time", "seed", "zone", "locale", "budgets",
        "steps",
      ])
    guard let page = root["page"] else {
      throw reader.fault(reader.root.place, "expected a member \"page\", found none")
    }
    self.init(file: file, page: reader.path(try reader.text(page, "the file of a bundle")))
    if let value = root["data"] {
      data = ScriptValue(try reader.object(value, "the page's data").value)
    }
    if let value = root["device"] { device = try reader.device(value) }
    if let value = root["framework"] { framework = reader.path(try reader.text(value, "a file")) }
    if let value = root["prelude"] { prelude = reader.path(try reader.text(value, "a file")) }
    if let value = root["answers"] {
      (answers, answerFiles) = try reader.answers(value, bodyLimit: Self.bodyLimit)
    }
    if let value = root["time"] { determinism.time = try reader.time(value) }
    if let value = root["seed"] { determinism.seed = try reader.seed(value) }
    if let value = root["zone"] { determinism.zone = try reader.zone(value) }
    if let value = root["locale"] { determinism.locale = try reader.text(value, "a locale such as \"en-US\"") }
    if let value = root["budgets"] { budgets = try reader.budgets(value) }
    guard let list = root["steps"] else {
      throw reader.fault(reader.root.place, "expected a member \"steps\", found none")
    }
    steps = try reader.steps(list)
  }

  /// The bytes of a file.
  ///
  /// - Throws: ``TestFileError`` if it cannot be read or is longer than a limit.
  fileprivate static func contents(of file: String, _ limit: Int) throws(TestFileError) -> [UInt8] {
    do {
      return try InputFile.bytes(file, limit: limit)
    } catch {
      throw TestFileError(file: file, place: TextPlace(line: 1, column: 1), reason: error.message)
    }
  }
}

/// Reads the values of a test file. Each error has a place and says what was expected there.
private struct TestReader {
  let root: PlacedJSON
  private let file: String
  private let limits: JSONLimits

  /// - Throws: ``TestFileError`` if the text is not JSON.
  init(_ bytes: [UInt8], file: String, limits: JSONLimits) throws(TestFileError) {
    (self.file, self.limits) = (file, limits)
    do {
      root = try PlacedJSON(reading: bytes, limits: limits)
    } catch {
      throw TestFileError(file: file, place: error.place, reason: error.reason)
    }
  }

  func fault(_ place: TextPlace, _ reason: String) -> TestFileError {
    TestFileError(file: file, place: place, reason: reason)
  }

  private func fault(_ value: PlacedJSON, expected: String) -> TestFileError {
    let found =
      switch value.value {
      case .object, .array: value.value.noun
      default: value.value.quotedForMessage
      }
    return fault(value.place, "expected \(expected), found \(found)")
  }

  /// The path of a file that the test names.
  func path(_ name: String) -> String {
    guard !name.hasPrefix("/") else { return name }
    let folder = file.pathParts.folder
    return folder.isEmpty ? name : "\(folder)/\(name)"
  }

  // MARK: Values

  /// The members of an object, which may have these only.
  func members(of value: PlacedJSON, _ names: [String]) throws(TestFileError) -> [String: PlacedJSON] {
    guard let members = value.members else { throw fault(value, expected: "an object") }
    var found: [String: PlacedJSON] = [:]
    for (name, member) in members {
      guard names.contains(name) else {
        throw fault(
          member.namePlace,
          "expected \(names.map { "\"\($0)\"" }.joined(separator: ", ")), found \(name.quotedForMessage)")
      }
      found[name] = member
    }
    return found
  }

  func object(_ value: PlacedJSON, _ what: String) throws(TestFileError) -> PlacedJSON {
    guard value.members != nil else { throw fault(value, expected: "\(what) as an object") }
    return value
  }

  func text(_ value: PlacedJSON, _ what: String) throws(TestFileError) -> String {
    guard case .string(let text) = value.value, !text.isEmpty else {
      throw fault(value, expected: "\(what) as a text")
    }
    return text
  }

  func integer(_ value: PlacedJSON, _ what: String, in range: ClosedRange<Int64>) throws(TestFileError) -> Int64 {
    guard case .integer(let number) = value.value, range.contains(number) else {
      throw fault(value, expected: "\(what) as a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func list(_ value: PlacedJSON, _ what: String, limit: Int) throws(TestFileError) -> [PlacedJSON] {
    guard let elements = value.elements else { throw fault(value, expected: "a list of \(what)") }
    guard elements.count <= limit else {
      throw fault(value.place, "expected at most \(limit) \(what), found \(elements.count)")
    }
    return elements
  }

  func duration(_ value: PlacedJSON) throws(TestFileError) -> Duration {
    guard case .string(let text) = value.value, let time = Duration(text: text), time <= .seconds(31_536_000) else {
      throw fault(value, expected: "a time of at most 365 days, such as \"250ms\", \"2s\" or \"10m\"")
    }
    return time
  }

  func selector(_ value: PlacedJSON) throws(TestFileError) -> ElementSelector {
    guard case .string(let text) = value.value, let selector = ElementSelector(text) else {
      throw fault(value, expected: ElementSelector.form)
    }
    return selector
  }

  func isTrue(_ value: PlacedJSON) throws(TestFileError) -> Bool {
    guard case .bool(let isTrue) = value.value else { throw fault(value, expected: "true or false") }
    return isTrue
  }

  // MARK: Members of a test

  func device(_ value: PlacedJSON) throws(TestFileError) -> PictureOptions.Screen? {
    if case .string(let text) = value.value {
      if let named = PageTest.Device.named[text] { return named }
      if let screen = PictureOptions.Screen(text) { return screen }
    }
    throw fault(value, expected: "a device: \"phone\", \"tablet\", or a screen such as \"375x812@2\"")
  }

  func time(_ value: PlacedJSON) throws(TestFileError) -> Date {
    guard case .string(let text) = value.value, let time = MomentArgument(argument: text)?.date,
      abs(time.timeIntervalSince1970) < PageTest.timeLimit
    else { throw fault(value, expected: "a time such as \"2026-01-01T00:00:00Z\"") }
    return time
  }

  /// A number; one that JSON's are too short for is a text.
  func seed(_ value: PlacedJSON) throws(TestFileError) -> UInt64 {
    if case .string(let text) = value.value, let seed = UInt64(text) { return seed }
    return UInt64(try integer(value, "a seed", in: 0...(.max)))
  }

  func zone(_ value: PlacedJSON) throws(TestFileError) -> String {
    guard case .string(let text) = value.value, TimeZone(identifier: text) != nil else {
      throw fault(value, expected: "a time zone such as \"UTC\" or \"Europe/Berlin\"")
    }
    return text
  }

  /// A time that a page may take.
  private func milliseconds(_ value: PlacedJSON) throws(TestFileError) -> Int {
    guard case .string(let text) = value.value, let time = Duration(text: text),
      (.milliseconds(1)...(.seconds(60))).contains(time)
    else { throw fault(value, expected: "a time from 1 ms to 60 s, such as \"40ms\"") }
    return time.milliseconds
  }

  func budgets(_ value: PlacedJSON) throws(TestFileError) -> [PageTest.Budget] {
    let names = PageTest.Budget.Kind.allCases.map(\.rawValue)
    var budgets: [PageTest.Budget] = []
    let members = try members(of: value, names)
    for kind in PageTest.Budget.Kind.allCases {
      guard let member = members[kind.rawValue] else { continue }
      let limit =
        kind == .processorTime
        ? try milliseconds(member) : Int(try integer(member, "a limit", in: 0...1_000_000_000_000))
      budgets.append(PageTest.Budget(kind: kind, limit: limit, place: member.namePlace))
    }
    return budgets
  }

  // MARK: Answers

  /// A list of answers, or the folder of a file `answers.json` with one.
  ///
  /// - Returns: the answers, and the files that they come from.
  func answers(_ value: PlacedJSON, bodyLimit: Int) throws(TestFileError) -> ([TestAnswer], files: [String]) {
    guard case .string(let folder) = value.value else {
      let answers = try list(of: value, bodyLimit: bodyLimit)
      return (answers, answers.compactMap(\.file))
    }
    let path = path(folder) + "/answers.json"
    let bytes: [UInt8]
    do {
      bytes = try InputFile.bytes(path, limit: PageTest.fileLimit)
    } catch {
      throw fault(value.place, "expected a folder with answers.json, found none: \(error.message)")
    }
    let reader = try TestReader(bytes, file: path, limits: limits)
    let answers = try reader.list(of: reader.root, bodyLimit: bodyLimit)
    return (answers, [path] + answers.compactMap(\.file))
  }

  private func list(of value: PlacedJSON, bodyLimit: Int) throws(TestFileError) -> [TestAnswer] {
    var answers: [TestAnswer] = []
    for element in try list(value, "answers", limit: PageTest.answerLimit) {
      answers.append(try answer(element, bodyLimit: bodyLimit))
    }
    return answers
  }

  private func answer(_ value: PlacedJSON, bodyLimit: Int) throws(TestFileError) -> TestAnswer {
    let bodies = ["body", "json", "text", "failure"]
    let members = try members(of: value, ["url", "method", "status", "headers"] + bodies)
    guard let url = members["url"] else { throw fault(value.place, "expected a member \"url\", found none") }
    var answer = TestAnswer(url: try text(url, "a URL"))
    if let method = members["method"] { answer.method = try text(method, "a method").uppercased() }
    if let status = members["status"] { answer.status = Int(try integer(status, "a status", in: 200...599)) }
    if let headers = members["headers"] {
      for (name, member) in try object(headers, "header fields").members ?? [] {
        guard HTTPField.Name(name) != nil else {
          throw fault(member.namePlace, "expected the name of a header field, found \(name.quotedForMessage)")
        }
        answer.fields[name] = try text(member, "a header field")
      }
    }
    let given = bodies.compactMap { name in members[name].map { (name, $0) } }
    if given.count > 1 {
      throw fault(given[1].1.namePlace, "expected one of \(bodies.joined(separator: ", ")), found \(given.count)")
    }
    guard let (name, body) = given.first else { return answer }
    var type: String?
    switch name {
    case "body":
      let file = path(try text(body, "a file"))
      (answer.file, type) = (file, MediaType.of(path: file))
      do {
        answer.body = try InputFile.bytes(file, limit: bodyLimit)
      } catch {
        throw fault(body.place, error.message)
      }
    case "json": (answer.body, type) = (body.value.text, "application/json")
    case "text":
      guard case .string(let text) = body.value else { throw fault(body, expected: "a text") }
      (answer.body, type) = (Array(text.utf8), "text/plain")
    default: answer.failure = try text(body, "a reason")
    }
    if let type, !answer.fields.keys.contains(where: { $0.lowercased() == "content-type" }) {
      answer.fields["Content-Type"] = type
    }
    return answer
  }

  // MARK: Steps

  /// The name of a step, and the members that it may have beside it.
  private static let steps: [(name: String, others: [String])] = [
    ("snapshot", ["styles"]), ("tap", []), ("input", []), ("fire", []), ("wait", ["within"]), ("advance", []),
    ("expect", []), ("accessible", ["except"]),
  ]

  func steps(_ value: PlacedJSON) throws(TestFileError) -> [PageTest.Step] {
    var steps: [PageTest.Step] = []
    var names: Set<String> = []
    for element in try list(value, "steps", limit: PageTest.stepLimit) {
      let action = try action(element)
      if case .snapshot(let name, _) = action, !names.insert(name.lowercased()).inserted {
        throw fault(
          element["snapshot"]?.place ?? element.place,
          "expected another name of a snapshot, found \(name.quotedForMessage) again")
      }
      steps.append(PageTest.Step(place: element.place, action: action))
    }
    return steps
  }

  private func action(_ value: PlacedJSON) throws(TestFileError) -> PageTest.Action {
    guard let found = value.members else { throw fault(value, expected: "a step as an object") }
    let known = Self.steps.filter { step in found.contains { $0.name == step.name } }
    guard known.count == 1, let step = known.first, let subject = value[step.name] else {
      let names = Self.steps.map(\.name).joined(separator: ", ")
      let given = found.isEmpty ? "none" : found.map { $0.name.quotedForMessage }.joined(separator: " and ")
      throw fault(value.place, "expected one of \(names), found \(given)")
    }
    let others = try members(of: value, [step.name] + step.others)
    switch step.name {
    case "snapshot":
      let name = try text(subject, "the name of a snapshot")
      guard SnapshotFolder.isName(name) else { throw fault(subject, expected: SnapshotFolder.nameForm) }
      return .snapshot(name: name, withStyles: try others["styles"].map(isTrue) ?? false)
    case "tap": return .tap(try selector(subject))
    case "input":
      let parts = try list(subject, "an element and a text", limit: 2)
      guard parts.count == 2, case .string(let text) = parts[1].value else {
        throw fault(subject, expected: "an element and a text, such as [\"#search\", \"tent\"]")
      }
      return .input(try selector(parts[0]), text)
    case "fire":
      let parts = try list(subject, "an element, an event and its members", limit: 3)
      guard parts.count >= 2 else {
        throw fault(subject, expected: "an element and an event, such as [\"list\", \"loadmore\"]")
      }
      let event = parts.count > 2 ? ScriptValue(try object(parts[2], "an event").value) : [:]
      return .fire(try selector(parts[0]), type: try text(parts[1], "an event"), event: event)
    case "wait":
      return .wait(try selector(subject), limit: try others["within"].map(duration) ?? .seconds(10))
    case "advance": return .advance(try duration(subject))
    case "expect": return .expect(try expectations(subject))
    default:
      guard try isTrue(subject) else { throw fault(subject, expected: "true") }
      return .accessible(exceptions: try others["except"].map(exceptions) ?? [])
    }
  }

  private func expectations(_ value: PlacedJSON) throws(TestFileError) -> [Expectation] {
    if case .string = value.value {
      return [Expectation(selector: try selector(value), place: value.place)]
    }
    guard let members = value.members, !members.isEmpty else {
      throw fault(value, expected: "elements and what is expected of them, such as {\"text=Add\": {\"count\": 1}}")
    }
    var expectations: [Expectation] = []
    for (name, member) in members {
      guard let selector = ElementSelector(name) else {
        throw fault(member.namePlace, "expected \(ElementSelector.form), found \(name.quotedForMessage)")
      }
      var expectation = Expectation(selector: selector, place: member.namePlace)
      let wanted = try self.members(of: member, ["count", "attr", "style"])
      if let count = wanted["count"] {
        expectation.count = Int(try integer(count, "a number of elements", in: 0...1_000_000))
      }
      if let attributes = wanted["attr"] { expectation.attributes = try values(attributes) }
      if let style = wanted["style"] { expectation.style = try values(style) }
      expectations.append(expectation)
    }
    return expectations
  }

  private func values(_ value: PlacedJSON) throws(TestFileError) -> [String: JSONValue] {
    guard case .object(let members) = value.value else { throw fault(value, expected: "an object") }
    return members
  }

  private func exceptions(_ value: PlacedJSON) throws(TestFileError) -> [AccessibilityException] {
    var exceptions: [AccessibilityException] = []
    let rules = AccessibilityRule.allCases.map(\.rawValue).joined(separator: ", ")
    for element in try list(value, "exceptions", limit: PageTest.stepLimit) {
      let text = try text(element, "an exception")
      let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
      guard let rule = parts.first.flatMap({ AccessibilityRule(rawValue: $0) }) else {
        throw fault(element, expected: "a rule, one of \(rules), with an element behind it or not")
      }
      let selector = parts.count > 1 ? ElementSelector(parts[1]) : nil
      guard parts.count == 1 || selector != nil else { throw fault(element, expected: ElementSelector.form) }
      exceptions.append(AccessibilityException(rule: rule, selector: selector))
    }
    return exceptions
  }
}
