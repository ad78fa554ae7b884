import Foundation
import Logging
import NIOCore
import PageKit
import PageTesting
import Synchronization
import TestSupport
import Testing

@testable import PageWorkers
@testable import RenderHost

@Suite(.serialized) struct KillTests {
  @Test("two hanging pages do not block another", arguments: [Script.endless, Script.promises])
  func hangingPages(_ script: String) async throws {
    // On a busy machine a worker counts as lost after ten times this and 30 s by the clock.
    try await PageFarm.running(["hang": script, "counter": Script.counter], pageTime: .seconds(1)) { farm in
      let open = try await farm.open("counter")
      let ended = Monitor(0)
      @Sendable func hang(_ number: Int) async throws -> PageFarm.Answer {
        // Also if it is not answered in time, so that no more answers are awaited then.
        defer { ended.change { $0 += 1 } }
        return try await farm.ask(.post, "/pages", #"{"name":"hang","data":{"a":\#(number)}}"#)
      }
      async let first = hang(1)
      async let second = hang(2)
      try await farm.until { await farm.running.workers.status().workers.contains { $0.busy > 0.1 } }
      // Others are answered while both pages hang; a request that had to wait for one would be answered after it.
      var answers = 0
      while ended.read({ $0 }) == 0 {
        let rendered = try await farm.ask(.get, "/render?name=counter&format=outline")
        #expect(rendered.text.contains("clicks: 0"))
        if ended.read({ $0 }) == 0 { answers += 1 }
      }
      #expect(answers > 0)
      for answer in [try await first, try await second] {
        #expect(answer.status == 504)
        #expect(answer.json["error"].text?.contains("script ran for") == true, "\(answer.text)")
      }
      try await farm.until { try await farm.ask(.get, "/pages/\(open)").status == 200 }
      try await farm.until { await farm.running.workers.status().ready == 2 }
    }
  }

  @Test("workers without pages are sampled less often, and as before with the next page")
  func quiet() async throws {
    let bundles = ["hang": Script.promises, "counter": Script.counter]
    try await PageFarm.running(bundles, workers: 1, pageTime: .milliseconds(300)) { farm in
      let pool = farm.running.workers
      let page = try await farm.open("counter")
      #expect(try await farm.ask(.delete, "/pages/\(page)").status == 204)
      try await farm.until { await pool.isQuiet }
      // Sampling is what finds that its page does not end.
      #expect(try await farm.ask(.post, "/pages", #"{"name":"hang"}"#).status == 504)
      try await farm.until { await pool.isQuiet }
    }
  }

  @Test("a page that allocates endlessly is stopped, and the other pages of its worker stay open")
  func endlessAllocation() async throws {
    try await PageFarm.running(
      ["memory": Script.memory, "counter": Script.counter], workers: 1, pageTime: .seconds(10),
      change: { $0.workerMemory = 400 << 20 }
    ) { farm in
      let open = try await farm.open("counter")
      let answer = try await farm.ask(.post, "/pages", #"{"name":"memory"}"#)
      #expect(answer.status == 504)
      #expect(answer.json["error"].text?.contains("MiB") == true, "\(answer.text)")
      #expect(await farm.running.workers.status().workers.map(\.kills) == [0])
      #expect(try await farm.ask(.get, "/pages/\(open)").json["reopened"].count == 0)
      #expect(try await farm.ask(.get, "/render?name=counter").status == 200)
    }
  }

  @Test("a page whose layout takes too long is stopped with the reason, and another page of its worker is opened again")
  func slowLayout() async throws {
    // Each text is measured in some hundred widths, which takes several times as long as a layout may.
    let script = Script.page(
      """
      b.addEvent('click', function () {
        for (var n = 0; n < 400; n++) {
          var inner = b
          for (var level = 0; level < 13; level++) {
            var direction = level % 2 ? 'column' : 'row', padding = '0.' + level % 9 + '%'
            var style = { flexDirection: direction, flexShrink: 1, alignItems: 'center', padding: padding }
            var box = d.createElement('div', { style: style })
            box.appendChild(d.createElement('div', { style: { width: 10, height: 10 } }))
            inner.appendChild(box)
            inner = box
          }
          inner.appendChild(d.createElement('text', { attr: { value: 'a '.repeat(5000) } }))
        }
        weex.requireModule('dom').getComponentRect(b, function () {})
      })
      """)
    try await PageFarm.running(
      ["slow": script, "counter": Script.counter], workers: 1, pageTime: .seconds(1),
      changePool: { $0.layoutTime = .seconds(1) }
    ) { farm in
      let (slow, counter) = (try await farm.open("slow"), try await farm.open("counter"))
      let (slowLog, counterLog) = (try await farm.log(of: slow), try await farm.log(of: counter))
      async let clicked = farm.ask(.post, "/pages/\(slow)/fire", #"{"ref":"_root","type":"click"}"#)
      // It is answered while the script runs, and waits while the elements are laid out.
      var seen = try await farm.ask(.get, "/pages/\(counter)")
      try await farm.until {
        seen = try await farm.ask(.get, "/pages/\(counter)")
        return seen.status != 200
      }
      let laidOut = "a page's elements were changed and laid out for "
      let answer = try await clicked
      #expect(answer.status == 504)
      let location = farm.origin.url(for: "/b/slow.js")
      #expect(answer.json["error"].text?.hasPrefix("\(location): \(laidOut)") == true, "\(answer.text)")
      let told = "the page's worker was stopped because of another page: \(laidOut)"
      #expect(seen.status == 503)
      #expect(seen.json["error"].text?.hasPrefix(told) == true, "\(seen.text)")
      #expect(try await farm.ask(.get, "/pages/\(slow)").status == 404)
      #expect(await slowLog.names(after: 0).last == "killed")
      try await farm.until { try await farm.ask(.get, "/pages/\(counter)").json["reopened"].count == 1 }
      let reopened = await counterLog.details(of: "reopened")
      #expect(reopened?.contains(told) == true, "\(reopened ?? "")")
      let failures = farm.record.failures.latest.filter { $0.kind == "worker" }
      #expect(failures.map(\.subject) == [location], "\(failures)")
    }
  }

  @Test("callers learn if another page has ended their worker, and never what the worker has written")
  func blame() {
    let reason = KillReason.ended("it ended by signal 6 (Aborted)", lastWords: "[0x1234]")
    let ended = "the worker process has ended: it ended by signal 6 (Aborted)"
    let rows: [(Set<UInt64>, Int, String)] = [
      ([1], 504, "a.js: \(ended)"), ([], 503, "the page's worker was stopped: \(ended)"),
      ([2], 503, "the page's worker was stopped because of another page: \(ended)"),
    ]
    for (culprits, status, text) in rows {
      let failure = PageFailure(WorkerError.ended(reason, Blame(1, among: culprits)), url: "a.js")
      #expect(failure.status.code == status && failure.description == text, "\(failure)")
    }
  }

  @Test("a bundle that ends workers is barred")
  func barredBundle() async throws {
    try await PageFarm.running(
      ["hang": Script.promises, "counter": Script.counter], pageTime: .milliseconds(300)
    ) { farm in
      for _ in 1...3 { #expect(try await farm.ask(.post, "/pages", #"{"name":"hang"}"#).status == 504) }
      let answer = try await farm.ask(.post, "/pages", #"{"name":"hang"}"#)
      #expect(answer.status == 403)
      #expect(answer.json["error"].text?.contains("3 times") == true)
      let barred = try await farm.ask(.get, "/pages/barred").json["barred"].list
      #expect(barred.first?["url"].text == farm.origin.url(for: "/b/hang.js"))
      #expect(try await farm.ask(.get, "/render?name=counter").status == 200)
    }
  }

  @Test("pages of a killed worker are reopened elsewhere")
  func reopenedPages() async throws {
    try await PageFarm.running(["hang": Script.promises, "counter": Script.counter], workers: 1, pageTime: .seconds(1))
    { farm in
      let id = try await farm.open("counter")
      let log = try await farm.log(of: id)
      let ref = try await farm.ask(.get, "/pages/\(id)").json["tree"]["children"].list.first?["ref"].text ?? ""
      _ = try await farm.ask(.post, "/pages/\(id)/fire", #"{"ref":"\#(ref)","type":"click"}"#)
      #expect(try await farm.ask(.post, "/pages", #"{"name":"hang"}"#).status == 504)
      try await farm.until { await log.names(after: 0).contains("reopened") }
      try await farm.until { try await farm.ask(.get, "/pages/\(id)").status == 200 }
      let page = try await farm.ask(.get, "/pages/\(id)")
      #expect(page.json["reopened"].count == 1)
      // Its script has started again.
      #expect(page.text.contains("clicks: 0"))
      let names = await log.names(after: 0)
      #expect(names.last == "rendered" || names.contains("commands"))
    }
  }

  @Test("a worker killed from outside is replaced, and no bundle is blamed")
  func externalKill() async throws {
    try await PageFarm.running(["counter": Script.counter], workers: 1) { farm in
      let id = try await farm.open("counter")
      let before = try #require(await farm.running.workers.status().workers.first)
      kill(before.pid, SIGKILL)
      try await farm.until {
        await farm.running.workers.status().workers.first { $0.state == .ready }.map { $0.pid != before.pid } ?? false
      }
      try await farm.until { try await farm.ask(.get, "/pages/\(id)").json["reopened"].count == 1 }
      let status = await farm.running.workers.status()
      #expect(try farm.metric("renderhost_worker_kills_total", ["reason": "ended"]) == 1)
      #expect(farm.record.failures.latest.first?.message.contains("signal 9") == true)
      #expect(status.barred.isEmpty)
    }
  }

  @Test("a replacement has the number of its predecessor")
  func workerNumbers() async throws {
    try await PageFarm.running(["counter": Script.counter]) { farm in
      let pool = farm.running.workers
      let began = Date()
      for kills in 1...3 {
        let second = try #require(await pool.status().workers.first { $0.slot == 2 })
        #expect(second.started <= Date() && second.started > began - 60)
        kill(second.pid, SIGKILL)
        try await farm.until {
          let workers = await pool.status().workers
          return workers.map(\.slot) == [1, 2] && workers[1].kills == kills && workers[1].state == .ready
        }
      }
      let status = await pool.status()
      #expect(status.slots == 2 && status.workers.map(\.kills) == [0, 3])
      #expect(try farm.metric("renderhost_worker_kills_total", ["reason": "ended"]) == 3)
      // Three equal failures are one entry, with the time of the last.
      let failures = farm.record.failures.latest
      #expect(failures.map(\.kind) == ["worker"])
      #expect(failures.allSatisfy { $0.time > began && $0.time <= Date() })
    }
  }

  @Test("a bundle is opened by the worker that ran it last")
  func warmWorkers() async throws {
    try await PageFarm.running(["a": Script.counter, "b": Script.page("/* other */")]) { farm in
      var homes: [String: Set<Int>] = [:]
      for name in ["a", "b", "a", "b", "a", "b"] {
        let id = try await farm.open(name)
        let number = try await farm.running.directory.page(id).number
        let home = try #require(await farm.running.workers.home(of: number))
        homes[name, default: []].insert(home)
      }
      #expect(homes["a"]?.count == 1)
      #expect(homes["b"]?.count == 1)
      #expect(homes["a"] != homes["b"])
    }
  }

  @Test("fifty killed workers leave no zombie process")
  func zombies() async throws {
    try await PageFarm.running(["counter": Script.counter]) { farm in
      for round in 1...50 {
        let pool = farm.running.workers
        try await farm.until { await pool.status().ready >= 2 }
        let pid = try #require(await pool.status().workers.filter { $0.state == .ready }.randomElement()?.pid)
        kill(pid, SIGKILL)
        try await farm.until { await !pool.status().workers.contains { $0.pid == pid } }
        // All were reaped: no zombie is left.
        #expect(kill(pid, 0) == -1, "round \(round)")
      }
      try await farm.until { await farm.running.workers.status().ready >= 2 }
      #expect(try await farm.ask(.get, "/render?name=counter").status == 200)
    }
  }

  @Test("workers end with the daemon")
  func daemonExit() async throws {
    let pids = try await PageFarm.running(["counter": Script.counter]) { farm in
      await farm.running.workers.status().workers.map(\.pid)
    }
    #expect(pids.count == 2)
    for pid in pids { #expect(kill(pid, 0) == -1) }
  }

  @Test(
    "only the worker that sends no messages is killed",
    arguments: [
      "printf '\\377\\377\\377\\377xxxx' >&3; sleep 60", "printf '\\0\\0\\0\\6\\0\\0\\0\\2{}' >&3; sleep 60",
    ])
  func silentWorker(_ script: String) async throws {
    let folder = try TemporaryDirectory()
    let program = folder.file("worker")
    try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(fileURLWithPath: program))
    chmod(program, 0o700)
    try await PageFarm.running(["counter": Script.counter]) { farm in
      var configuration = WorkerPool.Configuration()
      (configuration.workers, configuration.executable) = (1, program)
      let reasons = Mutex<[String]>([])
      let pool = WorkerPool(
        configuration, logger: .init(label: "test") { _ in SwiftLogNoOpLogHandler() },
        killed: { reason, _ in reasons.withLock { $0.append("\(reason)") } })
      let running = Task { try await pool.run() }
      try await farm.until { reasons.withLock { $0.count >= 2 } }
      #expect(reasons.withLock { $0.allSatisfy { $0.contains("an invalid message") } })
      #expect(await pool.status().ready == 0)
      running.cancel()
      try? await running.value
      let answer = try await farm.ask(.get, "/render?name=counter")
      #expect(answer.status == 200)
    }
  }

  @Test("a worker that aborts is reported with the calls that led to it")
  func abortedWorker() async throws {
    try await PageFarm.running([:], workers: 1) { farm in
      let worker = try #require(await farm.running.workers.status().workers.first)
      kill(worker.pid, SIGABRT)
      try await farm.until { await farm.running.workers.lastEnd != nil }
      let end = try #require(await farm.running.workers.lastEnd)
      #expect("\(end)".contains("signal 6 (Aborted) with the message") && "\(end)".contains("[0x"), "\(end)")
      #expect(!end.told.contains("[0x"))
    }
  }

  @Test("the standard error of a worker that ends is part of the reason", arguments: [3, 70_000])
  func lastWords(length: Int) async throws {
    let folder = try TemporaryDirectory()
    let program = folder.file("worker")
    // What is too long is lost, and the worker does not wait for it.
    let script = """
      #!/bin/sh
      echo "it \u{1b}[31mbroke" >&2
      head -c \(length) /dev/zero | tr '\\0' x >&2 2>/dev/null
      kill -6 $$
      """
    try Data(script.utf8).write(to: URL(fileURLWithPath: program))
    chmod(program, 0o700)
    var configuration = WorkerPool.Configuration()
    (configuration.workers, configuration.executable, configuration.keepsWorkers) = (1, program, false)
    let pool = WorkerPool(configuration, logger: .init(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let running = Task { try await pool.run() }
    try await eventually("the worker has ended") { await pool.lastEnd != nil }
    let end = try #require(await pool.lastEnd)
    #expect(end.cause == "the worker process has ended: it ended by signal 6 (Aborted)")
    let words = length == 3 ? "it [31mbroke; xxx" : String(repeating: "x", count: 1_200)
    #expect("\(end)" == end.cause + " with the message \"\(words)\"")
    running.cancel()
    try? await running.value
  }

  // MARK: Bounds

  /// A program that says that it is ready, sends `messages` when the test lets it, and reads nothing.
  private static func takenOver(_ messages: [(WorkerMessage, [UInt8])], in folder: TemporaryDirectory) throws -> String
  {
    func write(_ frames: [(WorkerMessage, [UInt8])], to name: String) throws {
      var bytes = ByteBuffer()
      for (message, payload) in frames {
        var frame = try Frame.encode(message, payload)
        bytes.writeBuffer(&frame)
      }
      try Data(bytes.readableBytesView).write(to: URL(fileURLWithPath: folder.file(name)))
    }
    try write([(.ready(ConfinementReport()), [])], to: "ready")
    try write(messages, to: "messages")
    let script = """
      #!/bin/sh
      cat '\(folder.file("ready"))' >&3
      while [ ! -e '\(folder.file("go"))' ]; do sleep 0.02; done
      cat '\(folder.file("messages"))' >&3
      exec sleep 600

      """
    let program = folder.file("worker")
    try Data(script.utf8).write(to: URL(fileURLWithPath: program))
    chmod(program, 0o700)
    return program
  }

  /// Answers nothing, also when the answer is no longer wanted, and counts what it is asked.
  private final class Unanswering: WorkerPoolDelegate {
    let asked = Mutex((questions: 0, bytes: 0))
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])

    func end() {
      for continuation in waiting.withLock(\.self) { continuation.resume() }
    }

    func receive(event name: String, _ details: [UInt8], of page: UInt64) {}
    func workerEnded(_ pages: Set<UInt64>, culprits: Set<UInt64>, _ reason: KillReason) async {}
    func answer(
      _ question: PageQuestion, _ payload: [UInt8], of page: UInt64,
      _ send: @escaping @Sendable (PageAnswer, [UInt8]) async throws -> Void
    ) async {
      asked.withLock { ($0.questions, $0.bytes) = ($0.questions + 1, $0.bytes + payload.count) }
      await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
    }
  }

  /// Runs a pool with one worker that sends `messages` once page 1 is assigned to it, until the worker is killed.
  private static func endOfWorker(
    sending messages: [(WorkerMessage, [UInt8])],
    logger: Logger = .init(label: "test") { _ in SwiftLogNoOpLogHandler() }
  ) async throws -> (reason: String, asked: (questions: Int, bytes: Int)) {
    let folder = try TemporaryDirectory()
    var configuration = WorkerPool.Configuration()
    (configuration.workers, configuration.keepsWorkers) = (1, false)
    configuration.executable = try takenOver(messages, in: folder)
    let reasons = Mutex<[String]>([])
    let pool = WorkerPool(
      configuration, logger: logger, killed: { reason, _ in reasons.withLock { $0.append("\(reason)") } })
    let delegate = Unanswering()
    await pool.attach(delegate)
    let running = Task { try await pool.run() }
    let opening = Task {
      _ = try await pool.ready(within: .seconds(60))
      let page = PageOpening(
        url: "a.js", options: PageRequestOptions(), data: .null, wait: PageWait(settle: 0, timers: 0), view: nil,
        isOnce: false)
      return try await pool.open(
        1, page, [], ContentDigests(of: []).sha256, for: PageCaller(client: "", hasInput: false), location: "a.js")
    }
    try await eventually("the page has a worker") { await pool.home(of: 1) != nil }
    try Data().write(to: URL(fileURLWithPath: folder.file("go")))
    try await eventually("the worker is killed") { reasons.withLock { !$0.isEmpty } }
    await #expect(throws: WorkerError.self) { _ = try await opening.value }
    delegate.end()
    running.cancel()
    try? await running.value
    return (reasons.withLock { $0.first ?? "" }, delegate.asked.withLock(\.self))
  }

  @Test("a worker that asks without end is killed, and the daemon holds a bounded number of its questions")
  func endlessQuestions() async throws {
    let limit = QuestionBounds(count: WorkerPool.Configuration().questions).enforced.count
    let messages = (1...UInt64(2_000)).map { (WorkerMessage.ask(question: $0, page: 1, .storedKeys), [UInt8]()) }
    let result = try await Self.endOfWorker(sending: messages)
    #expect(result.reason.contains("it goes on asking"), "\(result.reason)")
    #expect(result.asked.questions == limit)
  }

  @Test("a worker whose questions have contents without end is killed, and the daemon holds a bounded part of them")
  func endlessContents() async throws {
    let contents = [UInt8](repeating: 65, count: 4 << 20)
    let messages = (1...UInt64(100)).map { (WorkerMessage.ask(question: $0, page: 1, .storeValue(key: "k")), contents) }
    let result = try await Self.endOfWorker(sending: messages)
    #expect(result.reason.contains("it goes on asking"), "\(result.reason)")
    #expect(result.asked.bytes == 2 * QuestionBounds.standardBytes)
  }

  @Test("a worker that drops its questions does not make the daemon hold more of them")
  func droppedQuestions() async throws {
    let limit = QuestionBounds(count: WorkerPool.Configuration().questions).enforced.count
    let messages = (1...UInt64(2_000)).flatMap { number -> [(WorkerMessage, [UInt8])] in
      [(.ask(question: number, page: 1, .storedKeys), []), (.drop(question: number), [])]
    }
    let result = try await Self.endOfWorker(sending: messages)
    #expect(result.reason.contains("it goes on asking"), "\(result.reason)")
    #expect(result.asked.questions == limit)
  }

  @Test("a worker that logs without end fills no log")
  func endlessLog() async throws {
    let log = LogLines()
    let lines = (1...1_000).map { (WorkerMessage.log(level: "error", message: "line \($0)"), [UInt8]()) }
    let end = (1...UInt64(2_000)).map { (WorkerMessage.ask(question: $0, page: 1, .storedKeys), [UInt8]()) }
    _ = try await Self.endOfWorker(sending: lines + end, logger: log.logger)
    #expect(log.lines.count { $0.contains("line ") } == WorkerPool.loggedLines)
    #expect(log.lines.count { $0.contains("the rest is left out") } == 1)
  }

  @Test("a page that asks for more than it may gets an error for the rest, and its worker goes on")
  func manyRequests() async throws {
    let script = Script.page(
      """
      var t = d.createElement('text', { attr: { value: '' } }), failed = 0; b.appendChild(t)
      for (var i = 0; i < 400; i++) {
        weex.requireModule('stream').fetch({ url: 'held-' + i, type: 'text' }, function (r) {
          if (/more than 256 unanswered/.test(r.data + r.statusText)) t.setAttr('value', 'failed: ' + ++failed)
        })
      }
      """)
    try await PageFarm.running(["many": script, "counter": Script.counter], workers: 1) { farm in
      farm.origin.hold("/b/held-*")
      let id = try await farm.open("many")
      try await farm.until { try await farm.ask(.get, "/pages/\(id)").text.contains("failed: 144") }
      #expect(await farm.running.workers.status().workers.map(\.kills) == [0])
      farm.origin.release("/b/held-*")
      #expect(try await farm.ask(.get, "/render?name=counter").status == 200)
    }
  }

  // MARK: Waiting

  @Test("a client that goes while no worker is ready waits no longer, and its place is free")
  func goneClient() async throws {
    let folder = try TemporaryDirectory()
    let program = folder.file("worker")
    try Data("#!/bin/sh\nexec sleep 600\n".utf8).write(to: URL(fileURLWithPath: program))
    chmod(program, 0o700)
    var configuration = WorkerPool.Configuration()
    (configuration.workers, configuration.executable, configuration.pageTime) = (1, program, .seconds(3_600))
    let pool = WorkerPool(configuration, logger: .init(label: "test") { _ in SwiftLogNoOpLogHandler() })
    pool.admission.serve(workers: 1)
    let running = Task { try await pool.run() }
    let client = Task {
      try await pool.admission.admitted("a") {
        _ = try await pool.worker(for: ContentDigests(of: []).sha256)
      }
    }
    try await eventually("the client waits for a worker") { pool.admission.counts.running == 1 }
    client.cancel()
    await #expect(throws: CancellationError.self) { try await client.value }
    #expect(pool.admission.counts.running == 0)
    running.cancel()
    try? await running.value
  }
}
