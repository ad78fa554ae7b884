import Foundation
import PageKit
import PageWorkers
import Synchronization

/// Runs the steps of a test.
struct TestRun {
  private let test: PageTest
  private let mode: SnapshotMode
  private let timeout: Duration
  private let worker: TestWorker
  private let url: PageURL
  private let bytes: [UInt8]
  private let resources: ResourceLoader
  private let answers: TestAnswers
  private let faults: FaultReader
  private let alarm = Alarm()
  private var result: TestResult
  private var state = TestWorker.State()
  private var mostElements = 0
  private var mostLevels = 0
  /// The least processor time of an opening; `nil` if it was not measured.
  private var openingTime: Duration?

  /// `true` once the time of a test is over.
  private final class Alarm: Sendable {
    let hasRung = Atomic<Bool>(false)
  }

  /// The steps in which the time passes while an element is waited for.
  private static let waitStep: Duration = .milliseconds(50)
  /// The failures of a test that are kept.
  private static let failureLimit = 100
  /// The largest number of openings of which the least processor time counts: a page that is fast enough once is.
  private static let timedRuns = 5
  /// The limit of elements that a message lists.
  private static let listLimit = 8

  /// Runs a test.
  ///
  /// - Parameters:
  ///   - mode: what may happen to snapshots.
  ///   - timeout: the longest time from the opening of the page to the last step.
  ///   - ended: called with the page's elements after the last step that has run.
  static func result(
    of test: PageTest, mode: SnapshotMode, timeout: Duration, on worker: TestWorker,
    ended: (ElementTree) -> Void = { _ in }
  ) async -> TestResult {
    let began = ContinuousClock.now
    var result: TestResult
    do {
      let setting = try TestWorker.Setting(test)
      var run = try TestRun(test, mode, timeout, worker)
      try await worker.prepare(for: setting)
      result = await run.execute()
      ended(run.state.tree)
    } catch {
      result = TestResult(file: test.file)
      result.failures = [
        TestResult.Failure(
          place: TextPlace(line: 1, column: 1), subject: "the page", message: error.message, isError: true)
      ]
    }
    result.time = .now - began
    return result
  }

  /// - Throws: ``DescribedError`` if the page's file cannot be read or is not a bundle.
  private init(_ test: PageTest, _ mode: SnapshotMode, _ timeout: Duration, _ worker: TestWorker) throws {
    (self.test, self.mode, self.timeout, self.worker) = (test, mode, timeout, worker)
    bytes = try InputFile.bytes(test.page, limit: Int(ManifestLimits.standard.fileBytes))
    if let fault = BundleFault(in: bytes) { throw DescribedError("\(test.page) is not a bundle: \(fault)") }
    let path = URL(fileURLWithPath: test.page).standardizedFileURL.path
    guard let url = PageURL(filePath: path) else { throw DescribedError("\(test.page) is not the path of a bundle") }
    self.url = url
    var configuration = ResourceLoader.Configuration()
    configuration.localFolder = path.pathParts.folder
    resources = ResourceLoader(
      cache: try ResponseCache(store: NoResponseStore(), memoryCapacity: 0, allowingNone: true),
      transport: UnansweredTransport(), configuration: configuration)
    answers = TestAnswers(test.answers, page: url, resources: resources)
    faults = FaultReader(resources, url: url) { [bytes] in String(decoding: bytes, as: UTF8.self) }
    result = TestResult(file: test.file)
  }

  private mutating func execute() async -> TestResult {
    let ringing = Task { [alarm, worker, timeout] in
      guard (try? await Task.sleep(for: timeout)) != nil else { return }
      alarm.hasRung.store(true, ordering: .sequentiallyConsistent)
      await worker.stop()
    }
    await perform()
    await worker.close()
    await measureAgain()
    ringing.cancel()
    await ringing.value
    checkBudgets()
    let record = answers.record
    result.notes = record.logs + record.unanswered.map { "the test has no answer for \($0)" }
    return result
  }

  private mutating func perform() async {
    let start = test.steps.first?.place ?? TextPlace(line: 1, column: 1)
    do {
      try await take(worker.open(test, at: url, bytes, answers), at: start, "open")
      openingTime = state.openingTime
    } catch {
      return fail(start, "open", text(of: error))
    }
    guard state.failure == nil else { return }
    for step in test.steps {
      result.steps += 1
      do {
        try await perform(step)
      } catch {
        return fail(step.place, step.action.summary, text(of: error))
      }
      guard state.failure == nil else { return }
    }
  }

  /// Takes over the state of the page after a call.
  private mutating func take(_ next: TestWorker.State, at place: TextPlace, _ subject: String) async {
    state = next
    mostElements = max(mostElements, next.tree.count)
    mostLevels = max(mostLevels, (next.tree.elements.values.map(\.depth).max() ?? -1) + 1)
    for exception in next.exceptions { await fail(place, subject, exception) }
    guard let failure = next.failure else { return }
    if let stop = failure.stop {
      fail(place, subject, text(of: stop))
    } else if let exception = failure.exception {
      // Most have been told already.
      if next.exceptions.isEmpty { await fail(place, subject, exception) }
    } else {
      fail(place, subject, relative(failure.text))
    }
  }

  // MARK: Steps

  /// - Throws: the reason why the test cannot go on.
  private mutating func perform(_ step: PageTest.Step) async throws {
    let (place, subject) = (step.place, step.action.summary)
    switch step.action {
    case .snapshot(let name, let withStyles): try compare(name, withStyles, at: place)
    case .tap(let selector):
      let target = try clicked(selector)
      let next = try await worker.fire("click", on: target.ref, [:])
      await take(next, at: place, subject)
    case .input(let selector, let text):
      let field = try element(selector)
      guard ["input", "textarea"].contains(field.type) else {
        throw DescribedError("expected \(selector) to be an input or a textarea, found a \(field.type)")
      }
      await take(try await worker.fire("input", on: field.ref, ["value": .string(text)]), at: place, subject)
      // A device fires it when the field loses the focus.
      if state.failure == nil, state.tree[field.ref]?.events.contains("change") == true {
        await take(try await worker.fire("change", on: field.ref, ["value": .string(text)]), at: place, subject)
      }
    case .fire(let selector, let type, let event):
      let target = try element(selector)
      guard state.tree.listens(to: type, at: target) else {
        let known = Set(state.tree.expanded.elements.values.flatMap(\.events)).sorted()
        let others =
          known.isEmpty ? "no element listens to events" : "elements listen to \(known.joined(separator: ", "))"
        throw DescribedError(
          "neither \(selector) nor an element around it listens to \(type.quotedForMessage); \(others)")
      }
      await take(try await worker.fire(type, on: target.ref, event), at: place, subject)
    case .wait(let selector, let limit):
      var rest = limit
      while selector.first(in: state.tree) == nil {
        guard rest > .zero else { throw missing(selector, "within \(limit.inSeconds) of the page's time") }
        let time = min(rest, Self.waitStep)
        rest -= time
        await take(try await worker.advance(by: time), at: place, subject)
        if state.failure != nil { return }
      }
    case .advance(let time): await take(try await worker.advance(by: time), at: place, subject)
    case .expect(let expectations):
      for expectation in expectations {
        for fault in expectation.faults(in: state.tree) { fail(expectation.place, subject, fault) }
      }
    case .accessible(let exceptions):
      for finding in AccessibilityRule.findings(in: state.tree, except: exceptions) {
        fail(place, subject, "\(finding)")
      }
    }
  }

  private mutating func compare(_ name: String, _ withStyles: Bool, at place: TextPlace) throws {
    let subject = "snapshot \(name)"
    guard state.tree.body != nil else { return fail(place, subject, "the page has no elements") }
    let folder = SnapshotFolder(ofTest: test.file)
    let shown = state.tree.snapshot(withStyles: withStyles, folder: url.resolving(".")?.text ?? "")
    guard shown.utf8.count <= SnapshotFolder.sizeLimit else {
      return fail(
        place, subject,
        "the snapshot has \(shown.utf8.count) bytes, and the limit is \(SnapshotFolder.sizeLimit >> 20) MiB")
    }
    let stored = try folder.stored(name)
    let file = folder.file(name)
    switch mode.verdict(stored: stored, shown: shown) {
    case .same: break
    case .write(let isNew):
      try folder.write(shown, name)
      if isNew { result.written.append(file) } else { result.updated.append(file) }
    case .missing:
      fail(place, subject, "there is no snapshot \(file), and none is written here: run the test without --ci and CI")
    case .differs:
      fail(
        place, subject, "the page differs from \(file): --update writes what it shows",
        difference: OutlineDifference(from: stored ?? "", to: shown))
    }
  }

  /// The element that a tap reaches.
  private func clicked(_ selector: ElementSelector) throws -> ElementTree.Element {
    let tree = state.tree.expanded
    guard let found = selector.first(in: tree) else { throw missing(selector) }
    do {
      return try tree.clicked(.ref(found.ref))
    } catch {
      guard selector.number == nil else {
        throw DescribedError("neither \(selector) nor an element around it listens to \"click\"")
      }
      throw ClickError.notClickable(selector.query)
    }
  }

  private func element(_ selector: ElementSelector) throws -> ElementTree.Element {
    guard let element = selector.first(in: state.tree) else { throw missing(selector) }
    return element
  }

  /// An error that says what the page has instead.
  private func missing(_ selector: ElementSelector, _ limit: String? = nil) -> DescribedError {
    let tree = state.tree.expanded
    let elements = tree.root.map { tree.preorder(from: $0) } ?? []
    let noun: String
    var known: [String]
    switch selector.query {
    case .id: (noun, known) = ("ids", elements.compactMap { $0.attributes["id"]?.plainText })
    case .text: (noun, known) = ("texts", elements.compactMap { $0.attributes["value"]?.plainText })
    case .type, .ref: (noun, known) = ("types", Set(elements.map(\.type)).sorted())
    }
    known.removeAll(where: \.isEmpty)
    let some = known.prefix(Self.listLimit).map(\.quotedForMessage).joined(separator: ", ")
    let found =
      known.isEmpty ? "it has no \(noun)" : "its \(noun) are \(some)\(known.count > Self.listLimit ? ", …" : "")"
    return DescribedError("expected an element \(selector)\(limit.map { " \($0)" } ?? ""), found none; \(found)")
  }

  // MARK: Ends

  /// Opens the page again while that takes more processor time than its budget, and keeps the least time.
  private mutating func measureAgain() async {
    guard let budget = test.budgets.first(where: { $0.kind == .processorTime }) else { return }
    for _ in 1..<Self.timedRuns {
      guard let time = openingTime, time.milliseconds > budget.limit, state.failure == nil else { return }
      let answers = TestAnswers(test.answers, page: url, resources: resources)
      let again = try? await worker.open(test, at: url, bytes, answers)
      await worker.close()
      guard let again, again.failure == nil, let next = again.openingTime else { return }
      openingTime = min(time, next)
    }
  }

  private mutating func checkBudgets() {
    for budget in test.budgets {
      let found: Int? =
        switch budget.kind {
        case .bundleBytes: bytes.count
        case .bundleBrotli: Brotli.encode(bytes)?.count
        case .elements: mostElements
        case .depth: mostLevels
        case .requests: state.requests
        case .responseBytes: Int(clamping: state.responseBytes)
        case .commands: answers.record.commands
        case .processorTime: openingTime?.milliseconds
        }
      let subject = "budget \(budget.kind.rawValue)"
      if let found, found > budget.limit {
        fail(budget.place, subject, "expected at most \(budget.limit) \(budget.kind.noun), found \(found)")
      } else if found == nil, result.failures.isEmpty {
        fail(budget.place, subject, "expected at most \(budget.limit) \(budget.kind.noun), which could not be measured")
      }
    }
  }

  private mutating func fail(
    _ place: TextPlace, _ subject: String, _ message: String, difference: OutlineDifference? = nil,
    source: TestResult.Source? = nil
  ) {
    guard result.failures.count < Self.failureLimit else { return }
    result.failures.append(
      TestResult.Failure(place: place, subject: subject, message: message, difference: difference, source: source))
  }

  private mutating func fail(_ place: TextPlace, _ subject: String, _ exception: ScriptException) async {
    let fault = await faults.fault(of: exception)
    let source = fault.url.flatMap { url in
      fault.line.map { TestResult.Source(file: relative(url), line: $0, column: fault.column) }
    }
    fail(place, subject, relative(fault.message), source: source)
  }

  /// A text in which files of the working directory are named as the user names them.
  private func relative(_ text: String) -> String {
    let folder = FileManager.default.currentDirectoryPath
    let places = [PageURL(filePath: folder + "/")?.text, folder + "/", "file://"].compactMap(\.self)
    return places.reduce(text) { $0.replacing($1, with: "") }
  }

  private func text(of error: any Error) -> String {
    switch error {
    case PageFault.stopped(let reason), WorkerError.ended(let reason, _): text(of: reason)
    case _ where alarm.hasRung.load(ordering: .sequentiallyConsistent): lateText
    case PageFault.refused(let reason), PageFault.busy(let reason), PageFault.cannotDraw(let reason): relative(reason)
    case PageFault.script(let exception): relative(exception.message)
    case PageFault.unknownPage: "the page has ended"
    default: relative(error.message)
    }
  }

  private func text(of reason: KillReason) -> String {
    if alarm.hasRung.load(ordering: .sequentiallyConsistent) { return lateText }
    return switch reason {
    case .time: lateText
    case .layout(_, let limit):
      "the page's elements were changed and laid out for longer than \(Duration.seconds(limit).inSeconds)"
    case .memory: "the page exceeded the memory limit of its process, \(worker.memory >> 20) MiB"
    case .silence: "the page's process did not answer"
    case .malformed, .ended, .shutdown: "the page's process has ended: \(reason)"
    }
  }

  private var lateText: String { "the test did not end within \(timeout.inSeconds) (--timeout)" }
}

extension ElementTree {
  /// Returns `true` if an element, or one around it, listens to an event.
  func listens(to type: String, at element: Element) -> Bool {
    let tree = expanded
    var next: Element? = tree[element.ref] ?? element
    while let element = next {
      if element.events.contains(type) { return true }
      next = element.parent.flatMap { tree[$0] }
    }
    return false
  }
}
