import Foundation
import Logging
import PageKit
import PageTesting
import PageWorkers
import TestServers
import TestSupport
import Testing

@testable import RenderHost

/// Pages that are saved while they run.
@Suite(.serialized, .timeLimit(.minutes(2))) struct DevelopmentHostTests {
  /// A host of a folder, and what it has told.
  private struct Running: Sendable {
    let folder: TemporaryDirectory
    let port: Int
    let news: Monitor<[DevelopmentHost.News]>

    /// - Parameter isWhole: `false` to write into the file, so that a part of it may be read.
    func save(_ text: String, as name: String, isWhole: Bool = true) throws {
      let file = URL(fileURLWithPath: folder.file("pages/\(name)"))
      try Data(text.utf8).write(to: file, options: isWhole ? .atomic : [])
    }

    @discardableResult
    func ask(_ method: String = "GET", _ path: String, _ body: String? = nil, fields: String = "") async throws -> (
      status: Int, text: String
    ) {
      let client = try RawClient(port: port)
      let length = body.map { "Content-Type: application/json\r\nContent-Length: \($0.utf8.count)\r\n" } ?? ""
      let own = fields.isEmpty ? "Host: 127.0.0.1:\(port)\r\nOrigin: http://127.0.0.1:\(port)\r\n" : fields
      client.send("\(method) \(path) HTTP/1.1\r\n\(own)Connection: close\r\n\(length)\r\n\(body ?? "")")
      let answer = try await client.readToEnd()
      return (Int(answer.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0, answer)
    }

    /// Opens a page as a viewer, and returns its id.
    func open(_ name: String) async throws -> String {
      let answer = try await ask("POST", "/live", "{\"name\":\"\(name)\"}")
      let start = try #require(answer.text.firstRange(of: "\"page\":\"")?.upperBound, "\(answer.text)")
      return String(answer.text[start...].prefix { $0 != "\"" })
    }

    func view(of id: String) async throws -> String { try await ask("GET", "/pages/\(id)/live").text }

    /// Taps the first element that listens to clicks.
    ///
    /// - Parameter status: the expected one.
    func tap(_ id: String, run: String = "null", status: Int = 204) async throws {
      let html = try await view(of: id)
      let found = try #require(html.firstMatch(of: /data-ref=\\"([^"\\]+)\\"[^>]*data-events=\\"click/), "\(html)")
      let body = #"{"run":\#(run),"events":[{"ref":"\#(found.1)","type":"click"}]}"#
      #expect(try await ask("POST", "/pages/\(id)/live/events", body).status == status)
    }

    func until(_ isSo: @escaping @Sendable ([DevelopmentHost.News]) -> Bool) async throws {
      try await news.wait(within: .seconds(60), until: isSo)
    }

    func untilView(of id: String, has text: String) async throws {
      let deadline = ContinuousClock.now + .seconds(60)
      while try await !view(of: id).contains(text) {
        try #require(ContinuousClock.now < deadline, "\(text)")
        try await Task.sleep(for: .milliseconds(10))
      }
    }

    /// Waits for an error with a text.
    func fault(_ text: String) async throws -> FaultReport {
      try await until { $0.faults.contains { $0.message.contains(text) } }
      return try #require(news.read { $0.faults.first { $0.message.contains(text) } })
    }

    /// Waits for so many reloads, and returns the last one.
    func reload(_ count: Int) async throws -> (inputs: Int, stopped: String?) {
      try await until { $0.reloads.count >= count }
      return news.read { $0.reloads[count - 1] }
    }
  }

  private func running(
    _ files: [String: String], change: (inout DevelopmentHost.Settings) -> Void = { _ in },
    _ body: @escaping @Sendable (Running) async throws -> Void
  ) async throws {
    let folder = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: folder.file("pages"), withIntermediateDirectories: true)
    for (name, text) in files { try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file("pages/\(name)"))) }
    var settings = DevelopmentHost.Settings(
      try WorkingFolder([folder.file("pages")]), store: StoreDirectory(folder.file("store")))
    settings.port = 0
    change(&settings)
    let news = Monitor<[DevelopmentHost.News]>([])
    let host = try DevelopmentHost(
      settings, executable: Daemon.executable, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) { told in news.change { $0.append(told) } }
    let serving = Task { try await host.run() }
    defer { serving.cancel() }
    try await news.wait(within: .seconds(60)) { $0.port != nil }
    let port = try #require(news.read(\.port))
    try await body(Running(folder: folder, port: port, news: news))
    serving.cancel()
    _ = await serving.result
  }

  /// Records runs into files beside the folder.
  private static func record(_ settings: inout DevelopmentHost.Settings) {
    settings.recording = URL(fileURLWithPath: settings.folder.path).deletingLastPathComponent().path + "/run.recording"
  }

  private static func counter(_ label: String) -> String {
    Script.counter.replacing("'clicks: '", with: "'\(label): '").replacing("'clicks: 0'", with: "'\(label): 0'")
  }

  @Test("a saved page runs again, what was done is done again, and its viewers are told")
  func save() async throws {
    try await running(["home.js": Script.counter]) { host in
      let id = try await host.open("home")
      try await host.tap(id)
      try await host.tap(id)
      let viewer = try RawClient(port: host.port)
      viewer.send("GET /pages/\(id)/live/patches HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      try host.save(Self.counter("taps"), as: "home.js")
      #expect(try await host.reload(1) == (2, nil))
      #expect(try await host.view(of: id).contains("taps: 2"))
      let told = try await viewer.read(until: "home.js was saved: 2 inputs were done again")
      // The elements stay: one has another text.
      #expect(told.contains(#"["text","#) && told.contains(#""taps: 2"]"#), "\(told)")
      #expect(told.contains(#""run":"#) && !told.contains("event: again"), "\(told)")
      // The element is found by its place when its text has changed, and by its text when its place has.
      try host.save(
        Self.counter("taps").replacing(
          "b.appendChild(t)", with: "b.appendChild(d.createElement('div')); b.appendChild(t)"),
        as: "home.js")
      #expect(try await host.reload(2) == (2, nil))
      #expect(try await host.view(of: id).contains("taps: 2"))
    }
  }

  @Test("a save in a browser leaves elements, focus and typed texts as they are, and taps go to the new script")
  func saveInBrowser() async throws {
    let field = "b.appendChild(d.createElement('input'))\n"
    let script = Script.counter + "\n" + field
    try await running(["home.js": script]) { host in
      try await Frontend.running("http://127.0.0.1:\(host.port)/live/home") { browser in
        try await browser.becomes("return document.body.textContent.includes('clicks: 0')")
        try await browser.evaluate(
          """
          window.first = document.querySelector('.w-text'); window.field = document.querySelector('input')
          field.focus(); field.value = 'Ann'; field.setSelectionRange(1, 1)
          """)
        // An element before the others gives all of them other refs.
        let more = "b.appendChild(d.createElement('text', { attr: { value: 'new' } })); b.appendChild(t)"
        func kept(_ label: String) -> String {
          """
          return document.body.textContent.trim() === 'new\(label): 0' && first.isConnected && field.isConnected
            && first.textContent === '\(label): 0' && field.value === 'Ann' && document.activeElement === field
            && field.selectionStart === 1
          """
        }
        try host.save(script.replacing("b.appendChild(t)", with: more), as: "home.js")
        try await browser.becomes(kept("clicks"))
        try host.save(Self.counter("taps").replacing("b.appendChild(t)", with: more) + "\n" + field, as: "home.js")
        try await browser.becomes(kept("taps"))
        try await browser.evaluate("first.click()")
        try await browser.becomes("return first.textContent === 'taps: 1'")
      }
    }
  }

  @Test("a save asks for no picture again that has come, and shows no other one until it comes")
  func pictures() async throws {
    @Sendable func script(_ label: String) -> String {
      Script.page(
        """
        function image(src) { var i = d.createElement('image', { attr: { src: src } }); b.appendChild(i); return i }
        var t = d.createElement('text', { attr: { value: '\(label)' } }); b.appendChild(t)
        image('a.svg').addEvent('load', function (e) { t.setAttr('value', '\(label) ' + e.success + ' ' + e.size.naturalWidth) })
        image('b.svg')
        """)
    }
    let picture = "<svg xmlns='http://www.w3.org/2000/svg' width='300' height='200'></svg>"
    try await running(["home.js": script("one"), "a.svg": picture]) { host in
      let id = try await host.open("home")
      try await host.untilView(of: id, has: "one true 300")
      try await host.untilView(of: id, has: "data-failed")
      let viewer = try RawClient(port: host.port)
      viewer.send("GET /pages/\(id)/live/patches HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      try host.save(script("two"), as: "home.js")
      _ = try await host.reload(1)
      try await host.untilView(of: id, has: "two true 300")
      try host.save(script("three"), as: "home.js")
      _ = try await host.reload(2)
      try await host.untilView(of: id, has: "three true 300")
      let all = try await viewer.read(until: "three true 300")
      // From the first patch of another run on.
      let told = all[try #require(all.firstRange(of: #""run":"#), "\(all)").upperBound...]
      #expect(told.contains("two") && !told.contains("w-image") && !told.contains(#"["remove""#), "\(told)")
      // Only the one that is missing is asked for.
      let page = try await host.ask("GET", "/pages/\(id)")
      let total = try #require(page.text.firstMatch(of: /"total":(\d+)/).flatMap { Int($0.1) }, "\(page.text)")
      #expect(total <= 1)
      try host.save(picture, as: "b.svg")
      try host.save(script("four"), as: "home.js")
      try await host.untilView(of: id, has: "four true 300")
      let deadline = ContinuousClock.now + .seconds(60)
      while try await host.view(of: id).contains("data-failed") {
        try #require(ContinuousClock.now < deadline)
        try await Task.sleep(for: .milliseconds(10))
      }
      #expect(try await host.view(of: id).ranges(of: "<img").count == 2)
    }
  }

  @Test("the same bytes saved again run nothing again, and of several saves the last is shown")
  func saves() async throws {
    try await running(["home.js": Script.counter]) { host in
      let id = try await host.open("home")
      try host.save(Script.counter, as: "home.js")
      for count in 1...30 { try host.save(Self.counter("count \(count)"), as: "home.js", isWhole: count % 2 == 1) }
      let deadline = ContinuousClock.now + .seconds(60)
      while try await !host.view(of: id).contains("count 30: 0") {
        try #require(ContinuousClock.now < deadline)
        try await Task.sleep(for: .milliseconds(10))
      }
      #expect(host.news.read { $0.reloads.count } <= 30)
    }
  }

  @Test("a saved file that does not run leaves the page as it was, and the error has its lines")
  func fault() async throws {
    try await running(["home.js": Script.counter]) { host in
      let id = try await host.open("home")
      let viewer = try RawClient(port: host.port)
      viewer.send("GET /pages/\(id)/live/patches HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      try host.save(Script.page("var a = 1\nmissing()\nvar b = 2\n"), as: "home.js")
      let report = try await host.fault("Can't find variable: missing")
      #expect(report.place == "home.js:4:8" && report.line == 4, "\(report)")
      #expect(report.lines.map(\.number) == [2, 3, 4, 5, 6] && report.lines[2].text == "missing()", "\(report)")
      #expect(try await viewer.read(until: "event: fault").contains("event: fault"))
      #expect(try await host.view(of: id).contains("clicks: 0"))
      try host.save(Script.counter, as: "home.js")
      #expect(try await viewer.read(until: "event: mended").contains("event: mended"))
      try host.save(Script.page("(function () {"), as: "home.js")
      _ = try await host.fault("SyntaxError")
      try host.save("<html></html>", as: "home.js")
      _ = try await host.fault("it is HTML")
      try host.save(Self.counter("again"), as: "home.js")
      _ = try await host.reload(1)
      #expect(try await host.view(of: id).contains("again: 0"))
    }
  }

  @Test("an error of a tap is shown over the page, with the place in the source that the map names")
  func mapped() async throws {
    let script = Script.page(
      "var t = d.createElement('text', { attr: { value: 'x' } }); b.appendChild(t)\nt.addEvent('click', function () { missing() })\n//# sourceMappingURL=home.js.map"
    )
    let map = #"{"version":3,"sources":["src/home.vue"],"sourcesContent":["one\ntwo\nthree"],"mappings":";;;AACA"}"#
    try await running(["home.js": script, "home.js.map": map]) { host in
      let id = try await host.open("home")
      try await host.tap(id)
      let report = try await host.fault("Can't find variable: missing")
      #expect(report.place?.hasSuffix("src/home.vue:2:1") == true, "\(report)")
      #expect(report.lines.map(\.text) == ["one", "two", "three"])
    }
  }

  @Test("an input that fits no element any more ends the inputs that are done again")
  func lostElement() async throws {
    try await running(["home.js": Script.counter]) { host in
      let id = try await host.open("home")
      try await host.tap(id)
      try host.save(Script.page("b.appendChild(d.createElement('image'))"), as: "home.js")
      let done = try await host.reload(1)
      #expect(done == (0, "click of text \"clicks: 0\""))
    }
  }

  @Test("inputs after one that fits no element are done again at the next save")
  func goingOn() async throws {
    try await running(["home.js": Script.counter]) { host in
      let id = try await host.open("home")
      try await host.tap(id)
      // The element is another type, so that the tap fits nothing.
      let other = Self.counter("other").replacing("createElement('text'", with: "createElement('div'")
      try host.save(other, as: "home.js")
      #expect(try await host.reload(1).stopped != nil)
      try await host.tap(id)
      try host.save(other + "\n// later", as: "home.js")
      #expect(try await host.reload(2) == (1, nil))
    }
  }

  @Test("an event of an earlier run is refused, and done with the present one if it names none")
  func earlierRun() async throws {
    try await running(["home.js": Script.counter]) { host in
      let id = try await host.open("home")
      let run = try #require(try await host.view(of: id).firstMatch(of: /"run":(\d+)/)?.1)
      try host.save(Self.counter("taps"), as: "home.js")
      _ = try await host.reload(1)
      try await host.tap(id, run: String(run), status: 409)
      #expect(try await host.view(of: id).contains("taps: 0"))
      try await host.tap(id)
      #expect(try await host.view(of: id).contains("taps: 1"))
    }
  }

  @Test("a tap that never ends is an error, and the next save runs the page again")
  func endlessTap() async throws {
    let endless = Script.counter.replacing("n += 1;", with: "while (true) {}")
    try await running(["home.js": endless]) {
      $0.pageTime = .milliseconds(500)
    } _: { host in
      let id = try await host.open("home")
      try await host.tap(id, status: 504)
      _ = try await host.fault("a script ran for longer than 0.5 s")
      try host.save(Script.counter, as: "home.js")
      _ = try await host.reload(1)
      try await host.tap(id)
      #expect(try await host.view(of: id).contains("clicks: 1"))
    }
  }

  @Test("the limits' messages name what the user of the command can change")
  func limits() async throws {
    try await running(["home.js": Script.counter]) {
      $0.pages = 1
    } _: { host in
      _ = try await host.open("home")
      let answer = try await host.ask("POST", "/live", #"{"name":"home"}"#)
      #expect(
        answer.status == 503
          && answer.text.contains("1 pages are open, which is the limit: close some of them in the browser"),
        "\(answer.text)")
    }
    let hints = LimitHints.development
    for (text, end) in [
      (
        PageFailure(WorkerError.ended(.memory(found: 2 << 30, limit: 1 << 30), .thisPage), url: "u", hints)
          .description, "1024 MiB (--memory)"
      ),
      (PageFailure(WorkerError.noMemory(limit: 1 << 30), url: "u", hints).description, "1024 MiB each (--memory)"),
      (PageFailure(WorkerError.full(waiting: 3), url: "u", hints).description, "3 calls wait for them already"),
      (PageFailure(WorkerError.late(after: .seconds(60)), url: "u", hints).description, "busy for 60 s"),
      (KillReason.shutdown.told(hints), "bundlectl dev is shutting down"),
      (PageFailure(WorkerError.noMemory(limit: 1 << 30), url: "u").description, "(--worker-memory)"),
    ] {
      #expect(text.hasSuffix(end), "\(text)")
    }
  }

  @Test("each run of a page is recorded into a file of its own, with what was done in it")
  func recordings() async throws {
    try await running(["home.js": Script.counter]) {
      Self.record(&$0)
    } _: { host in
      let id = try await host.open("home")
      try await host.tap(id)
      try await host.tap(id)
      try host.save(Self.counter("taps"), as: "home.js")
      #expect(try await host.reload(1) == (2, nil))
      try await host.tap(id)
      try await host.until { $0.recorded.count == 2 }
      let paths = host.news.read(\.recorded)
      #expect(paths.map { $0.split(separator: "/").last } == ["run-1.recording", "run-2.recording"])
      // The run before has ended, and the present one has all whole steps.
      let deadline = ContinuousClock.now + .seconds(60)
      while try Self.recording(paths[0]).ending == nil {
        try #require(ContinuousClock.now < deadline)
        try await Task.sleep(for: .milliseconds(10))
      }
      for (path, text) in [(paths[0], "clicks: 2"), (paths[1], "taps: 3")] {
        let recording = try Self.recording(path)
        let tree = try recording.tree(after: recording.stepCount)
        #expect(tree.outline.contains(text), "\(tree.outline)")
        let titles = try (1...recording.stepCount).map { try recording.step($0).title }
        #expect(titles.first == "open" && titles.contains { $0.hasPrefix("event click") }, "\(titles)")
      }
      #expect(try Self.recording(paths[1]).ending == nil)
      try await host.ask("DELETE", "/pages/\(id)/live")
      while try Self.recording(paths[1]).ending == nil {
        try #require(ContinuousClock.now < deadline)
        try await Task.sleep(for: .milliseconds(10))
      }
    }
  }

  @Test("the steps of a recorded page are shown with its elements, calls and logs, and its script does not run for it")
  func steps() async throws {
    let script = Self.counter("<taps>").replacing(
      "n += 1;", with: "n += 1; console.log('tap ' + n); weex.requireModule('modal').toast({ message: 'hi' });")
    try await running(["home.js": script]) {
      Self.record(&$0)
    } _: { host in
      #expect(try await host.ask("GET", "/steps").text.contains("No page is open"))
      let id = try await host.open("home")
      try await host.tap(id)
      try await host.tap(id)
      #expect(try await host.ask("GET", "/steps").text.contains("<a href=\"/steps/\(id)\">home</a>"))
      let document = try await host.ask("GET", "/steps/\(id)")
      #expect(document.status == 200 && document.text.contains("const page = \"\(id)\""))
      let list = try await host.ask("GET", "/steps/\(id)/list")
      let count = try #require(list.text.firstMatch(of: /"count":(\d+)/).flatMap { Int($0.1) }, "\(list.text)")
      #expect(list.text.contains("\"title\":\"open\"") && list.text.contains("event click"), "\(list.text)")
      // The order of the entries between the taps is the page's own: each tap is a step.
      let taps = try await (1...count).asyncFilter { number in
        try await host.ask("GET", "/steps/\(id)/\(number)").text.contains("event click")
      }
      #expect(taps.count == 2)
      let first = try await host.ask("GET", "/steps/\(id)/\(taps[0])")
      #expect(first.text.contains("tap 1") && first.text.contains("modal.toast"), "\(first.text)")
      for (step, text) in [(1, "&lt;taps&gt;: 0"), (taps[0], "&lt;taps&gt;: 1"), (count, "&lt;taps&gt;: 2")] {
        let preview = try await host.ask("GET", "/steps/\(id)/\(step)/preview")
        #expect(preview.status == 200 && preview.text.contains(text), "\(preview.text)")
        #expect(preview.text.lowercased().contains("sandbox"))
      }
      // What comes later is seen too, also of a file that was replaced.
      try await host.tap(id)
      let later = try await host.ask("GET", "/steps/\(id)/list?from=\(count + 1)")
      #expect(later.text.contains("event click"), "\(later.text)")
      let all = try await host.ask("GET", "/steps/\(id)/list")
      let path = try #require(host.news.read(\.recorded).last)
      let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      try bytes.prefix(upTo: bytes.lastIndex(of: UInt8(ascii: "\n")) ?? 0).write(
        to: URL(fileURLWithPath: path + ".new"))
      #expect(rename(path + ".new", path) == 0)
      let shorter = try await host.ask("GET", "/steps/\(id)/list")
      #expect(shorter.status == 200 && shorter.text != all.text, "\(shorter.text)")
      for path in ["0", "-1", "x", "99999999999999999999", "list?from=0", "list?from=9223372036854775807"] {
        #expect(try await host.ask("GET", "/steps/\(id)/\(path)").status == 400, "\(path)")
      }
      #expect(try await host.ask("GET", "/steps/\(id)/\(count + 100)").status == 404)
      #expect(try await host.ask("GET", "/steps/\(id)/list?from=\(count + 100)").text.contains("\"steps\":[]"))
      #expect(try await host.ask("GET", "/steps/none/list").status == 404)
    }
  }

  /// Counts clicks, asks for data, and shows both; each click after the second asks again.
  private static func asking(_ url: String) -> String {
    Script.page(
      """
      var n = 0, t = d.createElement('text', { attr: { value: 'clicks: 0' } }), s = d.createElement('text')
      b.appendChild(t); b.appendChild(s)
      function ask() {
        weex.requireModule('stream').fetch({ url: '\(url)', type: 'text' }, function (r) { s.setAttr('value', 'data: ' + r.data) })
      }
      t.addEvent('click', function () { n += 1; t.setAttr('value', 'clicks: ' + n); if (n > 2) ask() })
      ask()
      """)
  }

  @Test("a page goes on from a step of a recording: it has the state of the step, and is used from there")
  func goOn() async throws {
    try await FaultOrigin.running { (origin: FaultOrigin) async throws -> Void in
      origin.serve("/data", Array("first".utf8), contentType: "text/plain", headers: [.cacheControl: "no-store"])
      try await running(["home.js": Self.asking(origin.url(for: "/data"))]) {
        Self.record(&$0)
      } _: { host in
        let id = try await host.open("home")
        try await host.untilView(of: id, has: "data: first")
        try await host.tap(id)
        try await host.tap(id)
        let list = try await host.ask("GET", "/steps/\(id)/list").text
        let run = try #require(list.firstMatch(of: /"run":(\d+)/)?.1)
        #expect(list.contains("\"count\":4"), "\(list)")
        origin.serve("/data", Array("second".utf8), contentType: "text/plain", headers: [.cacheControl: "no-store"])

        // Step 2 is the answer, and step 3 the first click.
        for (step, clicks) in [(2, 0), (3, 1), (4, 2)] {
          let answer = try await host.ask("POST", "/steps/\(id)/\(step)/live?run=\(run)")
          #expect(answer.status == 201, "\(answer.text)")
          let page = String(try #require(answer.text.firstMatch(of: /"page":"([a-z0-9]+)"/)?.1))
          #expect(page != id && answer.text.contains("\"url\":\"/live?page=\(page)\""))
          let view = try await host.view(of: page)
          #expect(view.contains("clicks: \(clicks)") && view.contains("data: first"), "\(view)")
          #expect(try await host.ask("GET", "/live?page=\(page)").status == 200)
          #expect(origin.requests.count == 1)
          try await host.tap(page)
          try await host.untilView(of: page, has: "clicks: \(clicks + 1)")
          // What it asks for now goes to the server.
          if clicks == 2 { try await host.untilView(of: page, has: "data: second") }
        }
        #expect(origin.requests.count == 2)
        #expect(try await host.view(of: id).contains("clicks: 2"))
        // The new pages are recorded too.
        try await host.until { $0.recorded.count == 4 }
        let recording = try Self.recording(host.news.read { $0.recorded[1] })
        #expect(try recording.tree(after: 3).outline.contains("clicks: 1"))
      }
    }
  }

  @Test("going on is refused in one sentence for other steps, other runs, other sites and another bundle")
  func refusedGoingOn() async throws {
    try await running(["home.js": Script.counter]) {
      Self.record(&$0)
    } _: { host in
      let id = try await host.open("home")
      try await host.tap(id)
      let list = try await host.ask("GET", "/steps/\(id)/list").text
      let run = try #require(list.firstMatch(of: /"run":(\d+)/)?.1)
      let path = "/steps/\(id)"
      for (wanted, status, reason) in [
        ("\(path)/0/live", 400, "is not the number of a step"), ("\(path)/x/live", 400, "is not the number of a step"),
        ("\(path)/99/live", 404, "it has the steps 1 to 2, and no step 99"),
        ("\(path)/1/live?run=\(run)0", 409, "the page has run anew"), ("/steps/none/1/live", 404, "there is no page"),
      ] {
        let answer = try await host.ask("POST", wanted)
        #expect(answer.status == status && answer.text.contains(reason), "\(wanted): \(answer.text)")
      }
      let other = try await host.ask(
        "POST", "\(path)/1/live", fields: "Host: 127.0.0.1:\(host.port)\r\nOrigin: http://example.com\r\n")
      #expect(other.status == 403, "\(other.text)")
      // The page stays as it was, since the saved file does not run.
      try host.save("// { \"framework\": \"Vanilla\" }\nthrow new Error('broken')", as: "home.js")
      _ = try await host.fault("broken")
      let changed = try await host.ask("POST", "\(path)/1/live?run=\(run)")
      #expect(changed.status == 409 && changed.text.contains("the bundle has changed since"), "\(changed.text)")
      // No page was opened.
      #expect(try await host.ask("GET", "/steps").text.matches(of: /href="\/steps/).count == 1)
    }
  }

  @Test("pictures of a step are asked for as those of a live page are, with the browser's cookie")
  func stepPictures() async throws {
    try await running(["home.js": Script.page("b.appendChild(d.createElement('image', { attr: { src: 'a.png' } }))")]) {
      Self.record(&$0)
    } _: { host in
      let id = try await host.open("home")
      let preview = try await host.ask("GET", "/steps/\(id)/1/preview").text
      #expect(preview.contains("src=\"/pages/\(id)/live/resource?url=http"), "\(preview)")
      #expect(preview.contains("img-src data: 'self';") && preview.contains("sandbox allow-same-origin"), "\(preview)")
      #expect(try await host.ask("GET", "/steps/\(id)").text.contains("sandbox=\"allow-same-origin\""))
    }
  }

  @Test("a page in a size has its screen in WXEnvironment, and keeps it when it is saved and when it begins again")
  func device() async throws {
    let script = Script.page(
      """
      var e = weex.config.env, same = WXEnvironment.deviceWidth === e.deviceWidth
      b.appendChild(d.createElement('text', {
        attr: { value: [e.deviceWidth, e.deviceHeight, e.scale, e.platform, e.own, same].join(' ') }
      }))
      """)
    try await running(["home.js": script]) {
      $0.environment = ["platform": "android", "own": "x", "deviceWidth": "1"]
    } _: { host in
      let sized = try await host.ask("GET", "/live/home?device=320x568@2")
      #expect(sized.status == 200 && sized.text.contains("640 1136 2 android x true"), "\(sized.text)")
      #expect(sized.text.contains("320x568@2"))
      let answer = try await host.ask("POST", "/live", #"{"name":"home","device":"768x1024@1.5"}"#)
      #expect(answer.text.contains("1152 1536 1.5 android x true"), "\(answer.text)")
      let id = try #require(answer.text.firstMatch(of: /"page":"([a-z0-9]+)"/)?.1, "\(answer.text)")
      try host.save(script + "\n// saved", as: "home.js")
      _ = try await host.reload(1)
      #expect(try await host.view(of: String(id)).contains("1152 1536 1.5"))
      let plain = try await host.ask("GET", "/live/home")
      #expect(plain.text.contains("1 1334 2 android x true"), "\(plain.text)")
      for device in ["0x0", "375", "1x1@99", "x"] {
        #expect(try await host.ask("GET", "/live/home?device=\(device)").status == 400, "\(device)")
      }
    }
  }

  @Test("one stream has the patches of several pages, and those that are not there are asked for again")
  func oneStream() async throws {
    try await running(["home.js": Script.counter, "other.js": Script.counter]) { host in
      let (first, second) = (try await host.open("home"), try await host.open("other"))
      let viewer = try RawClient(port: host.port)
      viewer.send("GET /patches?of=\(first):0,none:0,\(second):0 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      _ = try await viewer.read(until: #""details":{}}"#)
      try await host.tap(first)
      let told = try await viewer.read(until: "clicks: 1")
      #expect(told.contains("event: patch") && told.contains(first), "\(told)")
      try await host.tap(second)
      _ = try await viewer.read(until: second)
      try await host.ask("DELETE", "/pages/\(first)/live")
      _ = try await viewer.read(until: "event: ended")
      try host.save(Self.counter("taps"), as: "other.js")
      _ = try await viewer.read(until: "other.js was saved")
      let many = (0..<17).map { "p\($0):0" }.joined(separator: ",")
      for of in ["", "x", "x:y", "x:1:2", many] {
        #expect(try await host.ask("GET", "/patches?of=\(of)").status == 400, "\(of)")
      }
    }
  }

  @Test("a browser shows many sizes at once with a stream for each document, and does in all what is done in one")
  func sizesInBrowser() async throws {
    let pages = """
      function docs (d) {
        return [...d.querySelectorAll('iframe')].flatMap(f => {
          var inner = f.contentDocument
          return inner && inner.querySelector('iframe') ? docs(inner) : [inner]
        })
      }
      var all = docs(document), texts = all.map(d => d && d.body ? d.body.textContent : '')

      """
    try await running(["home.js": Script.counter]) { host in
      try await Frontend.running("http://127.0.0.1:\(host.port)/sizes/home") { browser in
        try await browser.becomes(pages + "return all.length === 3 && texts.every(t => t.includes('clicks: 0'))")
        // A browser has six connections to a host: nine pages with a stream each would wait for ever.
        try await browser.evaluate(
          """
          for (var count = 0; count < 2; count++) {
            var frame = document.createElement('iframe')
            frame.src = location.pathname
            document.body.append(frame)
          }
          """)
        try await browser.becomes(pages + "return all.length === 9 && texts.every(t => t.includes('clicks: 0'))")
        try await browser.evaluate(pages + "all.forEach(d => d.querySelector('.w-text').click())")
        try await browser.becomes(pages + "return texts.every(t => t.includes('clicks: 1'))")
        try await browser.evaluate(
          pages + "document.getElementById('all').click(); all[0].querySelector('.w-text').click()")
        try await browser.becomes(
          pages + "return texts.every((t, index) => t.includes(index < 3 ? 'clicks: 2' : 'clicks: 1'))")
        try host.save(Self.counter("taps"), as: "home.js")
        try await browser.becomes(
          pages + "return texts.every((t, index) => t.includes(index < 3 ? 'taps: 2' : 'taps: 1'))")
      }
    }
  }

  @Test("a browser shows the steps of a recorded page, and the one that is chosen")
  func stepsInBrowser() async throws {
    try await running(["home.js": Script.counter]) {
      Self.record(&$0)
    } _: { host in
      let id = try await host.open("home")
      try await host.tap(id)
      try await Frontend.running("http://127.0.0.1:\(host.port)/steps/\(id)") { browser in
        try await browser.shows(["open: ", "event click of"])
        try await browser.evaluate("document.querySelector('li').click()")
        try await browser.shows(["Step 1 of", "Step 1: open", "Changes"])
        try await host.tap(id)
        try await browser.becomes("return document.querySelectorAll('li').length > 2")
        try await browser.evaluate("document.querySelectorAll('li')[1].click()")
        try await browser.shows(["Step 2 of"])
        try await browser.evaluate("document.querySelector('button').click()")
        try await browser.becomes("return location.search.startsWith('?page=')")
        try await browser.shows(["clicks: 1"])
      }
    }
  }

  @Test("without recordings there are no steps, which says how to have them")
  func noSteps() async throws {
    try await running(["home.js": Script.counter]) { host in
      let id = try await host.open("home")
      #expect(try await host.ask("GET", "/steps").text.contains("--record FILE"))
      let list = try await host.ask("GET", "/steps/\(id)/list")
      #expect(list.status == 404 && list.text.contains("--record FILE"), "\(list.text)")
    }
  }

  private static func recording(_ path: String) throws -> Recording {
    try Recording(reading: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
  }

  /// A text that asks a question when it is tapped, and then shows the answer.
  private static func question(_ call: String, _ answer: String) -> String {
    Script.page(
      """
      var t = d.createElement('text', { attr: { value: 'ask' } })
      t.addEvent('click', function () {
        weex.requireModule('modal').\(call), function (r) { t.setAttr('value', 'said ' + \(answer)) })
      })
      b.appendChild(t)
      """)
  }

  @Test("a question waits for a viewer, who answers it once; without a viewer it gets the first button")
  func questions() async throws {
    let script = Self.question("confirm({ message: 'Sure?', okTitle: 'Yes', cancelTitle: 'No' }", "r")
    try await running(["home.js": script]) { host in
      let id = try await host.open("home")
      try await host.tap(id)
      try await host.untilView(of: id, has: "said Yes")
      let viewer = try RawClient(port: host.port)
      viewer.send("GET /pages/\(id)/live/patches HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      _ = try await viewer.read(until: "retry:")
      try await host.tap(id)
      // The message of the first tap may come before.
      var told = ""
      for _ in 1...100 where !told.contains(/event: question\n.*Sure\?"}\n/) {
        told += try await viewer.read(until: "\n")
      }
      #expect(told.contains("event: question") && told.contains(#""buttons":["Yes","No"]"#), "\(told)")
      let number = try #require(told.firstMatch(of: /"id":(\d+),"kind":"confirm"/)?.1, "\(told)")
      // A viewer that comes later is asked too.
      let later = try RawClient(port: host.port)
      later.send("GET /pages/\(id)/live/patches?lastEventId=100000 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      _ = try await later.read(until: "event: question")
      let path = "/pages/\(id)/live/answer"
      let long = String(repeating: "x", count: ViewerQuestions.textLimit + 1)
      for (body, status) in [
        (#"{"id":\#(number),"button":2}"#, 400), (#"{"id":\#(number),"button":-1}"#, 400),
        (#"{"id":0,"button":0}"#, 404),
        (#"{"id":\#(number),"button":0,"text":"\#(long)"}"#, 400), ("{}", 400), (#"{"id":\#(number),"button":1}"#, 204),
      ] {
        #expect(try await host.ask("POST", path, body).status == status, "\(body.prefix(60))")
      }
      try await host.untilView(of: id, has: "said No")
      _ = try await viewer.read(until: "event: answered")
      #expect(try await host.ask("POST", path, #"{"id":\#(number),"button":1}"#).status == 404)
      // A question of a run that has ended waits no longer.
      try await host.tap(id)
      _ = try await viewer.read(until: "event: question")
      try host.save(script + "\n// later", as: "home.js")
      _ = try await viewer.read(until: "event: answered")
    }
  }

  /// A text that asks a question when it is tapped, and shows all the answers.
  ///
  /// - Parameter asking: how `ask` is called.
  private static func repeatedQuestion(_ asking: String) -> String {
    Script.page(
      """
      var all = '', t = d.createElement('text', { attr: { value: 'ask' } })
      function ask () {
        weex.requireModule('modal').confirm({ message: 'Sure?', okTitle: 'Yes', cancelTitle: 'No' }, function (r) {
          all += r; t.setAttr('value', 'said ' + all)
        })
      }
      t.addEvent('click', function () { \(asking) })
      b.appendChild(t)
      """)
  }

  /// Has a viewer answer the next question of a page.
  private static func answer(_ id: String, with button: Int, _ host: Running, _ viewer: RawClient) async throws {
    var told = ""
    for _ in 1...1_000 where !told.contains(/event: question\n.*"id":\d+.*\n/) {
      told += try await viewer.read(until: "\n")
    }
    let number = try #require(told.firstMatch(of: /event: question\n.*"id":(\d+)/)?.1, "\(told)")
    let answer = #"{"id":\#(number),"button":\#(button)}"#
    #expect(try await host.ask("POST", "/pages/\(id)/live/answer", answer).status == 204)
  }

  @Test(
    "a question gets the answer that it had when a saved page's inputs are done again, also after the new run is shown",
    arguments: ["ask()", "setTimeout(ask, 300)"])
  func repeatedAnswers(asking: String) async throws {
    let script = Self.repeatedQuestion(asking)
    try await running(["home.js": script]) { host in
      let id = try await host.open("home")
      let viewer = try RawClient(port: host.port)
      viewer.send("GET /pages/\(id)/live/patches HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      _ = try await viewer.read(until: "retry:")
      for (button, said) in [(1, "said No"), (0, "said NoYes")] {
        try await host.tap(id)
        try await Self.answer(id, with: button, host, viewer)
        try await host.untilView(of: id, has: said)
      }
      for count in 1...2 {
        try host.save(script + "\n// \(count)", as: "home.js")
        #expect(try await host.reload(count) == (2, nil))
        try await host.untilView(of: id, has: "said NoYes")
      }
      // The user goes on, and is asked.
      try await host.tap(id)
      try await Self.answer(id, with: 1, host, viewer)
      try await host.untilView(of: id, has: "said NoYesNo")
    }
  }

  @Test("a question gets the answer that it had after a script was stopped and saved")
  func answersOfStoppedScript() async throws {
    let endless = "if (all) { while (true) {} }; ask()"
    try await running(["home.js": Self.repeatedQuestion(endless)]) {
      $0.pageTime = .milliseconds(500)
    } _: { host in
      let id = try await host.open("home")
      let viewer = try RawClient(port: host.port)
      viewer.send("GET /pages/\(id)/live/patches HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      _ = try await viewer.read(until: "retry:")
      try await host.tap(id)
      try await Self.answer(id, with: 1, host, viewer)
      try await host.untilView(of: id, has: "said No")
      try await host.tap(id, status: 504)
      try host.save(Self.repeatedQuestion("ask()"), as: "home.js")
      #expect(try await host.reload(1) == (1, nil))
      try await host.untilView(of: id, has: "said No")
    }
  }

  @Test("a browser shows a question of the page, and takes the text and the button")
  func questionInBrowser() async throws {
    let script = Self.question("prompt({ message: 'Name?', default: 'Bob' }", "r.result + ' ' + r.data")
    try await running(["home.js": script]) { host in
      try await Frontend.running("http://127.0.0.1:\(host.port)/live/home") { browser in
        try await browser.becomes("return document.body.textContent.includes('ask')")
        for (button, answer) in [(0, "said OK Ann"), (1, "said Cancel Ann")] {
          try await browser.evaluate("document.querySelector('.w-text').click()")
          try await browser.becomes(
            """
            var shown = document.querySelector('html > .live-question')
            return shown.querySelector('p').textContent === 'Name?' && shown.querySelector('input').value === 'Bob'
              && document.activeElement === shown.querySelector('input')
            """)
          try await browser.evaluate(
            """
            document.querySelector('.live-question input').value = 'Ann'
            document.querySelectorAll('.live-question button')[\(button)].click()
            """)
          try await browser.becomes(
            "return document.body.textContent.trim() === '\(answer)' && !document.querySelector('.live-question')")
        }
      }
    }
  }

  @Test("pictures of pages are refused with the command that draws them")
  func noPictures() async throws {
    try await running(["home.js": Script.counter]) { host in
      let answer = try await host.ask("GET", "/pages/\(try await host.open("home"))/picture")
      #expect(answer.status == 501 && answer.text.contains("bundlectl render --format png does"), "\(answer.text)")
      #expect(!answer.text.contains("--pictures"), "\(answer.text)")
    }
  }

  @Test("an error that comes again and again is told once")
  func repeatedError() async throws {
    let script = Script.page("var n = 0; setInterval(function () { n += 1; missing() }, 10)")
    try await running(["home.js": script]) { host in
      let id = try await host.open("home")
      _ = try await host.fault("Can't find variable: missing")
      // A save whose page is told of after further errors.
      try host.save(script.replacing("missing", with: "absent"), as: "home.js")
      _ = try await host.fault("Can't find variable: absent")
      #expect(host.news.read { $0.faults.count { $0.message.contains("missing") } } == 1)
      #expect(try await host.view(of: id).contains("w-div"))
    }
  }

  @Test("a file that is saved while it is opened runs as it was saved last")
  func saveWhileOpening() async throws {
    let slow = Self.counter("slow") + "\nvar end = Date.now() + 1000; while (Date.now() < end) {}"
    try await running(["home.js": slow]) { host in
      let opening = Task { try await host.open("home") }
      try await Task.sleep(for: .milliseconds(300))
      try host.save(Self.counter("quick"), as: "home.js")
      let id = try await opening.value
      let deadline = ContinuousClock.now + .seconds(60)
      while try await !host.view(of: id).contains("quick: 0") {
        try #require(ContinuousClock.now < deadline)
        try await Task.sleep(for: .milliseconds(10))
      }
    }
  }

  @Test("without the repetition of inputs a saved page begins anew")
  func withoutInputs() async throws {
    try await running(["home.js": Script.counter]) {
      $0.repeatsInputs = false
    } _: { host in
      let id = try await host.open("home")
      try await host.tap(id)
      try host.save(Self.counter("taps"), as: "home.js")
      #expect(try await host.reload(1) == (0, nil))
      #expect(try await host.view(of: id).contains("taps: 0"))
    }
  }

  @Test("the page around an embedded one runs again when that is saved")
  func embedded() async throws {
    let outer = Script.page("b.appendChild(d.createElement('embed', { attr: { src: 'inner.js' } }))")
    try await running(["outer.js": outer, "inner.js": Script.counter]) { host in
      let id = try await host.open("outer")
      let deadline = ContinuousClock.now + .seconds(60)
      while try await !host.view(of: id).contains("clicks: 0") {
        try #require(ContinuousClock.now < deadline)
        try await Task.sleep(for: .milliseconds(10))
      }
      try host.save(Self.counter("taps"), as: "inner.js")
      _ = try await host.reload(1)
      while try await !host.view(of: id).contains("taps: 0") {
        try #require(ContinuousClock.now < deadline)
        try await Task.sleep(for: .milliseconds(10))
      }
    }
  }

  @Test("an embedded page that is saved with an error tells it as its own, with its lines and over the page around it")
  func embeddedFault() async throws {
    let outer = Script.page("b.appendChild(d.createElement('embed', { attr: { src: 'inner.js' } }))")
    try await running(["outer.js": outer, "inner.js": Script.counter]) { host in
      let id = try await host.open("outer")
      try await host.untilView(of: id, has: "clicks: 0")
      let viewer = try RawClient(port: host.port)
      viewer.send("GET /pages/\(id)/live/patches HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      try host.save(Script.page("var a = 1\nmissing()\n"), as: "inner.js")
      let report = try await host.fault("Can't find variable: missing")
      #expect(report.place?.hasPrefix("inner.js:4:") == true && report.line == 4, "\(report)")
      #expect(report.lines.contains { $0.number == 4 && $0.text == "missing()" }, "\(report)")
      #expect(host.news.read(\.faultNames).allSatisfy { $0 == "inner" })
      _ = try await viewer.read(until: "event: fault")
      // The same bytes again run nothing, and the error stays.
      try host.save(Script.page("var a = 1\nmissing()\n"), as: "inner.js")
      try host.save(Self.counter("taps"), as: "inner.js")
      _ = try await viewer.read(until: "event: mended")
      try await host.untilView(of: id, has: "taps: 0")
      // Errors after the opening, and files that are no bundles.
      try host.save(
        Self.counter("late") + "\nsetTimeout(function () {\nabsent() }, 1)", as: "inner.js")
      let late = try await host.fault("Can't find variable: absent")
      #expect(late.place?.hasPrefix("inner.js:") == true && !late.lines.isEmpty, "\(late)")
      try host.save("<html></html>", as: "inner.js")
      _ = try await host.fault("it is HTML")
    }
  }

  @Test("an error of an embedded page is told once for each run, also if it comes while the page around it opens")
  func earlyEmbeddedFault() async throws {
    let outer = Script.page("b.appendChild(d.createElement('embed', { attr: { src: 'inner.js' } }))")
    try await running(["outer.js": outer, "inner.js": Script.page("missing()")]) { host in
      _ = try await host.open("outer")
      _ = try await host.fault("Can't find variable: missing")
      try host.save(Script.page("absent()"), as: "inner.js")
      _ = try await host.fault("Can't find variable: absent")
      // The first run, and each reload up to the one with the other error.
      let (told, runs) = host.news.read { ($0.faults.count { $0.message.contains("missing") }, $0.reloads.count) }
      #expect(told <= runs, "\(told) in \(runs) runs")
    }
  }

  @Test(
    "a file that is removed leaves the page as it was, which is told, and so is its return", arguments: [true, false])
  func removal(isMoved: Bool) async throws {
    try await running(["home.js": Script.counter]) { host in
      let id = try await host.open("home")
      try await host.tap(id)
      let viewer = try RawClient(port: host.port)
      viewer.send("GET /pages/\(id)/live/patches HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      let (file, other) = (host.folder.file("pages/home.js"), host.folder.file("home.js"))
      if isMoved { rename(file, other) } else { unlink(file) }
      try await host.until { $0.removals == ["home"] }
      _ = try await viewer.read(until: "home.js was removed; the page that ran stays")
      try await host.tap(id)
      #expect(try await host.view(of: id).contains("clicks: 2"))
      if isMoved { rename(other, file) } else { try host.save(Script.counter, as: "home.js") }
      try await host.until { $0.returns == ["home"] }
      _ = try await viewer.read(until: "home.js is there again")
      #expect(try await host.view(of: id).contains("clicks: 2"))
      unlink(file)
      try await host.until { $0.removals == ["home", "home"] }
      try host.save(Self.counter("taps"), as: "home.js")
      #expect(try await host.reload(1) == (2, nil))
      #expect(host.news.read { $0.faults.isEmpty && $0.returns == ["home"] })
    }
  }

  @Test("a removed file of an embedded page leaves the page around it as it was")
  func embeddedRemoval() async throws {
    let outer = Script.page("b.appendChild(d.createElement('embed', { attr: { src: 'inner.js' } }))")
    try await running(["outer.js": outer, "inner.js": Script.counter]) { host in
      let id = try await host.open("outer")
      try await host.untilView(of: id, has: "clicks: 0")
      unlink(host.folder.file("pages/inner.js"))
      try await host.until { $0.removals == ["inner"] }
      #expect(try await host.view(of: id).contains("clicks: 0"))
      try host.save(Self.counter("taps"), as: "inner.js")
      try await host.untilView(of: id, has: "taps: 0")
    }
  }

  @Test(
    "saves of a file that a link, or a link in its path, leads to are shown", arguments: ["home.js", "shared/home.js"])
  func links(name: String) async throws {
    try await running(["other.js": Script.counter]) { host in
      let (out, pages) = (host.folder.file("out"), host.folder.file("pages"))
      try FileManager.default.createDirectory(atPath: out, withIntermediateDirectories: true)
      let (first, second) = (out + "/home.js", out + "/new.js")
      try Data(Script.counter.utf8).write(to: URL(fileURLWithPath: first))
      let isFile = name == "home.js"
      symlink(isFile ? first : out, pages + (isFile ? "/home.js" : "/shared"))
      let id = try await host.open(
        String(name.dropLast(".js".count)).replacing("/", with: "%2F").removingPercentEncoding ?? "")
      for (count, isWhole) in [(1, true), (2, false)] {
        try Data(Self.counter("saved \(count)").utf8).write(
          to: URL(fileURLWithPath: first), options: isWhole ? .atomic : [])
        _ = try await host.reload(count)
        #expect(try await host.view(of: id).contains("saved \(count): 0"))
      }
      unlink(first)
      try await host.until { $0.removals == [String(name.dropLast(".js".count))] }
      try Data(Self.counter("again").utf8).write(to: URL(fileURLWithPath: first))
      _ = try await host.reload(3)
      guard isFile else { return }
      // The link leads elsewhere.
      try Data(Self.counter("elsewhere").utf8).write(to: URL(fileURLWithPath: second))
      unlink(pages + "/home.js")
      symlink(second, pages + "/home.js")
      _ = try await host.reload(4)
      #expect(try await host.view(of: id).contains("elsewhere: 0"))
    }
  }

  @Test("a folder that cannot be read is said once, and the others are watched", .enabled(if: geteuid() != 0))
  func unreadableFolder() async throws {
    try await running(["home.js": Script.counter]) {
      let closed = $0.folder.path + "/closed"
      try? FileManager.default.createDirectory(atPath: closed, withIntermediateDirectories: true)
      chmod(closed, 0)
    } _: { host in
      defer { chmod(host.folder.file("pages/closed"), 0o700) }
      _ = try await host.open("home")
      for count in 1...2 {
        try FileManager.default.createDirectory(
          atPath: host.folder.file("pages/new\(count)"), withIntermediateDirectories: true)
        try host.save(Self.counter("saved \(count)"), as: "home.js")
        _ = try await host.reload(count)
      }
      #expect(
        host.news.read(\.warnings).count == 1 && host.news.read(\.warnings)[0].contains("/closed cannot be watched"))
    }
  }

  @Test("a folder that is moved away and comes back is still watched")
  func movedFolder() async throws {
    try await running(["home.js": Script.counter]) { host in
      let id = try await host.open("home")
      let (pages, other) = (host.folder.file("pages"), host.folder.file("other"))
      rename(pages, other)
      try Data(Self.counter("moved").utf8).write(to: URL(fileURLWithPath: other + "/home.js"))
      rename(other, pages)
      _ = try await host.reload(1)
      #expect(try await host.view(of: id).contains("moved: 0"))
      try host.save(Self.counter("later"), as: "home.js")
      _ = try await host.reload(2)
      #expect(try await host.view(of: id).contains("later: 0"))
    }
  }

  @Test("a page that does not run is shown as its error, and a later save is told to the document")
  func brokenAtFirst() async throws {
    try await running(["home.js": Script.page("missing('<b>')")]) { host in
      let answer = try await host.ask("GET", "/live/home")
      #expect(
        answer.status == 422 && answer.text.contains("Can&#39;t find variable: missing")
          || answer.text.contains("Can't find variable: missing"), "\(answer.text)")
      #expect(
        answer.text.contains("missing(&#39;&lt;b&gt;&#39;)") || answer.text.contains("missing('&lt;b&gt;')"),
        "\(answer.text)")
      #expect(try await host.ask("GET", "/live/none").status == 404)
      let viewer = try RawClient(port: host.port)
      viewer.send("GET /saves HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      _ = try await viewer.read(until: "retry:")
      try host.save(Script.counter, as: "home.js")
      _ = try await viewer.read(until: "event: saved")
      #expect(try await host.ask("GET", "/live/home").status == 200)
    }
  }

  @Test("the list has the folder's bundles, and one bundle alone is opened at once")
  func list() async throws {
    try await running(["home.js": Script.counter, "a<b.js": Script.counter]) { host in
      let list = try await host.ask("GET", "/")
      #expect(
        list.status == 200 && list.text.contains(">home</a>") && list.text.contains(">a&lt;b</a>"), "\(list.text)")
      let sizes = try await host.ask("GET", "/sizes/home")
      #expect(sizes.text.ranges(of: "<iframe src=\"/live/home?device=").count == 3)
      #expect(try await host.ask("GET", "/sizes/none").status == 404)
      let bundle = try await host.ask("GET", "/bundles/home.js")
      #expect(bundle.status == 200 && bundle.text.hasSuffix(Script.counter))
      for path in ["/bundles/../secret.js", "/bundles/%2e%2e/x.js", "/bundles/.hidden.js"] {
        #expect(try await host.ask("GET", path).status == 404, "\(path)")
      }
      let deep = "pages/" + Array(repeating: "d", count: 17).joined(separator: "/")
      try FileManager.default.createDirectory(atPath: host.folder.file(deep), withIntermediateDirectories: true)
      let short = try await host.ask("GET", "/")
      #expect(
        short.text.contains(">home</a>") && short.text.contains("d is left out: it is more than 16 folders deep</p>"),
        "\(short.text)")
    }
    try await running(["home.js": Script.counter]) { host in
      let list = try await host.ask("GET", "/")
      #expect(list.status == 303 && list.text.lowercased().contains("location: /live/home"))
    }
  }

  @Test(
    "web pages of others, and names that are not this machine's, are refused",
    arguments: [
      ("Host: evil.example\r\n", 421), ("Host: 127.0.0.1\r\nOrigin: https://evil.example\r\n", 403),
      ("Host: 127.0.0.1\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\n", 403),
    ])
  func others(fields: String, status: Int) async throws {
    try await running(["home.js": Script.counter]) { host in
      for path in ["/", "/live/home", "/saves", "/json/list", "/bundles/home.js"] {
        let answer = try await host.ask("GET", path, fields: fields)
        #expect(answer.status == status, "\(path)")
      }
    }
  }

  @Test("a link of another site opens a bundle of the folder, and no other one and no data of its own")
  func links() async throws {
    try await running(["home.js": Script.counter]) { host in
      let fields =
        "Host: 127.0.0.1\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
      #expect(try await host.ask("GET", "/live/home", fields: fields).status == 200)
      for path in ["/live?url=http://127.0.0.1:1/evil.js", "/live/home?data=%7B%7D"] {
        let answer = try await host.ask("GET", path, fields: fields)
        #expect(answer.status == 403, "\(answer.text)")
      }
    }
  }

  @Test("Chrome's developer tools find the open pages without a token")
  func inspector() async throws {
    try await running(["home.js": Script.counter]) { host in
      _ = try await host.open("home")
      let list = try await host.ask("GET", "/json/list")
      #expect(list.status == 200 && list.text.contains("webSocketDebuggerUrl"), "\(list.text)")
    }
  }
}

extension Sequence {
  fileprivate func asyncFilter(_ isIncluded: (Element) async throws -> Bool) async throws -> [Element] {
    var found: [Element] = []
    for element in self where try await isIncluded(element) { found.append(element) }
    return found
  }
}

extension [DevelopmentHost.News] {
  fileprivate var port: Int? {
    lazy.compactMap { if case .listening(let port) = $0 { port } else { nil } }.first
  }
  fileprivate var reloads: [(inputs: Int, stopped: String?)] {
    compactMap { if case .reloaded(_, _, _, let inputs, let stopped) = $0 { (inputs, stopped) } else { nil } }
  }
  fileprivate var faults: [FaultReport] {
    compactMap { if case .fault(_, let report) = $0 { report } else { nil } }
  }
  fileprivate var faultNames: [String] {
    compactMap { if case .fault(let name, _) = $0 { name } else { nil } }
  }
  fileprivate var removals: [String] { compactMap { if case .removed(let name) = $0 { name } else { nil } } }
  fileprivate var warnings: [String] { compactMap { if case .warning(let text) = $0 { text } else { nil } } }
  fileprivate var recorded: [String] { compactMap { if case .recorded(_, let path) = $0 { path } else { nil } } }
  fileprivate var returns: [String] { compactMap { if case .returned(let name) = $0 { name } else { nil } } }
}
