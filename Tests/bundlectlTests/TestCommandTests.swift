import Foundation
import PageKit
import PageTesting
import PageWorkers
import TestSupport
import Testing

@testable import bundlectl

/// `bundlectl test` on real folders.
struct TestCommandTests {
  /// A folder with a page, which counts taps and shows an answer, and tests.
  private final class Project: Sendable {
    let folder: TemporaryDirectory

    init() throws {
      folder = try TemporaryDirectory()
      try Files.write(
        """
        // { "framework": "Vanilla" }
        const document = weex.document
        const body = document.createBody('div', {})
        document.documentElement.appendChild(body)
        const text = document.createElement('text', { attr: { id: 'count', value: '0' } })
        const button = document.createElement('text', { attr: { value: 'Add' } })
        const field = document.createElement('input', { attr: { id: 'field' } })
        const clock = document.createElement('text', { attr: { id: 'clock', value: new Date().toISOString() } })
        ;[text, button, field, clock].forEach(node => body.appendChild(node))
        let count = 0
        button.addEvent('click', () => {
          count += 1
          if (count === 3) throw new Error('three')
          if (count === 4) while (true) {}
          text.setAttr('value', '' + count)
        })
        field.addEvent('input', event => {
          weex.requireModule('stream').fetch({ url: 'https://api.example.com/' + event.value, type: 'text' }, answer => {
            console.log('answered ' + answer.ok)
            text.setAttr('value', answer.ok ? answer.data : 'no answer')
          })
        })
        setTimeout(() => clock.setAttr('value', 'a minute later'), 60000)
        """, to: folder.file("dist/page.js"))
    }

    /// - Parameter steps: the steps, and other members behind them.
    func test(_ steps: String, _ name: String = "a") throws {
      try Files.write(
        "{\"page\": \"../dist/page.js\", \"steps\": [\n\(steps)}\n", to: folder.file("tests/\(name).test.json"))
    }

    func run(_ arguments: String..., environment: [String: String] = [:]) async throws -> Command.Result {
      // Tests run where CI may be set, and on machines that are busy.
      let patience = arguments.contains("--timeout") ? [] : ["--timeout", "100s"]
      return try await Command.start(
        ["test"] + arguments + patience, in: folder.path, environment: ["CI": ""].merging(environment) { $1 }
      ).result()
    }

    func text(_ file: String) -> String? { try? String(contentsOfFile: folder.file(file), encoding: .utf8) }
  }

  private static let snapshot = "tests/__snapshots__/a/start.outline"

  @Test("taps, texts, requests and time work together, with the answers of the test and the page's own clock")
  func steps() async throws {
    let project = try Project()
    try project.test(
      """
      {"expect": {"#clock": {"attr": {"value": "2026-02-03T04:05:06.000Z"}}}},
      {"tap": "text=Add"}, {"tap": "text=Add"},
      {"expect": {"#count": {"count": 1, "attr": {"value": "2"}}, "input": {"count": 1}}},
      {"input": ["#field", "x"]},
      {"expect": "text=first"},
      {"fire": ["#field", "input", {"value": "x"}]},
      {"wait": "text=second"},
      {"advance": "50s"}, {"expect": {"text=a minute later": {"count": 0}}},
      {"advance": "10s"}, {"expect": "text=a minute later"}],
      "time": "2026-02-03T04:05:06Z", "budgets": {"requests": 2, "commands": 100},
      "answers": [{"url": "https://api.example.com/x", "text": "first"}, {"url": "https://api.example.com/*", "text": "second"}]
      """)
    let result = try await project.run()
    #expect(result.status == 0, "\(result.output)\(result.error)")
    #expect(result.output == "✓ tests/a (12 steps)\n1 test: 1 passed, 0 failed\n")
  }

  @Test("a missing snapshot is written and said, and fails where CI is; one that is the same is not touched")
  func snapshots() async throws {
    let project = try Project()
    try project.test(#"{"snapshot": "start"}, {"tap": "text=Add"}]"#)
    for (arguments, environment) in [(["--ci"], [:]), ([], ["CI": "true"])] as [([String], [String: String])] {
      let ci = try await Command.start(
        ["test", "--timeout", "100s"] + arguments, in: project.folder.path,
        environment: ["CI": ""].merging(environment) { $1 }
      ).result()
      #expect(ci.status == 1 && ci.output.contains("tests/a.test.json:2:1: snapshot start"), "\(ci.output)")
      #expect(ci.output.contains("there is no snapshot \(Self.snapshot)"))
      #expect(!Files.exists(project.folder.file("tests/__snapshots__")))
    }
    let first = try await project.run()
    #expect(first.status == 0 && first.output.contains("new snapshot: \(Self.snapshot)"), "\(first.output)")
    #expect(
      project.text(Self.snapshot) == """
        div #1
          text #1 id="count" value="0"
          text #2 value="Add" @click
          input #3 id="field" @input
          text #4 id="clock" value="2026-01-01T00:00:00.000Z"

        """)
    let path = project.folder.file(Self.snapshot)
    let status = FileStatus(ofLink: path)
    #expect(try await project.run("--ci").status == 0)
    #expect(try await project.run("--update").status == 0)
    #expect(FileStatus(ofLink: path) == status)
  }

  @Test("a page that differs fails with the difference; --update writes it and removes what no step takes")
  func updates() async throws {
    let project = try Project()
    try project.test(#"{"tap": "text=Add"}, {"snapshot": "start"}]"#)
    try Files.write("div #1\n", to: project.folder.file(Self.snapshot))
    try Files.write("div #1\n", to: project.folder.file("tests/__snapshots__/a/old.outline"))
    try Files.write("div #1\n", to: project.folder.file("tests/__snapshots__/gone/b.outline"))
    let local = try await project.run()
    #expect(local.status == 1)
    #expect(local.output.contains("    @@ -1 +1,5 @@ div > text[1]\n     div #1\n    +  text #1"), "\(local.output)")
    for file in ["a/old", "gone/b"] {
      #expect(local.output.contains("tests/__snapshots__/\(file).outline is a snapshot that no step takes"))
    }
    #expect(project.text(Self.snapshot) == "div #1\n")
    let update = try await project.run("--update")
    #expect(update.status == 0 && update.output.contains("changed snapshot: \(Self.snapshot)"), "\(update.output)")
    #expect(project.text(Self.snapshot)?.contains("value=\"1\"") == true)
    #expect(!Files.exists(project.folder.file("tests/__snapshots__/gone")))
    #expect(!Files.exists(project.folder.file("tests/__snapshots__/a/old.outline")))
    #expect(try await project.run("--ci").status == 0)
  }

  @Test("obsolete snapshots fail with --ci alone, and those of tests that are left out are no such")
  func obsolete() async throws {
    let project = try Project()
    try project.test("]")
    try Files.write("div #1\n", to: project.folder.file("tests/__snapshots__/a/old.outline"))
    try Files.write("div #1\n", to: project.folder.file("tests/__snapshots__/gone/b.outline"))
    #expect(try await project.run().status == 0)
    #expect(try await project.run("--ci").status == 1)
    try FileManager.default.removeItem(atPath: project.folder.file("tests/__snapshots__/a"))
    #expect(try await project.run("--ci").status == 1)
    #expect(try await project.run("--ci", "--filter", "A").status == 0)
    #expect(try await project.run("--ci", "tests/a.test.json").status == 0)
    #expect(Files.exists(project.folder.file("tests/__snapshots__/gone/b.outline")))
  }

  @Test("an error of the script fails the step in which it was thrown, and has its place; the log follows")
  func exceptions() async throws {
    let project = try Project()
    try project.test(
      """
      {"input": ["#field", "x"]},
      {"tap": "text=Add"},
      {"tap": "text=Add"},
      {"tap": "text=Add"}]
      """)
    let result = try await project.run("--report", "github")
    #expect(result.status == 1)
    #expect(
      result.output.contains("  tests/a.test.json:5:1: tap text=Add\n    Error: three\n    at dist/page.js:13:"),
      "\(result.output)")
    #expect(result.output.contains("  log: answered false\n"))
    #expect(result.output.contains("  the test has no answer for GET https://api.example.com/x\n"))
    #expect(result.output.contains("\n::error file=dist/page.js,line=13,title=tests/a::Error: three\n"))
  }

  @Test("an element that a step does not find ends the test, which names those there are; expectations let it go on")
  func failures() async throws {
    let project = try Project()
    try project.test(
      """
      {"expect": {"#count": {"attr": {"value": "1"}}, "list": {"count": 1}}},
      {"tap": "text=Ad"},
      {"expect": "text=never"}],
      "budgets": {"elements": 4, "depth": 1, "bundleBytes": 10}
      """)
    let result = try await project.run()
    #expect(
      result.output == """
        ✗ tests/a (2 steps)
          tests/a.test.json:2:13: expect #count, list
            expected the attribute value of #count to be "1", found "0"
          tests/a.test.json:2:49: expect #count, list
            expected 1 of list, found 0
          tests/a.test.json:3:1: tap text=Ad
            expected an element text=Ad, found none; its texts are "0", "Add", "2026-01-01T00:00:00.000Z"
          tests/a.test.json:5:40: budget bundleBytes
            expected at most 10 bytes of the bundle, found \(project.text("dist/page.js")?.utf8.count ?? 0)
          tests/a.test.json:5:13: budget elements
            expected at most 4 elements, found 5
          tests/a.test.json:5:28: budget depth
            expected at most 1 levels of elements, found 2
        1 test: 0 passed, 1 failed

        """)
  }

  @Test("the bundle's size with the coding br and the processor time of the opening have budgets")
  func measuredBudgets() async throws {
    let project = try Project()
    let script = try #require(project.text("dist/page.js"))
    let brotli = try #require(Brotli.encode(Array(script.utf8))).count
    func budgets(_ brotli: Int, _ time: String) throws {
      try project.test(#"{"tap": "text=Add"}], "budgets": {"bundleBrotli": \#(brotli), "processorTime": "\#(time)"}"#)
    }
    try budgets(brotli, "60s")
    let kept = try await project.run()
    #expect(kept.status == 0, "\(kept.output)")
    // It counts what the page takes, in each of its openings.
    try Files.write(
      "\(script)\nlet sum = 0\nfor (let i = 0; i < 2e7; i++) sum += Math.sqrt(i)\nconsole.log('opened ' + sum)\n",
      to: project.folder.file("dist/page.js"))
    try budgets(brotli - 1, "1ms")
    let exceeded = try await project.run()
    let time = /a.test.json:2:[0-9]+: budget processorTime\n +expected at most 1 ms of processor time, found ([0-9]+)\n/
    let found = try #require(exceeded.output.firstMatch(of: time), "\(exceeded.output)")
    #expect(Int(found.1) ?? 0 > 1)
    let size = /a.test.json:2:35: budget bundleBrotli\n +expected at most [0-9]+ bytes of the bundle with the coding br/
    #expect(exceeded.output.contains(size), "\(exceeded.output)")
    // The notes are those of the test's own opening.
    #expect(exceeded.output.components(separatedBy: "log: opened").count == 2, "\(exceeded.output)")
  }

  @Test("a test that hangs is ended after its time and named, and the others go on")
  func hangingTests() async throws {
    let project = try Project()
    let taps = Array(repeating: #"{"fire": ["text=Add", "click"]}"#, count: 4).joined(separator: ",\n")
    try project.test("\(taps)]", "hangs")
    try project.test(#"{"expect": "text=Add"}]"#, "passes")
    let result = try await project.run("--timeout", "10s", "--jobs", "1")
    #expect(result.status == 1 && result.time < .seconds(60))
    #expect(
      result.output.contains(
        "tests/hangs.test.json:5:1: fire click text=Add\n    the test did not end within 10 s (--timeout)"),
      "\(result.output)")
    #expect(result.output.contains("✓ tests/passes (1 step)\n2 tests: 1 passed, 1 failed\n"), "\(result.output)")
  }

  @Test("a test file with an error fails by itself, with its place")
  func wrongFiles() async throws {
    let project = try Project()
    try project.test(#"{"tapp": "list"}]"#, "bad")
    try project.test("]", "good")
    try Files.write(#"{"page": "none.js", "steps": []}"#, to: project.folder.file("tests/nopage.test.json"))
    let result = try await project.run("--report", "json=out.json")
    #expect(result.status == 1)
    #expect(result.output.contains("  tests/bad.test.json:2:1: the test file\n    expected one of snapshot"))
    #expect(result.output.contains("tests/none.js cannot be read: No such file or directory"), "\(result.output)")
    #expect(result.output.contains("3 tests: 1 passed, 2 failed"))
    let json = ScriptValue(json: project.text("out.json") ?? "") ?? [:]
    #expect(json["results"].array?.map { $0["passed"] } == [false, true, false])
  }

  @Test("all reports have the same bytes in any order, one after the other and several at once")
  func reports() async throws {
    let project = try Project()
    for number in 1...6 {
      let third = number % 3 == 0 ? #", {"tap": "text=Add"}, {"tap": "text=Add"}"# : ""
      try project.test(
        """
        {"tap": "text=Add"}\(third), {"snapshot": "end"}, {"input": ["#field", "\(number)"]}, {"accessible": true}],
        "seed": \(number), "device": "\(number % 2 == 0 ? "phone" : "tablet")"
        """, "t\(number)")
    }
    #expect(try await project.run().status == 1)
    let files = ["junit=r.xml", "tap=r.tap", "json=r.json"].flatMap { ["--report", $0] } + ["--output", "r.txt"]
    var seen: Set<[String?]> = []
    for order in [["--jobs", "1"], ["--jobs", "4"], ["--shuffle", "1"], ["--shuffle", "2", "--jobs", "3"]] {
      let result = try await Command.start(
        ["test", "--report", "github", "--timeout", "100s"] + files + order, in: project.folder.path,
        environment: ["CI": ""]
      ).result()
      seen.insert([result.output, result.error] + ["r.xml", "r.tap", "r.json", "r.txt"].map { project.text($0) })
    }
    #expect(seen.count == 1)
    #expect(seen.first?.contains(nil) == false)
  }

  @Test("the sample pages show the same in every run, in any order, and after the same time")
  func samples() async throws {
    let folder = try TemporaryDirectory()
    let bundles =
      URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().path + "/bundles"
    let names = try FileManager.default.contentsOfDirectory(atPath: bundles).filter { $0.hasSuffix(".js") }.sorted()
    #expect(names.count == 8)
    for name in names {
      try Files.write(
        """
        {"page": "\(bundles)/\(name)", "steps": [
          {"snapshot": "start", "styles": true}, {"advance": "5s"}, {"snapshot": "later", "styles": true}]}
        """, to: folder.file(name.replacing(".js", with: ".test.json")))
    }
    let first = try await Command.run("test", "--timeout", "100s", in: folder.path, environment: ["CI": ""])
    #expect(first.status == 0 && first.output.contains("8 passed, 0 failed; 16 snapshots written"), "\(first.output)")
    for order in [["--shuffle", "1", "--jobs", "3"], ["--shuffle", "2", "--jobs", "1"]] {
      let again = try await Command.start(["test", "--ci", "--timeout", "100s"] + order, in: folder.path).result()
      #expect(again.status == 0, "\(again.output)")
    }
    // No path of this machine is in a snapshot.
    let written = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".outline") }
    for file in written {
      #expect(try !String(contentsOfFile: folder.file(file), encoding: .utf8).contains(bundles), "\(file)")
    }
  }

  @Test("the page's requests and files stay within its folder")
  func confinement() async throws {
    let project = try Project()
    try Files.write("secret", to: project.folder.file("secret.txt"))
    try Files.write(
      """
      // { "framework": "Vanilla" }
      const document = weex.document, body = document.createBody('div', {})
      document.documentElement.appendChild(body)
      ;['../secret.txt', 'page.js', 'http://127.0.0.1:1/x'].forEach(url => {
        const text = document.createElement('text', { attr: { value: '' } })
        body.appendChild(text)
        weex.requireModule('stream').fetch({ url, type: 'text' }, answer => text.setAttr('value', url + answer.ok))
      })
      """, to: project.folder.file("dist/page.js"))
    try project.test(
      #"{"expect": {"text=../secret.txtfalse": {}, "text=page.jstrue": {}, "text=http://127.0.0.1:1/xfalse": {}}}]"#)
    let result = try await project.run()
    #expect(result.status == 0, "\(result.output)")
  }

  @Test(
    "wrong usage is status 64, and nothing to test is an error",
    arguments: [
      (["--timeout", "0"], 64), (["--jobs", "0"], 64), (["--ci", "--update"], 64), (["--report", "html=a"], 64),
      (["none"], 1), ([], 1), (["--filter", "x"], 1), (["dist/page.js"], 1),
    ] as [([String], Int32)])
  func usage(_ arguments: [String], _ status: Int32) async throws {
    let project = try Project()
    let result = try await Command.start(["test"] + arguments, in: project.folder.path).result()
    #expect(result.status == status && !result.error.isEmpty && result.output.isEmpty, "\(result.error)")
  }

  @Test("an interruption ends the tests and their processes with status 130")
  func interruption() async throws {
    let project = try Project()
    let taps = Array(repeating: #"{"tap": "text=Add"}"#, count: 4).joined(separator: ", ")
    try project.test("]", "a")
    try project.test("\(taps)]", "b")
    let program = try Command.start(
      ["test", "--jobs", "1", "--timeout", "1h"], in: project.folder.path, environment: ["CI": ""])
    // The second test hangs.
    try await program.wait(for: .output) { $0.contains("✓ tests/a") }
    program.send(SIGINT)
    let result = await program.result(within: .seconds(60))
    #expect(result.status == 130 && !result.wasKilled, "\(result.output)\(result.error)")
  }

  @Test("--watch runs the tests again when the page or a test changes")
  func watching() async throws {
    let project = try Project()
    try project.test(#"{"tap": "text=Add"}]"#)
    let program = try Command.start(
      ["test", "--watch", "--timeout", "100s"], in: project.folder.path, environment: ["CI": ""])
    try await program.wait(for: .output) { $0.contains("1 test: 1 passed") }
    let script = try #require(project.text("dist/page.js"))
    try Files.write(script.replacing("'Add'", with: "'Plus'"), to: project.folder.file("dist/page.js"))
    try await program.wait(for: .output) { $0.contains("1 test: 0 passed, 1 failed") }
    try project.test("]", "b")
    try await program.wait(for: .output) { $0.contains("2 tests: 1 passed, 1 failed") }
    program.send(SIGINT)
    #expect(await program.result(within: .seconds(60)).status == 130)
  }

  // MARK: Keys

  @Test("keys choose the tests of the next run, and what may happen to their snapshots")
  func watchedTests() throws {
    let folder = try TemporaryDirectory()
    for name in ["a", "b", "c"] { try Files.write("", to: folder.file("\(name).test.json")) }
    let all = try TestFiles([folder.path])
    let files = all.paths
    func results(_ failing: [Int], of files: [String]) -> [TestResult] {
      files.enumerated().map { index, file in
        var result = TestResult(file: file)
        if failing.contains(index) {
          result.failures = [.init(place: TextPlace(line: 1, column: 1), subject: "a", message: "b")]
        }
        return result
      }
    }
    var tests = WatchedTests(mode: .local)
    #expect(tests.choose(among: all).paths == files)
    #expect(tests.press("f") == .say("no test has failed"))
    tests.finish(results([1, 2], of: files))
    #expect(tests.press("f") == .run(.local))
    #expect(tests.choose(among: all).paths == [files[1], files[2]])
    #expect(tests.press("u") == .run(.update) && tests.press("\n") == .run(.local) && tests.press("x") == .nothing)
    // Those that still fail.
    tests.finish(results([0], of: [files[1], files[2]]))
    #expect(tests.choose(among: all).paths == [files[1]])
    #expect(tests.press("a") == .run(.local))
    #expect(tests.choose(among: all).paths == files)
    // The last one that failed passes.
    #expect(tests.press("f") == .run(.local))
    tests.finish(results([], of: [files[1]]))
    #expect(tests.choose(among: all).paths == files)
    // The last one that failed is gone.
    tests.finish(results([2], of: files))
    #expect(tests.press("f") == .run(.local))
    var rest = all
    rest.keep([files[0]])
    #expect(tests.choose(among: rest).paths == [files[0]])

    var careful = WatchedTests(mode: .ci)
    #expect(careful.press("u") == .say("--ci writes no snapshot") && careful.press("a") == .run(.ci))
    #expect(WatchedTests.keys(.local).contains("u updates") && !WatchedTests.keys(.ci).contains("u updates"))
  }

  /// Runs `bundlectl test --watch` on a terminal of its own, and shows its status and the terminal's mode afterwards.
  private static func onTerminal(_ project: Project, _ keys: Pipe) throws -> RunningProgram {
    let command =
      "trap : INT; '\(Command.executable.path)' test --watch --timeout 100s; echo status $?; stty -a"
    let environment = ["CI": "", "TERM": "xterm", "NO_COLOR": "1", "SHELL": "/bin/sh"]
    return try RunningProgram(
      "script", ["-qfc", command, "/dev/null"],
      environment: ProcessInfo.processInfo.environment.merging(environment) { $1 }, in: project.folder.path,
      input: .pipe(keys))
  }

  /// Waits until the command has asked for keys a number of times.
  private static func wait(for program: RunningProgram, _ runs: Int, _ text: String) async throws {
    try await program.wait(for: .output) { output in
      let parts = output.components(separatedBy: "Enter runs the tests again")
      return parts.count == runs + 1 && parts[runs - 1].contains(text)
    }
  }

  private static func hasMode(_ output: String) -> Bool {
    output.contains(" icanon ") && output.contains(" echo ")
  }

  @Test("on a terminal, keys run all tests or those that failed, update snapshots, and quit; its mode is restored")
  func keys() async throws {
    let project = try Project()
    try project.test(#"{"snapshot": "start"}]"#)
    try project.test(#"{"tap": "text=Add"}]"#, "b")
    try Files.write("div #1\n", to: project.folder.file(Self.snapshot))
    let keys = Pipe()
    let program = try Self.onTerminal(project, keys)
    func press(_ key: String) { keys.fileHandleForWriting.write(Data(key.utf8)) }
    try await Self.wait(for: program, 1, "2 tests: 1 passed, 1 failed")
    press("f")
    try await Self.wait(for: program, 2, "1 test: 0 passed, 1 failed")
    press("u")
    try await Self.wait(for: program, 3, "1 test: 1 passed, 0 failed; 1 snapshot changed")
    press("\r")
    try await Self.wait(for: program, 4, "2 tests: 2 passed, 0 failed")
    press("f")
    try await program.wait(for: .output) { $0.contains("no test has failed") }
    press("a")
    try await Self.wait(for: program, 5, "2 tests: 2 passed, 0 failed")
    press("q")
    let result = await program.result(within: .seconds(60))
    #expect(result.output.contains("status 0\r\n") && Self.hasMode(result.output), "\(result.output)")
    #expect(project.text(Self.snapshot)?.contains("text #1 id=\"count\"") == true)
  }

  @Test("q ends a run that hangs, and an interruption restores the terminal's mode too", arguments: ["q", "\u{3}"])
  func endsOnTerminal(_ key: String) async throws {
    let project = try Project()
    try project.test(#"{"expect": "text=Add"}]"#)
    let taps = Array(repeating: #"{"fire": ["text=Add", "click"]}"#, count: 4).joined(separator: ", ")
    try project.test("\(taps)]", "b")
    let keys = Pipe()
    let program = try Self.onTerminal(project, keys)
    // The second test hangs.
    try await program.wait(for: .output) { $0.contains("tests/a (1 step)") }
    keys.fileHandleForWriting.write(Data(key.utf8))
    let result = await program.result(within: .seconds(60))
    #expect(!result.wasKilled && Self.hasMode(result.output), "\(result.output)")
    #expect(result.output.contains(key == "q" ? "status 0\r\n" : "status 130\r\n"), "\(result.output)")
  }
}
