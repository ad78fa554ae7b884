import ArgumentParser
import Foundation
import HTTPTypes
import PageKit
import PageTesting
import TestSupport
import Testing

@testable import bundlectl

/// Usage, help and completion.
struct UsageTests {
  @Test(
    "an unknown command is an error that suggests the most similar one",
    arguments: [
      (["staus"], "bundlectl has no command \"staus\": did you mean \"status\"?"),
      (["pre"], "did you mean \"preload\"?"),
      (["cache", "claer"], "bundlectl cache has no command \"claer\": did you mean \"clear\"?"),
      (["manifest", "xyzzy"], "it has build, check, diff"), (["DOCTOR"], "did you mean \"doctor\"?"),
    ])
  func suggestions(_ arguments: [String], _ text: String) async throws {
    let result = try await Command.start(arguments).result()
    #expect(result.status == 64)
    #expect(result.error.hasPrefix("bundlectl: "))
    #expect(result.error.contains(text), "\(result.error)")
  }

  @Test("a link named renderhost runs renderhost: its help, its errors and its workers")
  func otherName() async throws {
    let folder = try TemporaryDirectory()
    let link = folder.file("renderhost")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: Command.executable.path)
    func run(_ words: String...) async throws -> RunningProgram.Result {
      // The folder for temporary files may belong to root.
      try await RunningProgram(link, words, environment: ["TMPDIR": "/tmp"]).result()
    }
    #expect(try await run("--version").output.hasPrefix("renderhost 0.1.0"))
    let help = try await run("--help")
    #expect(help.status == 0 && help.output.contains("USAGE: renderhost --bundles <dir>"), "\(help.output)")
    let wrong = try await run("preload")
    #expect(wrong.status == 64 && wrong.error.contains("renderhost --help"), "\(wrong.error)")
    let byHand = try await run("worker", "1")
    #expect(byHand.status == 64 && byHand.error.hasPrefix("renderhost worker is started by renderhost"))
    // It starts a confined process, as the host does.
    let check = try await run("worker", "--check", "--json")
    #expect(check.error.isEmpty && check.output.contains("\"attempts\""), "\(check.error)")
    #expect(try await Command.run("--version").output.hasPrefix("bundlectl 0.1.0"))
  }

  @Test("help of a command that is not there is an error", arguments: [["help", "foo"], ["help", "cache", "foo"]])
  func helpOfNothing(_ arguments: [String]) async throws {
    let result = try await Command.start(arguments).result()
    #expect(result.status == 64 && result.output.isEmpty)
    #expect(result.error.contains("has no command \"foo\""), "\(result.error)")
    #expect(try await Command.start(["help", "cache", "clear"]).result().status == 0)
  }

  @Test("every option for a time or a size takes units and plain numbers, and says so of anything else")
  func timesAndSizes() async throws {
    let times = [
      ["preload", "--connect-timeout"], ["preload", "--stall-timeout"], ["preload", "--max-time"],
      ["fetch", "http://h/", "--stall-timeout"], ["fetch", "http://h/", "--max-time"], ["render", "a", "--wait"],
      ["render", "a", "--timers"], ["render", "a", "--deadline"], ["render", "a", "--page-time"],
      ["manifest", "sign", "--expires-in"], ["root", "new", "--expires-in"],
    ]
    let sizes = [
      ["preload", "--idle-budget"], ["preload", "--max-file-size"], ["preload", "--max-release-size"],
      ["fetch", "http://h/", "--max-size"], ["gc", "--releases"], ["gc", "--unlisted"], ["render", "a", "--memory"],
    ]
    for (options, form) in [(times, TimeArgument.form), (sizes, SizeArgument.form)] {
      for option in options {
        let refused = try await Command.start(option + ["x"]).result()
        #expect(refused.status == 64 && refused.error.contains("The value 'x' is invalid for"), "\(refused.error)")
        #expect(refused.error.contains(": write \(form)"), "\(refused.error)")
      }
    }
    let folder = try TemporaryDirectory()
    for (time, size) in [("3s", "512MB"), ("3", "536870912"), ("0.5", "1.5KB")] {
      let gc = try await Command.run("gc", "--releases", size, "--unlisted", size, "--store", folder.path)
      #expect(gc.status == 0, "\(gc.error)")
      // The arguments are good; the bundle is not there.
      let render = try await Command.run("render", "none", "--wait", time, "--store", folder.path, in: folder.path)
      #expect(render.status == 1, "\(render.error)")
    }
  }

  @Test("every command has an example in its help")
  func examples() throws {
    func check(_ command: any ParsableCommand.Type, _ path: [String]) {
      let configuration = command.configuration
      for next in configuration.subcommands { check(next, path + [HelpText.name(of: next)]) }
      guard configuration.subcommands.isEmpty else { return }
      let example = HelpText.unbroken("  \(path.joined(separator: " "))")
      #expect(configuration.discussion.contains(example), "\(path.joined(separator: " "))")
    }
    check(Bundlectl.self, ["bundlectl"])
  }

  @Test("wrong usage found while a command runs shows that command's usage")
  func usageOfTheCommand() async throws {
    let folder = try TemporaryDirectory()
    let result = try await Command.run("preload", in: folder.path)
    #expect(result.status == 64)
    #expect(result.error.hasPrefix("bundlectl: There is no manifest.json here"))
    #expect(result.error.contains("Usage: bundlectl preload"))
    #expect(result.error.contains("See 'bundlectl preload --help'"))
  }

  @Test(
    "a file in place of the store is an error",
    arguments: [["status"], ["gc"], ["cat", "a"], ["verify"], ["doctor"], ["render", "a"]])
  func storesThatAreFiles(_ command: [String]) async throws {
    let result = try await Command.start(command + ["--store", "/etc/passwd"]).result()
    #expect(result.status == 1)
    #expect((result.error + result.output).contains("--store takes the store's folder: /etc/passwd is a file"))
  }

  @Test("help keeps examples whole and breaks usage between options, in narrow terminals too", arguments: ["40", "80"])
  func help(_ columns: String) async throws {
    let render = try await Command.run("render", "--help", environment: ["COLUMNS": columns])
    #expect(render.status == 0)
    #expect(
      render.output.contains("\n  bundlectl render home --manifest https://pages.example.com/manifest.json\n"))
    #expect(!render.output.contains("\u{A0}"))
  }

  @Test("usage lines are wrapped between options")
  func usageLines() {
    let text = HelpText.finished(
      "Usage: bundlectl status [--manifest <url|file>] [--files] [--header <field> ...]", width: 40)
    #expect(
      text == "Usage: bundlectl status\n       [--manifest <url|file>] [--files]\n       [--header <field> ...]")
  }

  @Test("shells are offered files, folders, policies and bundle names")
  func completions() async throws {
    let script = try await Command.run("--generate-completion-script", "bash").output
    #expect(script.contains("staleWhileRevalidate"))
    #expect(script.contains("json"))
    try await Site.running { (site: Site) async throws in
      try site.publish(["pages/home.js": "var a = 1", "pages/list.js": "var b = 2", "other.js": "var c = 3"])
      _ = try await site.preload()
      try site.write("", to: "pages/here.js")
      site.origin.serve("/other", Array("1".utf8))
      func offered(_ command: [String], _ option: String, _ word: String) async throws -> [String] {
        let words = ["bundlectl"] + command + [word, "--store", site.store]
        let result = try await Command.start(
          ["---completion"] + command + ["--", option, "\(command.count + 1)", "\(word.count)"] + words,
          in: site.folder.path,
          environment: ["SAP_SHELL": "bash", "SAP_SHELL_VERSION": "5.2"]
        ).result()
        return result.output.split(separator: "\n").map(String.init)
      }
      #expect(try await offered(["cat"], "positional@0", "pages/") == ["pages/home", "pages/list"])
      #expect(
        try await offered(["render"], "positional@0", "pages/h") == ["pages/home", "pages/here.js"])
      _ = try await Command.run("fetch", site.origin.url(for: "/other"), "--store", site.store)
      #expect(try await offered(["release", "use"], "positional@0", "") == ["r1"])
      #expect(try await offered(["source", "forget"], "positional@0", "http") == [site.manifest])
      #expect(try await offered(["cache", "keep"], "positional@0", "http") == [site.origin.url(for: "/other")])
    }
  }

  @Test("bash completes options where a word begins with a hyphen, and types none by itself")
  func bashCompletion() async throws {
    let folder = try TemporaryDirectory()
    let script = try await Command.run("--generate-completion-script", "bash").output
    try Data(script.utf8).write(to: URL(fileURLWithPath: folder.file("script")))
    func offered(_ word: String) async throws -> [String] {
      let line = "bundlectl status \(word)"
      let shell = """
        source \(folder.file("script"))
        COMP_WORDS=(bundlectl status "\(word)") COMP_CWORD=2 COMP_LINE="\(line)" COMP_POINT=\(line.count)
        _bundlectl bundlectl "\(word)" status
        printf '%s\\n' "${COMPREPLY[@]}"
        """
      let result = try await RunningProgram("/bin/bash", ["-c", shell]).result()
      return result.output.split(separator: "\n").map(String.init)
    }
    #expect(try await offered("").allSatisfy { !$0.hasPrefix("-") })
    #expect(try await offered("--j") == ["--json"])
    #expect(try await offered("-").contains("--store"))
  }

  @Test(
    "text takes as many columns as a terminal gives it",
    arguments: [("abc", 3), ("页面", 4), ("🙂", 2), ("👨‍👩‍👧", 2), ("🇩🇪", 2), ("❤️", 2), ("é", 1), ("e\u{301}", 1), ("", 0)])
  func columns(_ text: String, _ columns: Int) {
    setlocale(LC_CTYPE, "C.UTF-8")
    #expect(Formatting.columns(text) == columns)
    #expect(Formatting.columns(Formatting.fitted(text, 8)) == 8)
  }

  @Test(
    "a time is printed with hundredths below ten seconds, and whole from there on",
    arguments: [
      (0, "0.00 s"), (0.034, "0.03 s"), (0.3, "0.30 s"), (1.5, "1.50 s"), (9.994, "9.99 s"), (9.999, "10.00 s"),
      (10.5, "10 s"), (12.6, "13 s"), (-0.25, "-0.25 s"), (.infinity, "inf s"),
    ] as [(Double, String)])
  func times(_ seconds: Double, _ text: String) { #expect(Formatting.seconds(seconds) == text) }

  @Test(
    "the remaining time is a short text",
    arguments: [
      (0.2, "1 s"), (59.5, "1 min 0 s"), (200, "3 min 20 s"), (7_500, "2 h 5 min"), (1e12, "99 h 59 min"),
    ])
  func timeLeft(_ seconds: Double, _ text: String) {
    #expect(Formatting.remaining(seconds) == text)
  }

  @Test("an empty --store and credentials in a URL are refused with the reason")
  func unusableArguments() async throws {
    for command in [["status"], ["render", "a"], ["fetch", "http://127.0.0.1/"]] {
      let result = try await Command.start(command + ["--store", ""]).result()
      #expect(result.status == 64)
      #expect(result.error.contains("--store takes the store's folder: its name is empty"))
    }
    let render = try await Command.run("render", "http://user:secret@127.0.0.1/a.js")
    #expect(render.error.contains("has credentials in it"), "\(render.error)")
    #expect(!render.error.contains("secret"))
  }

  @Test(
    "a size is given in units of 1,024, as options take it",
    arguments: [
      (0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KB"), (10_188, "9.9 KB"), (10_240, "10 KB"), (1_048_063, "1023 KB"),
      (1_048_576, "1.0 MB"), (536_870_912, "512 MB"), (Int64.max, "8388608.0 TB"),
    ] as [(Int64, String)])
  func sizes(_ count: Int64, _ text: String) { #expect(Formatting.bytes(count) == text) }

  @Test("with little room the rate is omitted first, and the remaining time stays")
  func figuresThatFit() {
    func figures(_ width: Int) -> String {
      Formatting.progress(bytes: 2_900_000, total: 3_600_000, rate: 34_000, width: width)
    }
    #expect(figures(60) == "2.8 MB of 3.4 MB  33 KB/s  21 s left")
    #expect(figures(30) == "2.8 MB of 3.4 MB  21 s left")
    #expect(figures(12) == "21 s left")
    var totals = PreloadUpdate.Totals()
    (totals.phase, totals.toFetch, totals.fetched, totals.failed) = (.fetching, 12, 9, 2)
    (totals.bytesHere, totals.bytesToFetch, totals.rate) = (2_900_000, 3_600_000, 34_000)
    for width in 10...100 {
      let line = ProgressDisplay.line(for: totals, isPausing: false, width: width)
      #expect(Formatting.columns(line) <= width || width < 30)
      #expect(line.contains("s left") || width < 30, "\(width): \(line)")
      #expect(line.contains("9/12, 2 failed"))
    }
    #expect(!ProgressDisplay.line(for: totals, isPausing: true, width: 80).contains("left"))
  }

  @Test("a terminal that has become narrower shows a drawn line in several rows")
  func rowsOfDrawnLines() {
    #expect(DrawnLines.rows([79, 79], width: 80) == 2)
    #expect(DrawnLines.rows([79, 0, 30], width: 40) == 4)
    #expect(DrawnLines.rows([], width: 40) == 0)
  }

  @Test("bytes received earlier do not count for the rate")
  func rateOfAResumedDownload() {
    #expect(TransferDisplay.rate(bytes: 1_000, resumedAt: 900, seconds: 2) == 50)
    #expect(TransferDisplay.rate(bytes: 500, resumedAt: 900, seconds: 2) == 0)
  }

  @Test("a download's line has bytes, rate and remaining time, within the terminal's width")
  func transferLines() {
    #expect(
      TransferDisplay.line(name: "out.js", bytes: 500, total: 1_024, rate: 100, width: 60).hasSuffix(
        "500 B of 1.0 KB  100 B/s  6 s left"))
    #expect(
      TransferDisplay.line(name: "out.js", bytes: 500, total: nil, rate: 100, width: 60) == "out.js 500 B  100 B/s")
    for width in 10...60 {
      let line = TransferDisplay.line(name: "名前.js", bytes: 500, total: 1_000, rate: 100, width: width)
      #expect(Formatting.columns(line) <= width)
    }
  }

  // MARK: JSON

  @Test("a member without a value is null, or left out if it is added only when present")
  func jsonMembers() throws {
    let object: JSONObject = ["a": 1, "b": nil as String?]
    let text = try JSONOutput.text(object.adding(ifPresent: ["c": nil as Int?, "d": "x"]))
    #expect(text == "{\n  \"a\" : 1,\n  \"b\" : null,\n  \"d\" : \"x\"\n}")
  }
}
