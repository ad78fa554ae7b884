import Foundation
import NIOCore
import PageKit
import PageTesting
import Testing

@testable import PageWorkers
@testable import bundlectl

/// Pages in separate processes: the ends of hostile ones, and the same output as in the command's own process.
struct RenderWorkerTests {
  private static let head = "// { \"framework\": \"Vanilla\" }\n"
  private static let body = head + "var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)\n"

  // MARK: Hostile pages

  struct Hostile: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let script: String
    /// The error after the page's URL.
    let reason: [String]

    // On a busy machine the process may be lost before its script has used its time: that error has the same limit.
    static let time = ["0.5 s", "(--page-time)"]
    static let memory = ["it exceeded the memory limit of its process, 256 MiB (--memory)"]
  }

  private static let hostile = [
    Hostile(testDescription: "an endless loop", script: "while (true) {}", reason: Hostile.time),
    Hostile(
      testDescription: "promises that follow each other for ever",
      script: ";(function f() { Promise.resolve().then(f) })()", reason: Hostile.time),
    Hostile(
      testDescription: "a loop that allocates",
      script: "var a = []; while (true) a.push(new Array(100000).fill(a.length))", reason: Hostile.memory),
    Hostile(
      testDescription: "promises that allocate",
      script: "var a = []; (function f() { a.push(new Uint8Array(1 << 20).fill(1)); Promise.resolve().then(f) })()",
      reason: Hostile.memory),
  ]

  /// Output that depends on the time, or that only a debug build has.
  private static let margin: Int64 = 256 << 20

  @Test("a hostile page ends in bounded time and memory, with its URL, the limit and the option", arguments: hostile)
  func hostilePages(_ page: Hostile) async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(Self.body + page.script, to: "hostile.js")
      let path = site.folder.file("hostile.js")
      // A page that allocates must reach the memory limit first, however slow the machine is.
      let time = page.reason == Hostile.time ? "500ms" : "60s"
      let program = try Command.start(
        ["render", path, "--store", site.store, "--memory", "256MB", "--page-time", time])
      let peak = await program.peakBytes()
      let result = await program.result()
      #expect(result.status == 1)
      #expect(result.error.hasPrefix("bundlectl: \(path) was stopped: "), "\(result.error)")
      #expect(result.error.split(separator: "\n").count == 1, "\(result.error)")
      for part in page.reason { #expect(result.error.contains(part), "\(result.error)") }
      #expect((1..<256 << 20 + Self.margin).contains(peak), "\(peak >> 20) MiB")
      print("\(page.testDescription): \(peak >> 20) MiB, \(result.time)")
    }
  }

  @Test("a hostile page of a server is reported by its URL, also as an error in --json")
  func hostileReport() async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["a.js": Self.body + ";(function f() { Promise.resolve().then(f) })()"])
      let url = site.origin.url(for: "/b/a.js")
      let result = try await Command.run(
        "render", url, "--store", site.store, "--page-time", "300ms", "--json", "--manifest", site.manifest)
      #expect(result.status == 1)
      #expect(try result.json["state"] as? String == "failed")
      let errors = try #require(try result.json["errors"] as? [[String: Any]])
      let message = try #require(errors.first?["message"] as? String)
      #expect(errors.count == 1 && message.hasPrefix("\(url) was stopped: ") && message.contains("(--page-time)"))
    }
  }

  @Test("a page that hangs in an event is stopped, and its last state is printed")
  func hangingEvents() async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(
        Self.body + "b.addEvent('click', function f() { Promise.resolve().then(f) })", to: "a.js")
      let result = try await Command.run(
        "render", site.folder.file("a.js"), "--store", site.store, "--page-time", "500ms", "--fire", "_root:click")
      #expect(result.status == 1)
      #expect(result.error.contains("was stopped: ") && result.error.contains("(--page-time)"), "\(result.error)")
      #expect(result.output.hasPrefix("div #_root @click"))
    }
  }

  // MARK: Reasons

  /// A page whose notices are lost, as those of a process that is killed before it has sent them.
  private actor SilentPage: RenderedPage {
    private let state: PageLook
    private let ending: RenderFault?

    init(_ state: PageLook, ending: RenderFault? = nil) { (self.state, self.ending) = (state, ending) }

    func open() -> RenderFault? { nil }
    func fire(_ event: FiredEvent) -> RenderFault? { nil }
    func look() -> PageLook { state }
    func html(title: String, embedding: Bool) -> String { "" }
    func picture(_ options: PictureOptions) -> [UInt8] { [] }
    func source() -> String? { nil }
    func end() -> RenderFault? { ending }
  }

  private static func request(_ url: PageURL) -> Rendering.Request {
    Rendering.Request(
      url: url, timeWaited: .zero, isFile: true, data: [:], events: [], wait: .seconds(10), timers: .zero,
      htmlEmbedding: nil, keepsCommands: false, limits: WorkerLimits(time: .seconds(5), memory: 256 << 20),
      isInProcess: false, notice: nil)
  }

  @Test("a page that was stopped has failed, with a reason, also if its process is killed before it has sent it")
  func lostNotices() async throws {
    let folder = try TemporaryDirectory()
    let url = try #require(PageURL(filePath: folder.file("a.js")))
    let host = try PageHost(HostConfiguration(store: StoreDirectory(folder.file("store"))))
    func faults(_ page: SilentPage) async throws -> [String] {
      let rendering = try await Rendering.run(Self.request(url), page, NoticeListener(nil), on: host)
      #expect(rendering.state == .failed)
      return rendering.faults.map(\.message)
    }
    var stopped = PageLook()
    stopped.phase = .failed
    stopped.failure = PageFailureNotice(
      .script(url: url.text, .memoryLimit(limit: 192 << 20, found: 200 << 20)))
    let memory = "\(url.readable) was stopped: it exceeded the memory limit of its process, 256 MiB (--memory)"
    #expect(try await faults(SilentPage(stopped)) == [memory])
    // The page was live at its last answer, and its process was killed afterwards.
    var live = PageLook()
    live.phase = .live
    let killed = RenderFault("killed", url: url.text)
    #expect(try await faults(SilentPage(live, ending: killed)) == ["killed"])
    // One reason is enough.
    #expect(try await faults(SilentPage(stopped, ending: killed)) == [memory])
    var unknown = PageLook()
    unknown.phase = .failed
    #expect(try await faults(SilentPage(unknown, ending: killed)) == ["killed"])
    #expect(
      try await faults(SilentPage(unknown)) == ["\(url.readable) has failed, and its process gave no reason"])
    await host.shutDown()
  }

  @Test("the answer to an opening has the reason why the page was stopped, which needs no notice")
  func reasonOfTheAnswer() async throws {
    let folder = try TemporaryDirectory()
    try Data((Self.body + "while (true) {}").utf8).write(to: URL(fileURLWithPath: folder.file("a.js")))
    let url = try #require(PageURL(filePath: folder.file("a.js")))
    let host = try PageHost(HostConfiguration(store: StoreDirectory(folder.file("store"))))
    let limits = WorkerLimits(time: .milliseconds(300), memory: 256 << 20)
    let page = WorkerPage(
      Self.request(url), on: host, NoticeListener(nil), limits, executable: Command.executable.path)
    let fault = try await page.open()
    // A busy machine may end the process instead of the script; that reason is the opening's own error.
    if fault == nil {
      let look = await page.look()
      guard case .time = look.failure?.stop else {
        Issue.record("\(String(describing: look.failure))")
        return
      }
      #expect(look.phase == .failed)
    }
    _ = await page.end()
    await host.shutDown()
  }

  @Test("a process that is killed after the page has answered is the page's error, whether its end was noticed or not")
  func killedAfterTheAnswer() async throws {
    let folder = try TemporaryDirectory()
    try Data(Self.body.utf8).write(to: URL(fileURLWithPath: folder.file("a.js")))
    let url = try #require(PageURL(filePath: folder.file("a.js")))
    let host = try PageHost(HostConfiguration(store: StoreDirectory(folder.file("store"))))
    for isNoticed in [false, true] {
      let page = WorkerPage(
        Self.request(url), on: host, NoticeListener(nil), WorkerLimits(time: .seconds(60), memory: 256 << 20),
        executable: Command.executable.path)
      #expect(try await page.open() == nil)
      let pool = await page.pool
      let process = try #require(await pool.status().workers.first?.pid)
      kill(process, SIGKILL)
      if isNoticed { try await eventually("the end is noticed") { await pool.lastEnd != nil } }
      let fault = await page.end()
      #expect(
        fault?.message.contains("was stopped: the worker process has ended") == true, "\(String(describing: fault))")
    }
    await host.shutDown()
  }

  @Test("a page is opened once more if the engine's alarm has ended its process, and is then reported like others")
  func alarmFault() async throws {
    let folder = try TemporaryDirectory()
    try Data(Self.body.utf8).write(to: URL(fileURLWithPath: folder.file("a.js")))
    let url = try #require(PageURL(filePath: folder.file("a.js")))
    let host = try PageHost(HostConfiguration(store: StoreDirectory(folder.file("store"))))
    let ready = try Frame.encode(WorkerMessage.ready(ConfinementReport()))
    try Data(ready.readableBytesView).write(to: URL(fileURLWithPath: folder.file("ready")))
    for (count, text) in [(1, nil), (2, "it ended by signal 6 (Aborted)")] {
      // So many processes end as soon as they were told to open a page.
      let script = """
        #!/bin/sh
        cd '\(folder.path)'
        for number in $(seq \(count)); do
          mkdir "\(count).$number" 2>/dev/null || continue
          cat ready >&3
          while ! dd bs=65536 count=1 <&3 2>/dev/null | grep -q '"open"'; do :; done
          echo 'libjavascriptcoregtk-4.1.so.0(_ZN3JSC7VMTraps25requestThreadStopIfNeededEj+0x1de)[0x7f]' >&2
          kill -6 $$
        done
        exec '\(Command.executable.path)' "$@"

        """
      let program = folder.file("worker.\(count)")
      try Data(script.utf8).write(to: URL(fileURLWithPath: program))
      chmod(program, 0o700)
      let page = WorkerPage(
        Self.request(url), on: host, NoticeListener(nil), WorkerLimits(time: .seconds(60), memory: 256 << 20),
        executable: program)
      let fault = try await page.open()
      #expect(fault == nil ? text == nil : fault?.message.contains(text ?? "-") == true, "\(fault?.message ?? "")")
      _ = await page.end()
    }
    await host.shutDown()
  }

  // MARK: Without a process

  @Test(
    "a page without a process is an error that names the reason and --in-process",
    arguments: ["/bin/false", "/nowhere/at/all"])
  func withoutAProcess(_ executable: String) async throws {
    let folder = try TemporaryDirectory()
    try Data(Self.body.utf8).write(to: URL(fileURLWithPath: folder.file("a.js")))
    let host = try PageHost(HostConfiguration(store: StoreDirectory(folder.file("store"))))
    let limits = WorkerLimits(time: .seconds(5), memory: 256 << 20)
    let request = Rendering.Request(
      url: try #require(PageURL(filePath: folder.file("a.js"))), timeWaited: .zero, isFile: true, data: [:], events: [],
      wait: .seconds(1), timers: .zero, htmlEmbedding: nil, keepsCommands: false, limits: limits, isInProcess: false,
      notice: nil)
    let page = WorkerPage(request, on: host, NoticeListener(nil), limits, executable: executable)
    do {
      _ = try await page.open()
      Issue.record("the page was opened")
    } catch let error as DescribedError {
      #expect(error.description.hasPrefix("no process can be started for the page: "), "\(error)")
      #expect(error.description.hasSuffix("; --in-process runs the page without one"), "\(error)")
    }
    _ = await page.end()
    await host.shutDown()
  }

  @Test("a process without confinement of files, privileges or system calls runs no page")
  func withoutConfinement() throws {
    func refusal(_ step: String) throws -> String? {
      let report = #"{"dropped": [], "kept": {"\#(step)": "Function not implemented"}}"#
      return WorkerPage.refusal(try JSONDecoder().decode(ConfinementReport.self, from: Data(report.utf8)))?.description
    }
    for (step, what) in [("files", "files"), ("new-privileges", "privileges"), ("system-calls", "system calls")] {
      #expect(
        try refusal(step)
          == "the page's process cannot give up \(what): Function not implemented; --in-process runs the page without one"
      )
    }
    // The filter of system calls forbids sockets.
    #expect(try refusal("network") == nil)
  }

  @Test("a page whose process ends by itself is reported as stopped, with the exit status")
  func anEndedProcess() async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(Self.body, to: "a.js")
      // The script engine cannot reserve its address space.
      let result = try await Command.start(
        shell: "ulimit -v 4000000; \(Command.executable.path) render \(site.folder.file("a.js")) --ephemeral"
      ).result()
      #expect(result.status == 1 && !result.wasKilled && result.output.isEmpty)
      #expect(result.error.hasPrefix("bundlectl: \(site.folder.file("a.js")) was stopped: "), "\(result.error)")
      #expect(result.error.contains("by signal") && result.error.split(separator: "\n").count == 1, "\(result.error)")
    }
  }

  @Test(
    "limits that cannot be used are wrong usage",
    arguments: [
      (["--memory", "1GB", "--in-process"], "cannot be used with --in-process"),
      (["--memory", "1MB"], "at least 128MB"), (["--memory", "much"], "--memory"),
      (["--page-time", "1ms"], "from 10ms"),
    ])
  func wrongLimits(_ options: [String], _ text: String) async throws {
    let result = try await Command.start(["render", "a.js"] + options).result()
    #expect(result.status == 64)
    #expect(result.error.contains(text), "\(result.error)")
  }

  @Test("a worker is not started by hand")
  func byHand() async throws {
    let result = try await Command.run("worker")
    #expect(result.status == 64)
    #expect(result.error == "bundlectl worker is started by bundlectl, not by hand\n")
    #expect(try await !Command.run("--help").output.contains("worker"))
  }

  // MARK: The same in both ways

  /// A page with something of every kind that `render` shows.
  private static let page =
    body + """
      var s = weex.requireModule('storage'), m = weex.requireModule('modal'), n = 0
      var t = d.createElement('text', { attr: { value: 'user: ' + weex.config.env.platform }, style: { color: 'red' } })
      t.addEvent('click', function () { n += 1; t.setAttr('value', 'clicks: ' + n); if (n > 1) missing() })
      b.appendChild(t)
      b.appendChild(d.createElement('image', { attr: { src: 'i.svg' } }))
      b.appendChild(d.createElement('image', { attr: { src: 'none.svg' } }))
      b.appendChild(d.createElement('embed', { attr: { src: 'part.js' } }))
      b.appendChild(d.createElement('tabbar'))
      weex.requireModule('titleBar')
      m.toast({ message: 'shown' })
      m.confirm({ message: 'sure?' }, function (r) { b.setAttr('said', r) })
      s.setItem('k', 'v', function () { s.getItem('k', function (e) { b.setAttr('stored', e.data) }) })
      weex.requireModule('stream').fetch({ url: 'list.json', type: 'json' }, function (r) { b.setAttr('list', r.data) })
      setTimeout(function () { b.setAttr('late', 1) }, 100)
      setTimeout(function () { b.setAttr('later', 1) }, 5000)
      setInterval(function () {}, 50)
      console.log('said', { a: 1 }); console.warn('careful'); console.error(new TypeError('bad'))
      """

  private static let part =
    body + """
      b.appendChild(d.createElement('text', { attr: { value: 'inside' } }))
      setTimeout(function () { gone() }, 1)
      """

  /// Runs `render` with and without a separate process, from an empty state.
  private static func both(
    _ target: String, _ more: [String]
  ) async throws -> (worker: Command.Result, own: Command.Result) {
    let arguments = ["render", target, "--ephemeral"] + more
    let worker = try await Command.start(arguments).result()
    return (worker, try await Command.start(arguments + ["--in-process"]).result())
  }

  private static func expectSame(_ results: (worker: Command.Result, own: Command.Result), _ comment: String) {
    #expect(results.worker.status == results.own.status, "\(comment): \(results.worker.error)")
    // Timers and requests change the tree in any order.
    func lines(_ text: String) -> [String] {
      let lines = text.split(separator: "\n").map(String.init)
      return comment.contains("commands") ? lines.sorted() : lines
    }
    #expect(lines(results.worker.output) == lines(results.own.output), "\(comment)")
    // Lines of pages that load at the same time may have another order.
    #expect(
      results.worker.error.split(separator: "\n").sorted() == results.own.error.split(separator: "\n").sorted(),
      "\(comment)")
    #expect(!results.worker.output.isEmpty || !results.worker.error.isEmpty, "\(comment)")
  }

  @Test(
    "a file is rendered to the same with and without --in-process",
    arguments: [
      [], ["--styles"], ["--json"], ["--format", "json"], ["--format", "html"], ["--format", "html", "--no-embed"],
      ["--format", "commands"], ["--fire", "3:click"], ["--fire", "3:click", "--fire", "3:click", "--json"],
      ["--fire", "99:click"], ["--fire", "3:swipe"], ["--fail-on", "error"], ["--fail-on", "warning"],
      ["--env", "platform=android", "--env", "scale=3"], ["--data", #"{"user":{"name":"ann"}}"#, "--json"],
      ["--offline"],
    ])
  func sameForFiles(_ options: [String]) async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(Self.page, to: "a.js")
      try site.write(Self.part, to: "part.js")
      try site.write("<svg width='4' height='3'></svg>", to: "i.svg")
      try site.write(#"{"a": [1, 2]}"#, to: "list.json")
      Self.expectSame(try await Self.both(site.folder.file("a.js"), options), "\(options)")
    }
  }

  @Test(
    "timers are waited for equally with and without --in-process",
    arguments: [[], ["--timers", "0"], ["--timers", "200s", "--wait", "0.2"]])
  func sameForTimers(_ options: [String]) async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(Self.body + "setTimeout(function () {}, 100000); setInterval(function () {}, 100000)", to: "a.js")
      let results = try await Self.both(site.folder.file("a.js"), options)
      Self.expectSame(results, "\(options)")
      let text = options.count > 2 ? "still waits for 1 timer" : "not waited for: 1 timer"
      #expect(results.worker.error.contains(text))
    }
  }

  @Test(
    "errors of a file have the same text with and without --in-process",
    arguments: [
      "", "<html></html>", "var a = 1", "// { \"framework\": \"Zork\" }\nvar a = 1",
      "// { \"framework\": \"Vue\" }\nvar a = 1",
      head + "var a = 1", head + "\nvar 天气 = '🙂' = 2", body + "missing()", body + "Promise.reject(new Error('lost'))",
      head + ";missing()\n//# sourceMappingURL=a.js.map", body + "while (true) {}",
      body + "weex.requireModule('navigator').push({ url: 'next.js' }, function () {})",
      body + "b.appendChild(d.createElement('embed', { attr: { src: 'none.js' } }))",
    ])
  func sameForFaults(_ script: String) async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(script, to: "a.js")
      try site.write(Self.body + "missing()", to: "next.js")
      try site.write(#"{"version":3,"sources":["src/page.ts"],"mappings":";CAEE"}"#, to: "a.js.map")
      try site.write("one\ntwo\n  missing()\n", to: "src/page.ts")
      for options in [[], ["--json"]] {
        let results = try await Self.both(site.folder.file("a.js"), options + ["--page-time", "500ms"])
        Self.expectSame(results, "\(options)")
      }
    }
  }

  @Test(
    "a server's bundle is rendered to the same with and without --in-process",
    arguments: [
      ["--json"], ["--policy", "networkOnly"], ["--policy", "cacheOnly"], ["--policy", "cacheFirst", "--json"],
      ["--offline"], ["--deadline", "5s", "--format", "html"],
    ])
  func sameForServers(_ options: [String]) async throws {
    try await Site.running { (site: Site) async throws in
      try site.publish(["a.js": Self.page, "part.js": Self.part, "i.svg": "<svg width='4' height='3'></svg>"])
      site.origin.serve("/b/list.json", Array(#"{"a": [1, 2]}"#.utf8))
      for target in ["a", site.origin.url(for: "/b/a.js"), site.origin.url(for: "/b/none.js")] {
        let results = try await Self.both(target, options + ["--manifest", site.manifest])
        Self.expectSame(results, "\(target) \(options)")
      }
    }
  }

  @Test("the stages of --timings are the same with and without --in-process, and in order")
  func sameStages() async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(Self.body, to: "a.js")
      let results = try await Self.both(site.folder.file("a.js"), ["--json", "--timings"])
      let worker = try #require(try results.worker.json["timings"] as? [String: Any])
      let own = try #require(try results.own.json["timings"] as? [String: Any])
      #expect(Set(worker.keys) == Set(own.keys))
      let stages = ["bundle", "createInstance", "evaluated", "createFinish"].compactMap { worker[$0] as? Double }
      #expect(stages.count == 4 && stages == stages.sorted(), "\(worker)")
    }
  }
}
