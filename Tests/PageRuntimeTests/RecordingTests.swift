import Foundation
import HTTPTransport
import PageTesting
import ScriptEngine
import Synchronization
import Testing

@testable import PageRuntime

/// Recordings of pages, and their scripts run again.
@Suite(.timeLimit(.minutes(10))) struct RecordingTests {
  /// The bytes of a recording, as they are written.
  private final class Tape: Sendable {
    private let state = Mutex<[UInt8]>([])
    var bytes: [UInt8] { state.withLock(\.self) }
    func append(_ bytes: [UInt8]) { state.withLock { $0 += bytes } }
  }

  /// Opens a page, uses it, and ends it.
  ///
  /// - Returns: its recording, and its elements at the end.
  private static func recorded(
    _ fixture: PageFixture, _ open: (PageInstance) async throws -> Void,
    use: (PageInstance) async throws -> Void = { _ in }
  ) async throws -> (bytes: [UInt8], tree: ElementTree) {
    let tape = Tape()
    let page = await PageInstance(environment: fixture.environment)
    await page.record { tape.append($0) }
    try await open(page)
    await page.settle(within: .seconds(30))
    try await use(page)
    await page.settle(within: .seconds(30))
    let tree = await page.tree.withoutStates
    await page.destroy()
    return (tape.bytes, tree)
  }

  private static func recorded(
    _ fixture: PageFixture, script: String, determinism: PageDeterminism? = PageDeterminism(),
    use: (PageInstance) async throws -> Void = { _ in }
  ) async throws -> (bytes: [UInt8], tree: ElementTree) {
    try await recorded(
      fixture,
      { page in
        let url = try #require(PageURL(fixture.origin.url(for: "/pages/page.js")))
        try await page.begin(url)
        try await page.render(source(script), options: PageOptions(bundleURL: url.text, determinism: determinism))
      }, use: use)
  }

  private static func source(_ script: String) -> String {
    """
    // { "framework": "Vanilla" }
    var document = weex.document
    var body = document.createBody('div', { attr: {} })
    document.documentElement.appendChild(body)
    function add(type, props, parent) { var e = document.createElement(type, props); (parent || body).appendChild(e); return e }
    var text = add('text', { attr: { value: '' } }), said = []
    function say(v) { said.push(v); text.setAttr('value', JSON.stringify(said)) }
    var module = weex.requireModule
    \(script)
    """
  }

  /// Fires events on elements that follow from a seed, as an impatient user would.
  private static func useRandomly(_ page: PageInstance, steps: Int, seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<steps {
      let tree = await page.tree
      let listening = tree.preorder(from: tree.root ?? "").filter { !$0.events.isEmpty }
      guard let element = listening.randomElement(using: &random),
        let type = element.events.sorted().randomElement(using: &random)
      else { return }
      let event: ScriptValue =
        element.type == "switch"
        ? ["value": .bool(Bool.random(using: &random))]
        : ["input", "textarea"].contains(element.type)
          ? ["value": .string("text \(Int.random(in: 0..<100, using: &random))")]
          : ["index": .number(Double(Int.random(in: 0..<3, using: &random)))]
      try? await page.fireEvent(element.ref, type, event)
      if Bool.random(using: &random) { await page.settle(within: .seconds(10)) }
    }
  }

  /// The number of random steps and of runs of each sample.
  private static let (steps, runs) = (
    ProcessInfo.processInfo.environment["PAGEKIT_RECORDED_STEPS"].flatMap { Int($0) } ?? 40,
    ProcessInfo.processInfo.environment["PAGEKIT_REPLAYS"].flatMap { Int($0) } ?? 3
  )

  @Test(
    "a sample that is used at random has the same elements in every run of its recording", arguments: SampleTests.names)
  func samples(_ name: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      try SampleTests.serve(fixture)
      let (bytes, tree) = try await Self.recorded(fixture) { page in
        try await page.renderByURL(fixture.origin.url(for: "/bundles/\(name).js"))
      } use: { page in
        try await Self.useRandomly(page, steps: Self.steps, seed: 7)
      }
      let recording = try Recording(reading: bytes)
      #expect(recording.ending == "closed")
      #expect(recording.stepCount > 1)
      #expect(try recording.tree(after: recording.stepCount) == tree)
      let requests = fixture.origin.requests.count
      for _ in 0..<Self.runs { #expect(try await recording.replay()?.step.title == nil) }
      #expect(fixture.origin.requests.count == requests)
    }
  }

  @Test("answers of modules are given again: at once, by callbacks, by promises, and refusals")
  func answers() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/data", Array(#"{"list":[1,2,3]}"#.utf8), contentType: "application/json")
      let count = Mutex(0)
      fixture.registry.registerModule("app") { module in
        module.immediate("next") { () -> Int in
          count.withLock {
            $0 += 1; return $0 * 100
          }
        }
        module.immediate("fail") { () throws -> Int in throw DescribedError("no \(count.withLock(\.self))") }
        module.method("later") { (name: String) async throws -> String in "\(name) \(count.withLock(\.self))" }
        module.method("refuse") { () async throws -> Int in throw DescribedError("refused") }
      }
      let (bytes, tree) = try await Self.recorded(
        fixture,
        script: """
          var app = module('app')
          say(app.next()); say(app.next())
          try { app.fail() } catch (e) { say(e.message) }
          app.later('a').then(say)
          app.refuse().then(say, function (e) { say(String(e.message)) })
          module('stream').fetch({ url: '/data', type: 'json' }, function (r) { say(r.data.list.length); say(Math.random()) })
          module('storage').setItem('k', 'v', function () { module('storage').getItem('k', function (r) { say(r.data) }) })
          setTimeout(function () { say(Date.now()); say(app.next()) }, 20)
          module('timer').setTimeout(function () { say('module') }, 30)
          text.addEvent('click', function (e) { say(e.value) })
          """
      ) { page in
        let ref = try #require(await page.first("text")?.ref)
        try await page.fireEvent(ref, "click", ["value": ["deep": [1, nil, true]]])
        try await page.refresh(data: ["name": "new"])
      }
      let shown = tree.first(.type("text"))?.attributes["value"]?.string ?? ""
      for part in ["100,200", "no 2", "a 2", "refused", "300", "module"] { #expect(shown.contains(part), "\(shown)") }
      let recording = try Recording(reading: bytes)
      #expect(try await recording.replay() == nil)
      #expect(count.withLock(\.self) == 3)
      let steps = try (1...recording.stepCount).map { try recording.step($0) }
      #expect(steps[0].title == "open")
      #expect(steps.contains { $0.title.hasPrefix("event click of #") })
      #expect(steps.contains { $0.title.hasPrefix("answer to callback") })
      #expect(steps.contains { $0.title == "new data" })
      #expect(steps.map(\.time) == steps.map(\.time).sorted())
      #expect(steps[0].calls.contains { $0.hasPrefix("stream.fetch(") })
    }
  }

  @Test("a page that was given nothing is recorded with this machine's time, and runs again the same")
  func machine() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let (bytes, tree) = try await Self.recorded(
        fixture,
        script: """
          say(Date.now()); say(Math.random()); say(new Date().getHours())
          var n = 0; var timer = setInterval(function () { say(Date.now()); if (++n === 5) clearInterval(timer) }, 5)
          setTimeout(function () { say('end') }, 60)
          """, determinism: nil)
      let recording = try Recording(reading: bytes)
      #expect(recording.determinism.clock == .running)
      #expect(abs(recording.determinism.time.timeIntervalSinceNow) < 600)
      #expect(tree.first(.type("text"))?.attributes["value"]?.string?.contains("end") == true)
      for _ in 0..<3 { #expect(try await recording.replay() == nil) }
    }
  }

  @Test("published frameworks, preludes and services run again too")
  func frameworks() async throws {
    let reactive = try Fixture.text("reactive.js")
    try await PageFixture.running(frameworks: [.vue: reactive]) { (fixture: PageFixture) async throws in
      let page = """
        // { "framework": "Vue" }
        new Vue({ data: { count: 0 }, render: function (h) {
          var self = this
          return h('text', { attrs: { value: this.count + ' ' + Math.random() }, on: { click: function () { self.count += 1 } } })
        } })
        """
      let (bytes, _) = try await Self.recorded(fixture) { instance in
        try await instance.render(page)
      } use: { instance in
        for _ in 0..<5 {
          if let ref = await instance.first("text")?.ref { try await instance.fireEvent(ref, "click") }
        }
      }
      let recording = try Recording(reading: bytes)
      #expect(recording.stepCount >= 6)
      #expect(try await recording.replay() == nil)
    }
  }

  @Test("the first step that another bundle changes is named, with both trees")
  func otherBundle() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let script = "var n = 0; text.addEvent('click', function () { say(++n) })"
      let (bytes, _) = try await Self.recorded(fixture, script: script) { page in
        for _ in 0..<4 {
          if let ref = await page.first("text")?.ref { try await page.fireEvent(ref, "click") }
        }
      }
      let recording = try Recording(reading: bytes)
      let other = Self.source("var n = 0; text.addEvent('click', function () { ++n; say(n === 3 ? 'three' : n) })")
      let difference = try #require(try await recording.replay(bundle: other))
      #expect(difference.step.number == 4)
      #expect(difference.recorded.first(.type("text"))?.attributes["value"] == "[1,2,3]")
      #expect(difference.found.first(.type("text"))?.attributes["value"] == #"[1,2,"three"]"#)
      #expect(try await recording.replay(bundle: other, to: 3) == nil)
      // Other changes, and the same elements.
      let same = Self.source(
        "var n = 0; text.addEvent('click', function () { text.setAttr('value', ''); say(++n) })")
      #expect(try await recording.replay(bundle: same) == nil)
      let broken = try #require(try await recording.replay(bundle: Self.source("throw new Error('broken')")))
      #expect(broken.step.number == 1)
      #expect(
        try await recording.replay(bundle: "throw new Error('broken')")?.exceptions.first?.contains("broken") == true)
    }
  }

  @Test("an edit by a debugger is shown and recorded as a change that is not the script's, and a replay agrees")
  func editing() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let (bytes, tree) = try await Self.recorded(
        fixture, script: "body.addEvent('click', function () { say(text.style.color || 'none') })"
      ) { page in
        let ref = try #require(await page.first("text")?.ref)
        let edit = PageInspection.edit(
          ref: ref, attributes: ["title": .string("t")], style: ["color": .string("red"), "width": .integer(90)])
        #expect(try await page.answer(edit) == Array("{}".utf8))
        #expect(await page.tree[ref]?.style == ["color": "red", "width": 90])
        #expect(await page.layout.box(ref)?.pageFrame.width == 90)
        // The script's own element has not heard of it.
        try await page.fireEvent(try #require(await page.tree.root), "click")
        #expect(await page.tree[ref]?.attributes["value"] == "[\"none\"]")
        _ = try await page.answer(.edit(ref: ref, attributes: [:], style: ["width": .null]))
        #expect(await page.layout.box(ref)?.pageFrame.width == 750)
        let many = Dictionary(uniqueKeysWithValues: (0..<1_001).map { ("a\($0)", JSONValue.string("")) })
        for (refused, reason) in [
          (PageInspection.edit(ref: "none", attributes: [:], style: [:]), "the page no longer has the element"),
          (.edit(ref: ref, attributes: many, style: [:]), "1003 attributes, and the limit is 1000"),
        ] {
          let answer = String(decoding: try await page.answer(refused), as: UTF8.self)
          #expect(answer.contains(reason), "\(answer)")
        }
      }
      let recording = try Recording(reading: bytes)
      #expect(try recording.tree(after: recording.stepCount) == tree)
      #expect(tree.first(.type("text"))?.style["color"] == "red")
      #expect(try await recording.replay() == nil)
    }
  }

  @Test(
    "the elements after each of many steps are there without running the script, with changes that are not the script's"
  )
  func viewing() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let trees = Mutex<[Int: ElementTree]>([:])
      let (bytes, tree) = try await Self.recorded(
        fixture,
        script: """
          var input = add('input', { attr: { value: '' } })
          input.addEvent('input', function (e) { say(e.value); add('div', { style: { width: said.length, color: undefined } }) })
          """
      ) { page in
        let ref = try #require(await page.first("input")?.ref)
        for index in 1...250 {
          try await page.fireEvent(ref, "input", ["value": .string("\(index)")])
          let tree = await page.tree
          trees.withLock { $0[index] = tree }
        }
      }
      let recording = try Recording(reading: bytes)
      #expect(try recording.tree(after: recording.stepCount) == tree)
      for (index, tree) in trees.withLock(\.self) {
        // The first step opens the page. The text that is typed next belongs to the step before its event.
        let shown = try recording.tree(after: index + 1)
        #expect(shown.count == tree.count)
        #expect(shown.first(.type("text")) == tree.first(.type("text")))
      }
      #expect(throws: RecordingError.noStep(1_000, count: recording.stepCount)) { try recording.tree(after: 1_000) }
    }
  }

  @Test("a recording of many elements and small steps grows with its steps, and has the elements after each of them")
  func growth() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let (bytes, tree) = try await Self.recorded(
        fixture,
        script: """
          for (var i = 0; i < 1000; i++) add('text', { attr: { value: 'line ' + i }, style: { color: 'red', fontSize: 30 } })
          var n = 0; text.addEvent('click', function () { text.setAttr('value', 'taps: ' + ++n) })
          """
      ) { page in
        let ref = try #require(await page.first("text")?.ref)
        for _ in 0..<2_000 { try await page.fireEvent(ref, "click") }
      }
      var lengths: [UInt8: Int] = [:]
      for line in bytes.split(separator: UInt8(ascii: "\n")) {
        lengths[line[line.startIndex], default: 0] += line.count
      }
      let (steps, elements) = (
        lengths[RecordingLine.step.rawValue] ?? 0, lengths[RecordingLine.elements.rawValue] ?? 0
      )
      #expect(elements > 0 && elements <= 2 * steps, "\(elements) bytes of elements, \(steps) of steps")
      let recording = try Recording(reading: bytes)
      #expect(try recording.tree(after: recording.stepCount) == tree)
      for number in [2, 101, 102, 103, 700, 1_500, 2_000] {
        #expect(try recording.tree(after: number).outline.contains("taps: \(number - 1)\""))
        #expect(try recording.tree(after: number).count == tree.count)
      }
    }
  }

  @Test("a recording that is read while it grows is the one that is read whole, wherever it was cut")
  func growing() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let long = String(repeating: "long ", count: 400)
      let (bytes, _) = try await Self.recorded(
        fixture,
        script: "text.addEvent('click', function () { say(Math.random() + '\(long)'.slice(0, said.length * 200)) })"
      ) {
        page in
        for _ in 0..<20 {
          if let ref = await page.first("text")?.ref { try await page.fireEvent(ref, "click") }
        }
      }
      let whole = try Recording(reading: bytes)
      var random = SeededGenerator(seed: 3)
      let head = try #require(bytes.firstIndex(of: UInt8(ascii: "\n"))) + 1
      for _ in 0..<20 {
        var end = Int.random(in: head..<bytes.count, using: &random)
        var recording = try Recording(reading: Array(bytes[..<end]))
        while end < bytes.count {
          let next = min(bytes.count, end + Int.random(in: 0...3_000, using: &random))
          try recording.append(Array(bytes[end..<next]))
          end = next
          #expect(recording.byteCount == end)
          #expect(recording.stepCount == (try Recording(reading: Array(bytes[..<end]))).stepCount)
        }
        #expect(recording.stepCount == whole.stepCount && recording.ending == whole.ending)
        for number in 1...whole.stepCount {
          #expect(try recording.tree(after: number) == whole.tree(after: number))
        }
      }
      var damaged = try Recording(reading: Array(bytes[..<head]))
      #expect(throws: RecordingError.self) { try damaged.append(Array("S00000000 {}\n".utf8)) }
      #expect(throws: RecordingError.self) { try damaged.append(Array(bytes[..<head])) }
    }
  }

  @Test("a recording that was cut off anywhere has all whole steps, and runs")
  func cut() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let (bytes, _) = try await Self.recorded(
        fixture, script: "text.addEvent('click', function () { say(Math.random()) })"
      ) {
        page in
        for _ in 0..<20 {
          if let ref = await page.first("text")?.ref { try await page.fireEvent(ref, "click") }
        }
      }
      let whole = try Recording(reading: bytes)
      var random = SeededGenerator(seed: 1)
      var found: Set<Int> = []
      for _ in 0..<60 {
        let length = Int.random(in: 0..<bytes.count, using: &random)
        let cut = Array(bytes[..<length])
        let lines = cut.count { $0 == UInt8(ascii: "\n") }
        guard lines > 0 else {
          #expect(throws: RecordingError.self) { try Recording(reading: cut) }
          continue
        }
        let recording = try Recording(reading: cut)
        #expect(recording.ending == nil)
        #expect(recording.stepCount <= whole.stepCount)
        found.insert(recording.stepCount)
        guard recording.stepCount > 0 else { continue }
        _ = try recording.tree(after: recording.stepCount)
        if found.count % 5 == 0 { #expect(try await recording.replay() == nil) }
      }
      #expect(found.count > 5)
    }
  }

  @Test("a damaged recording is refused with the byte of the line")
  func damage() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let (bytes, _) = try await Self.recorded(fixture, script: "say(1)")
      var random = SeededGenerator(seed: 2)
      for _ in 0..<300 {
        // The end of the last line tells that it is whole.
        let place = Int.random(in: 0..<bytes.count - 1, using: &random)
        var damaged = bytes
        damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        let start = bytes[..<place].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        do {
          _ = try Recording(reading: damaged)
          Issue.record("the byte \(place) is damaged, and nothing is refused")
        } catch let error as RecordingError {
          #expect("\(error)".contains("byte \(start)"), "\(place): \(error)")
        }
      }
    }
  }

  @Test(
    "files that are no recordings, or are newer ones, are refused in words",
    arguments: [
      ("", "it is empty"), ("{\"a\":1}\n", "not a recording"), ("H00000000 {}\n", "not a recording"),
      ("<html>\n</html>\n", "not a recording"),
    ])
  func foreign(_ text: String, _ reason: String) {
    #expect {
      try Recording(reading: Array(text.utf8))
    } throws: { error in
      "\(error)".contains(reason) && "\(error)".contains("byte 0")
    }
    #expect {
      try Recording(reading: RecordingLine.head.line(Array(#"{"pagekit":"recording/9"}"#.utf8)))
    } throws: { error in
      "\(error)".contains("newer") && "\(error)".contains("recording/9")
    }
  }

  @Test("a recording ends at its limits, says so, and the page goes on")
  func limits() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      for (bytes, steps) in [(1_000_000, 5), (6_000, 1_000)] {
        let tape = Tape()
        let page = await PageInstance(environment: fixture.environment)
        await page.record(PageRecorder(byteLimit: bytes, stepLimit: steps) { tape.append($0) })
        try await page.render(Self.source("text.addEvent('click', function () { say(said.length) })"))
        for _ in 0..<20 {
          if let ref = await page.first("text")?.ref { try await page.fireEvent(ref, "click") }
        }
        #expect(await page.shown?.contains("19") == true)
        await page.destroy()
        #expect(tape.bytes.count < min(bytes, 20_000) + 200)
        let recording = try Recording(reading: tape.bytes)
        #expect(recording.ending?.contains("limit") == true)
        #expect(recording.stepCount <= 5 || bytes == 6_000)
        #expect(try await recording.replay() == nil)
      }
    }
  }

  // MARK: Going on

  /// Opens a page that runs a recording again up to a step, and goes on from there.
  private static func goingOn(
    _ fixture: PageFixture, _ recording: Recording, from step: Int, isShown: Bool = false, recordingOn tape: Tape? = nil
  ) async throws -> PageInstance {
    let page = await PageInstance(environment: fixture.environment)
    if let tape { await page.record { tape.append($0) } }
    if isShown { await page.appear() }
    try await page.begin(try #require(PageURL(recording.url)))
    try await page.render(recording, to: step, options: PageOptions(bundleURL: recording.url))
    return page
  }

  /// The number of the first step with a title that begins so.
  private static func step(_ title: String, of recording: Recording) throws -> Int {
    let found = try (1...recording.stepCount).first { try recording.step($0).title.hasPrefix(title) }
    return try #require(found, "\(title)")
  }

  @Test("a page goes on from any step: with its elements, its random numbers, and the answers of the recording")
  func goingOn() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/data", Array(#"{"list":[1,2,3]}"#.utf8), contentType: "application/json")
      let (bytes, _) = try await Self.recorded(
        fixture,
        script: """
          var n = 0
          text.addEvent('click', function () { say(++n + ' ' + Math.random()) })
          module('stream').fetch({ url: '/data', type: 'json' }, function (r) { say(r.data.list.length) })
          """
      ) { page in
        for _ in 0..<3 { try await page.fireEvent(try #require(await page.first("text")?.ref), "click") }
      }
      let recording = try Recording(reading: bytes)
      #expect(recording.stepCount == 5)
      let requests = fixture.origin.requests.count
      for step in 2...recording.stepCount {
        let page = try await Self.goingOn(fixture, recording, from: step)
        #expect(await page.phase == .live)
        #expect(try await page.tree.withoutStates == recording.tree(after: step))
        try await page.fireEvent(try #require(await page.first("text")?.ref), "click")
        // The click does what the recorded one has done.
        if step < recording.stepCount {
          #expect(try await page.tree.withoutStates == recording.tree(after: step + 1))
        } else {
          #expect(await page.shown?.contains("\"4 0.") == true)
        }
        await page.destroy()
      }
      #expect(fixture.origin.requests.count == requests)
      // A request without an answer is sent.
      let page = try await Self.goingOn(fixture, recording, from: 1)
      await page.settle(within: .seconds(30))
      #expect(try await page.tree.withoutStates == recording.tree(after: 2))
      #expect(fixture.origin.requests.count == requests + 1)
      await page.destroy()
    }
  }

  @Test("what a step leaves open goes on: timers, calls without an answer, listeners; what was done is not done again")
  func openWork() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.origin.serve("/pages/a.png", ImageTests.picture, contentType: "image/png")
      fixture.origin.serve("/sent", Array("ok".utf8), contentType: "text/plain")
      let (bytes, _) = try await Self.recorded(
        fixture,
        script: """
          var began = Date.now()
          module('globalEvent').addEventListener('push', function (e) { say('push ' + e.n) })
          setTimeout(function () { say('late ' + (Date.now() - began)) }, 600)
          add('image', { attr: { src: 'a.png' } }).addEvent('load', function () { say('loaded') })
          text.addEvent('click', function () {
            say('click')
            module('modal').toast({ message: 'hi' })
            module('stream').fetch({ url: '/sent', method: 'POST', type: 'text' }, function () { say('sent') })
          })
          """
      ) { page in
        await page.advance(by: .milliseconds(300))
        try await page.fireEvent(try #require(await page.first("text")?.ref), "click")
      }
      func sent() -> Int { fixture.origin.requestCount(path: "/sent") }
      let recording = try Recording(reading: bytes)
      #expect(sent() == 1)
      let (click, answer) = (
        try Self.step("event click", of: recording), try Self.step("answer to callback", of: recording)
      )
      let page = try await Self.goingOn(fixture, recording, from: click)
      await page.settle(within: .seconds(30))
      #expect(await page.shown == #"["loaded","click","sent"]"#)
      #expect(sent() == 2)
      #expect(await page.messages.isEmpty)
      try await page.fireGlobalEvent("push", ["n": 1])
      await page.advance(by: .milliseconds(299))
      #expect(await page.shown == #"["loaded","click","sent","push 1"]"#)
      await page.advance(by: .milliseconds(1))
      #expect(await page.shown == #"["loaded","click","sent","push 1","late 600"]"#)
      await page.destroy()
      let next = try await Self.goingOn(fixture, recording, from: answer)
      await next.settle(within: .seconds(30))
      #expect(await next.shown == #"["loaded","click","sent"]"#)
      #expect(sent() == 2)
      await next.destroy()
    }
  }

  @Test("a page that goes on is recorded from its beginning, with the answers that it was given")
  func recordedAgain() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let count = Mutex(0)
      fixture.registry.registerModule("app") { module in
        module.immediate("next") { () -> Int in
          count.withLock {
            $0 += 1
            return $0
          }
        }
      }
      func click(_ page: PageInstance) async throws {
        try await page.fireEvent(try #require(await page.first("text")?.ref), "click")
      }
      let (bytes, _) = try await Self.recorded(
        fixture, script: "text.addEvent('click', function () { say(module('app').next()); say(Date.now()) })",
        determinism: nil
      ) { page in
        for _ in 0..<2 { try await click(page) }
      }
      let tape = Tape()
      let page = try await Self.goingOn(fixture, try Recording(reading: bytes), from: 2, recordingOn: tape)
      #expect(count.withLock(\.self) == 2)
      try await click(page)
      #expect(count.withLock(\.self) == 3)
      let tree = await page.tree.withoutStates
      await page.destroy()
      let again = try Recording(reading: tape.bytes)
      #expect(again.stepCount == 3)
      #expect(try again.tree(after: 3) == tree)
      #expect(try await again.replay() == nil)
      let times = try (1...3).map { try again.step($0).time }
      #expect(times == times.sorted())
    }
  }

  @Test("components in cells, places and visibility go on from a step as the script knows them")
  func knownState() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let (cells, _) = try await Self.recorded(fixture, script: RecycleListTests.counter)
      let recording = try Recording(reading: cells)
      for step in 1...recording.stepCount {
        let page = try await Self.goingOn(fixture, recording, from: step)
        #expect(await RecycleListTests.labels(of: page) == ["no. 0: 10", "no. 1: 20"], "\(step)")
        await page.destroy()
      }
      let (places, tree) = try await Self.recorded(
        fixture,
        script: """
          body.addEvent('viewappear', function () { say('shown') })
          var list = add('scroller', { style: { height: 600 } })
          ;[0, 1].forEach(function (n) {
            add('div', { style: { height: 500 } }, list).addEvent('appear', function () { say(n) })
          })
          """
      ) { await $0.appear() }
      let seen = try Recording(reading: places)
      #expect(seen.stepCount == 4)
      for step in 1...seen.stepCount {
        let page = try await Self.goingOn(fixture, seen, from: step, isShown: step == seen.stepCount)
        await page.settle(within: .seconds(30))
        await page.appear()
        await page.settle(within: .seconds(30))
        #expect(await page.tree.withoutStates == tree, "\(step)")
        await page.destroy()
      }
    }
  }

  @Test("a sample that was used at random goes on from its steps", arguments: SampleTests.names)
  func goingOnFromSamples(_ name: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      try SampleTests.serve(fixture)
      let (bytes, _) = try await Self.recorded(fixture) { page in
        try await page.renderByURL(fixture.origin.url(for: "/bundles/\(name).js"))
      } use: { page in
        try await Self.useRandomly(page, steps: Self.steps, seed: 11)
      }
      let recording = try Recording(reading: bytes)
      for step in Set([1, recording.stepCount / 3, recording.stepCount]).filter({ $0 > 0 }) {
        // It is compared with the elements of the recording.
        let page = try await Self.goingOn(fixture, recording, from: step)
        #expect(await page.settle(within: .seconds(60)))
        try await Self.useRandomly(page, steps: 5, seed: 12)
        #expect(await page.phase == .live)
        await page.destroy()
      }
    }
  }

  @Test("going on is refused for a step that is not there, and after a run with other elements")
  func refusedGoingOn() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let script = "var n = 0; text.addEvent('click', function () { say(++n) })"
      let (bytes, _) = try await Self.recorded(fixture, script: script) { page in
        for _ in 0..<2 { try await page.fireEvent(try #require(await page.first("text")?.ref), "click") }
      }
      let recording = try Recording(reading: bytes)
      for step in [0, -1, 4, .max] {
        await #expect(throws: RecordingError.noStep(step, count: 3)) {
          try await Self.goingOn(fixture, recording, from: step)
        }
        #expect(throws: RecordingError.noStep(step, count: 3)) { try recording.beginning(to: step) }
      }
      let other = try Recording(
        reading: recording.linesToRun(
          bundle: Self.source(script.replacing("say(++n)", with: "say(++n === 2 ? 'two' : n)"))))
      #expect(try await Self.goingOn(fixture, other, from: 2).shown == "[1]")
      await #expect(throws: RecordingError.otherElements(after: 3)) { try await Self.goingOn(fixture, other, from: 3) }
      for step in 1...3 {
        let beginning = try Recording(reading: try recording.beginning(to: step))
        #expect(beginning.stepCount == step)
        #expect(try beginning.tree(after: step) == recording.tree(after: step))
      }
    }
  }

  @Test("all values of scripts are read as they were written")
  func values() throws {
    let long = String(repeating: "long \"text\" \n ☃ ", count: 200)
    let values: [ScriptValue] = [
      .undefined, nil, true, 0, .number(-0.0), .number(.nan), .number(.infinity), .number(-.infinity), 1.5,
      .number(9_007_199_254_740_992), "", "\u{0}\n\"\\", .string(long), .data([0, 1, 255]), [],
      [.undefined, ["a": .undefined]], ["$": "undefined"], ["$text": "x"], ["$object": ["$": 1]], ["$": 1, "b": 2],
    ]
    var text = RecordedText()
    text.write(ScriptValue.array(values))
    let json = try JSONValue(reading: text.bytes)
    let read = try RecordedTextReader(texts: text.texts).value(json)
    #expect(text.texts.values.sorted() == [long])
    for (value, found) in zip(values, read.array ?? []) {
      if case .number(let number) = value, number.isNaN {
        #expect(found.number?.isNaN == true)
      } else {
        #expect(found == value)
        #expect(found.number?.sign == value.number?.sign)
      }
    }
  }
}
