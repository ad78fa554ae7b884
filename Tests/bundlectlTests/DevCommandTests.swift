import Foundation
import PageKit
import PageTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2))) struct DevCommandTests {
  private struct Timeout: Error {
    let found: String
  }

  /// Waits until the command has printed a text, on either stream.
  private static func wait(for text: String, _ running: RunningProgram) async throws -> String {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      let found = running.text(of: .output) + running.text(of: .error)
      if found.contains(text) { return found }
      guard .now < deadline else { throw Timeout(found: found) }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Waits until a process has ended.
  ///
  /// - Parameter mark: the file that has its id.
  private static func expectEnd(ofProcessIn mark: String) async throws {
    let child = try #require(
      pid_t(String(contentsOfFile: mark, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)))
    let deadline = ContinuousClock.now + .seconds(30)
    while kill(child, 0) == 0, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(20)) }
    #expect(kill(child, 0) != 0)
  }

  @Test("it says where it listens, each reload and each error, and a signal ends it and the command beside it")
  func session() async throws {
    let folder = try TemporaryDirectory()
    let (bundle, mark) = (folder.file("home.js"), folder.file("mark"))
    try Data(Site.script("first").utf8).write(to: URL(fileURLWithPath: bundle))
    let running = try Command.start([
      "dev", bundle, "--listen", "127.0.0.1:0", "--run", "echo $$ > \(mark); echo bundler; exec sleep 1000",
    ])
    let said = try await Self.wait(for: "http://127.0.0.1:", running)
    let port = try #require(said.firstMatch(of: /home\.js: http:\/\/127\.0\.0\.1:(\d+)\//)?.1, "\(said)")
    _ = try await Self.wait(for: "bundler", running)
    let page = try await Command.start(shell: "curl -sf http://127.0.0.1:\(port)/live/home").result()
    #expect(page.output.contains("first"))
    try Data(Site.script("second").utf8).write(to: URL(fileURLWithPath: bundle))
    _ = try await Self.wait(for: "home.js was saved, and runs again after", running)
    try Data((Site.script("third") + "\nmissing()").utf8).write(to: URL(fileURLWithPath: bundle))
    let error = try await Self.wait(for: "missing()", running)
    #expect(
      error.contains("home.js: ReferenceError: Can't find variable: missing") && error.contains("home.js:5:8"),
      "\(error)")
    running.send(SIGTERM)
    let result = await running.result(within: .seconds(30))
    #expect((result.status, result.wasKilled) == (130, false))
    try await Self.expectEnd(ofProcessIn: mark)
  }

  @Test("a recording has its end when a signal ends the command, and becomes a test that passes")
  func recordedTest() async throws {
    let folder = try TemporaryDirectory()
    let script = """
      // { "framework": "Vanilla" }
      var d = weex.document, b = d.createBody('div'), n = 0
      d.documentElement.appendChild(b)
      function text (value) {
        var t = d.createElement('text', { attr: { value: value } }); b.appendChild(t); return t
      }
      var t = text('taps: 0'), said = text('-'), field = d.createElement('input')
      t.addEvent('click', function () { n += 1; t.setAttr('value', 'taps: ' + n) })
      field.addEvent('input', function (e) { said.setAttr('value', e.value) })
      b.appendChild(field)
      weex.requireModule('stream').sendHttp({ url: 'data:text/plain,hello' }, function (body) { text(body) })
      """
    try Data(script.utf8).write(to: URL(fileURLWithPath: folder.file("home.js")))
    let running = try Command.start([
      "dev", folder.file("home.js"), "--listen", "127.0.0.1:0", "--record", folder.file("run.recording"),
    ])
    let said = try await Self.wait(for: "http://127.0.0.1:", running)
    let port = try #require(said.firstMatch(of: /127\.0\.0\.1:(\d+)\//)?.1, "\(said)")
    let page = try await Command.start(shell: "curl -sf http://127.0.0.1:\(port)/live/home").result().output
    let id = try #require(page.firstMatch(of: /data-page="([a-z0-9]+)"/)?.1, "\(page)")
    let text = try #require(page.firstMatch(of: /data-ref="(\d+)"[^>]*data-events="click"/)?.1, "\(page)")
    let field = try #require(page.firstMatch(of: /data-ref="(\d+)"[^>]*data-events="input"/)?.1, "\(page)")
    // As a browser sends them.
    let place = #"{"position":{"x":1,"y":2,"width":3,"height":4}}"#
    let events = """
      {"events":[{"ref":"\(text)","type":"click","event":\(place)},{"ref":"\(field)","type":"focus","event":\(place)},
      {"ref":"\(field)","type":"input","event":{"value":"Ann","timestamp":5},"changes":{"attrs":{"value":"Ann"}}},
      {"ref":"\(text)","type":"click","event":\(place)}]}
      """
    let sent = try await Command.start(
      shell: """
        curl -s -o /dev/null -w '%{http_code}' -H 'Content-Type: application/json' -H 'Origin: http://127.0.0.1:\(port)' \
          -d '\(events)' http://127.0.0.1:\(port)/pages/\(id)/live/events
        """
    ).result()
    #expect(sent.output == "204", "\(sent.output)\(sent.error)")
    running.send(SIGINT)
    #expect(await running.result(within: .seconds(30)).status == 130)
    let file = folder.file("run-1.recording")
    let list = try await Command.run("replay", file, "--list", "--json")
    #expect(list.output.contains("bundlectl dev has ended"), "\(list.output)\(list.error)")
    let tests = folder.file("tests")
    let made = try await Command.run("replay", file, "--as-test", tests, environment: ["CI": ""])
    #expect(made.status == 0, "\(made.output)\(made.error)")
    // On a busy machine time passes between the inputs.
    let test = try String(contentsOfFile: "\(tests)/home.test.json", encoding: .utf8).replacing(
      /\ *{"advance": "[^"]*"},\n/, with: "")
    #expect(
      test.contains(
        #"    {"tap": "text=taps: 0"},\#n    {"input": ["input", "Ann"]},\#n    {"tap": "text=taps: 1"},\#n"#),
      "\(test)")
    #expect(try await Command.run("test", tests, "--ci", "--timeout", "100s").status == 0)
  }

  @Test("messages of a page do not command the terminal")
  func controlCharacters() async throws {
    let folder = try TemporaryDirectory()
    let script = Site.script("first") + "\nthrow new Error('\\u001b[31mred')"
    try Data(script.utf8).write(to: URL(fileURLWithPath: folder.file("home.js")))
    let running = try Command.start(["dev", folder.file(""), "--listen", "127.0.0.1:0"])
    let said = try await Self.wait(for: "http://127.0.0.1:", running)
    let port = try #require(said.firstMatch(of: /127\.0\.0\.1:(\d+)\//)?.1)
    _ = try await Command.start(shell: "curl -s http://127.0.0.1:\(port)/live/home").result()
    let told = try await Self.wait(for: "[31mred", running)
    #expect(!told.contains("\u{1b}[31mred") && told.contains("\u{FFFD}[31mred"), "\(told)")
    running.send(SIGINT)
    _ = await running.result()
  }

  @Test("a folder that a bundler will fill need not be there")
  func laterFolder() async throws {
    let folder = try TemporaryDirectory()
    let dist = folder.file("dist")
    let running = try Command.start([
      "dev", dist, "--listen", "127.0.0.1:0", "--run", "echo made > \(dist)/mark; echo bundler; exec sleep 1000",
    ])
    _ = try await Self.wait(for: "bundler", running)
    #expect(FileManager.default.fileExists(atPath: dist + "/mark"))
    running.send(SIGINT)
    #expect(await running.result(within: .seconds(30)).status == 130)
  }

  @Test("a command beside it that ignores signals is ended too")
  func stubbornCommand() async throws {
    let folder = try TemporaryDirectory()
    let mark = folder.file("mark")
    try Data(Site.script("first").utf8).write(to: URL(fileURLWithPath: folder.file("home.js")))
    let running = try Command.start([
      "dev", folder.file(""), "--listen", "127.0.0.1:0", "--run",
      "trap '' TERM; echo $$ > \(mark); echo ready; while :; do sleep 1; done",
    ])
    _ = try await Self.wait(for: "ready", running)
    running.send(SIGINT)
    #expect(await running.result(within: .seconds(30)).status == 130)
    try await Self.expectEnd(ofProcessIn: mark)
  }

  @Test("the end of the command beside it is said")
  func endedCommand() async throws {
    let folder = try TemporaryDirectory()
    try Data(Site.script("first").utf8).write(to: URL(fileURLWithPath: folder.file("home.js")))
    let running = try Command.start(["dev", folder.file(""), "--listen", "127.0.0.1:0", "--run", "exit 3"])
    _ = try await Self.wait(for: "exit 3 has ended with status 3", running)
    running.send(SIGINT)
    #expect(await running.result(within: .seconds(30)).status == 130)
  }

  @Test(
    "wrong usage, and folders without bundles, are refused",
    arguments: [
      (["dev", "/nowhere/at/all"], 1, "there is no such file or folder"),
      (["dev", "--lan", "--listen", "127.0.0.1:1"], 64, "--lan listens on all addresses"),
      (["dev", "--advertise", "10.0.0.1"], 64, "--advertise belongs to --lan"),
      (["dev", "--listen", "nonsense"], 64, "--listen must be an address and a port"),
      (["dev", "--listen", "0.0.0.0:1"], 64, "--lan serves others"),
      (["dev", "--run", " "], 64, "--run has no command"),
      (["dev", "--lan", "--advertise", "me"], 64, "--advertise must be an IP address"),
      (["dev", "--data", "{"], 64, "--data"),
      (["dev", "--record", "/nowhere/at/all/run"], 1, "/nowhere/at/all: No such file or directory"),
      (["dev", "--record", "runs/"], 64, "--record must be the name of a file"),
      (["dev", "--memory", "1MB"], 64, "--memory must be at least 128MB"),
      (["dev", "--framework", "/nowhere.js"], 1, "/nowhere.js"),
    ])
  func refusals(arguments: [String], status: Int32, reason: String) async throws {
    let folder = try TemporaryDirectory()
    try Data(Site.script("first").utf8).write(to: URL(fileURLWithPath: folder.file("home.js")))
    let result = try await Command.start(arguments, in: folder.file("")).result()
    #expect(result.status == status && result.error.contains(reason), "\(result.error)")
  }

  @Test("a port that is taken is an error with its number")
  func takenPort() async throws {
    let folder = try TemporaryDirectory()
    try Data(Site.script("first").utf8).write(to: URL(fileURLWithPath: folder.file("home.js")))
    let first = try Command.start(["dev", folder.file(""), "--listen", "127.0.0.1:0"])
    let said = try await Self.wait(for: "http://127.0.0.1:", first)
    let port = try #require(said.firstMatch(of: /127\.0\.0\.1:(\d+)\//)?.1)
    let second = try await Command.run("dev", folder.file(""), "--listen", "127.0.0.1:\(port)")
    #expect(second.status == 1 && second.error.contains("127.0.0.1:\(port): Address already in use"), "\(second.error)")
    first.send(SIGINT)
    _ = await first.result()
  }
}
