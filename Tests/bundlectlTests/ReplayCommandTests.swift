import Foundation
import PageKit
import PageTesting
import TestSupport
import Testing

@testable import bundlectl

/// Pages whose time is given, recordings, and their scripts run again.
struct ReplayCommandTests {
  private static func script(_ answer: String = "n") -> String {
    """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div'), n = 0
    d.documentElement.appendChild(b)
    var t = d.createElement('text', { attr: { value: new Date().getHours() + ' ' + Math.random() + ' ' + process.env.NODE_ENV } })
    b.appendChild(t)
    t.addEvent('click', function () { n++; t.setAttr('value', 'tap ' + \(answer)); console.log('tapped') })
    weex.requireModule('stream').fetch({ url: 'data.json', type: 'json' }, function (r) {
      var answer = d.createElement('text', { attr: { value: r.ok ? r.data.name : 'none' } })
      b.appendChild(answer)
    })
    """
  }

  /// Runs `bundlectl render` with a page and its data.
  private static func render(_ site: Site, _ more: [String]) async throws -> Command.Result {
    try site.write(script(), to: "pages/a.js")
    try site.write(#"{"name":"Ann"}"#, to: "pages/data.json")
    return try await Command.start(["render", site.folder.file("pages/a.js"), "--store", site.store] + more).result()
  }

  /// Records a page that is tapped three times.
  private static func record(_ site: Site, _ more: [String]) async throws -> String {
    let outline = try await render(site, [])
    let ref = try #require(outline.output.firstMatch(of: /text #(\d+)/)?.output.1)
    let file = site.folder.file("a.recording")
    let fire = (0..<3).flatMap { _ in ["--fire", "\(ref):click"] }
    let result = try await render(site, fire + ["--record", file] + more)
    #expect(result.status == 0, "\(result.error)")
    #expect(result.output.contains("tap 3"))
    return file
  }

  @Test(
    "a page whose time, seed, zone and locale are given is the same in each run", arguments: [[], ["--in-process"]])
  func given(_ more: [String]) async throws {
    try await Site.running { (site: Site) async throws in
      let options = ["--time", "2026-01-01T09:30:00Z", "--seed", "5", "--zone", "Asia/Shanghai"] + more
      let first = try await Self.render(site, options)
      #expect(first.status == 0, "\(first.error)")
      #expect(first.output.contains("value=\"17 0."), "\(first.output)")
      #expect(first.output.contains(" production\""))
      #expect(try await Self.render(site, options).output == first.output)
      let offset = ["--time", "2026-01-01T17:30:00.000+08:00", "--seed", "5", "--zone", "Asia/Shanghai"] + more
      #expect(try await Self.render(site, offset).output == first.output)
      let other = try await Self.render(site, ["--seed", "6", "--node-env", "development"] + more)
      #expect(other.output.contains("value=\"0 0.") && other.output.contains(" development\""), "\(other.output)")
      let unknown = try await Self.render(site, ["--zone", "Mars/Olympus"] + more)
      #expect(unknown.status == 1 && unknown.error.contains("Mars/Olympus"), "\(unknown.error)")
    }
  }

  @Test("a time that is not one is refused with the form")
  func wrongTime() async throws {
    for text in ["yesterday", "2026-01-01", "2026-13-01T00:00:00Z"] {
      let result = try await Command.run("render", "a.js", "--time", text)
      #expect(result.status == 64 && result.error.contains(": write \(MomentArgument.form)"), "\(result.error)")
    }
  }

  @Test(
    "a recorded page runs again with the same elements, and without its server", arguments: [[], ["--in-process"]])
  func again(_ more: [String]) async throws {
    try await Site.running { (site: Site) async throws in
      let file = try await Self.record(site, more)
      try FileManager.default.removeItem(atPath: site.folder.file("pages/data.json"))
      let result = try await Command.start(["replay", file] + more).result()
      #expect(result.status == 0, "\(result.error)\(result.output)")
      #expect(result.output.contains("the elements are those of the recording"))
      let json = try await Command.start(["replay", file, "--json"] + more).result().json
      #expect(json["equal"] as? Bool == true && json["ending"] as? String == "closed")
      let mode = try #require(FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int)
      #expect(mode == 0o600)
    }
  }

  @Test(
    "another bundle's first step that differs is shown with its lines", arguments: [[], ["--in-process"]])
  func otherBundle(_ more: [String]) async throws {
    try await Site.running { (site: Site) async throws in
      let file = try await Self.record(site, more)
      try site.write(Self.script("(n === 2 ? 'two' : n)"), to: "b.js")
      let arguments = ["replay", file, "--bundle", site.folder.file("b.js")] + more
      let result = try await Command.start(arguments).result()
      #expect(result.status == 1, "\(result.error)")
      #expect(result.output.contains("event click of #"), "\(result.output)")
      #expect(result.output.contains("\n-  text") && result.output.contains("tap 2"), "\(result.output)")
      #expect(result.output.contains("\n+  text") && result.output.contains("tap two"), "\(result.output)")
      let json = try await Command.start(arguments + ["--json"]).result().json
      let step = try #require((json["difference"] as? [String: Any])?["step"] as? Int)
      #expect(try await Command.start(arguments + ["--to", "\(step - 1)"]).result().status == 0)
      let none = try await Command.start(["replay", file, "--to", "500"] + more).result()
      #expect(none.status == 1 && none.error.contains("no step 500"), "\(none.error)")
    }
  }

  @Test("steps are listed, and shown without running the script")
  func viewing() async throws {
    try await Site.running { (site: Site) async throws in
      let file = try await Self.record(site, [])
      let list = try await Command.run("replay", file, "--list")
      #expect(list.status == 0, "\(list.error)")
      #expect(list.output.hasPrefix("1  +0.00 s  open: "), "\(list.output)")
      #expect(list.output.contains("stream.fetch(") && list.output.contains("log: tapped"), "\(list.output)")
      let steps = try #require(
        try await Command.run("replay", file, "--list", "--json").json["steps"] as? [[String: Any]])
      let last = try await Command.run("replay", file, "--show", "\(steps.count)")
      #expect(last.output.contains("tap 3"), "\(last.output)")
      let first = try await Command.run("replay", file, "--show", "1")
      #expect(first.status == 0 && !first.output.contains("tap"), "\(first.output)")
      let beyond = try await Command.run("replay", file, "--show", "99")
      #expect(beyond.status == 1 && beyond.error.contains("no step 99"), "\(beyond.error)")
    }
  }

  @Test("a recording becomes a test, which passes, and fails when the bundle is changed")
  func asTest() async throws {
    try await Site.running { (site: Site) async throws in
      let file = try await Self.record(site, [])
      let folder = site.folder.file("tests")
      let made = try await Command.run("replay", file, "--as-test", folder, environment: ["CI": ""])
      #expect(made.status == 0, "\(made.output)\(made.error)")
      #expect(made.output.contains("1 test: 1 passed, 0 failed; 2 snapshots written"), "\(made.output)")
      let text = try String(contentsOfFile: "\(folder)/a.test.json", encoding: .utf8)
      #expect(
        text.contains(#"    {"tap": "text=tap 1"},\#n    {"tap": "text=tap 2"},\#n    {"snapshot": "end"}"#), "\(text)")
      #expect(text.contains(#"  "answers": "answers/a""#), "\(text)")
      let body = try String(contentsOfFile: "\(folder)/answers/a/1.json", encoding: .utf8)
      #expect(body == #"{"name":"Ann"}"#)
      #expect(try await Command.run("test", folder, "--ci", "--timeout", "100s").status == 0)
      let again = try await Command.run("replay", file, "--as-test", folder)
      #expect(again.status == 1 && again.error.contains("\(folder)/a.js is there already"), "\(again.error)")
      try site.write(Self.script("(n === 3 ? 'three' : n)"), to: "tests/a.js")
      let changed = try await Command.run("test", folder, "--ci", "--timeout", "100s")
      #expect(changed.status == 1 && changed.output.contains("tap three"), "\(changed.output)")
    }
  }

  @Test("a test of a recording has the answers of all methods of requests")
  func allRequests() async throws {
    try await Site.running { (site: Site) async throws in
      let long = String(repeating: "long ", count: 60)
      try site.write(
        """
        // { "framework": "Vanilla" }
        var d = weex.document, b = d.createBody('div'), stream = weex.requireModule('stream')
        d.documentElement.appendChild(b)
        function show (name, value) {
          b.appendChild(d.createElement('text', { attr: { value: name + ' ' + value } }))
        }
        stream.sendHttp({ url: 'plain.txt' }, function (body) {
          show('http', body)
          stream.sendHttp({ url: 'long.txt' }, function (body) {
            show('long', body.length)
            stream.sendHttp({ url: 'none.txt' }, function (body) {
              show('none', body.length)
              stream.fetchWithArrayBuffer(new ArrayBuffer(2), { url: 'data.json', type: 'json' }, function (r) {
                show('bytes', r.status + ' ' + r.data.name)
              }, function () {})
            })
          })
        })
        """, to: "pages/a.js")
      for (name, text) in [("plain.txt", "hello"), ("long.txt", long), ("data.json", #"{"name":"Ann"}"#)] {
        try site.write(text, to: "pages/\(name)")
      }
      let (file, folder) = (site.folder.file("a.recording"), site.folder.file("tests"))
      let page = site.folder.file("pages/a.js")
      let shown = try await Command.run("render", page, "--store", site.store, "--record", file)
      #expect(shown.output.contains("bytes 200 Ann"), "\(shown.output)\(shown.error)")
      let made = try await Command.run("replay", file, "--as-test", folder, environment: ["CI": ""])
      #expect(made.status == 0, "\(made.output)\(made.error)")
      let answers = try String(contentsOfFile: "\(folder)/answers/a/answers.json", encoding: .utf8)
      for part in [
        #"{"url": "plain.txt", "text": "hello"}"#, #"{"url": "long.txt", "body": "2.txt"}"#, #"{"url": "none.txt"}"#,
        #""url": "data.json""#, #""body": "4.json""#,
      ] {
        #expect(answers.contains(part), "\(answers)")
      }
      #expect(try String(contentsOfFile: "\(folder)/answers/a/2.txt", encoding: .utf8) == long)
      #expect(try await Command.run("test", folder, "--ci", "--timeout", "100s").status == 0)
    }
  }

  @Test("a test whose elements end otherwise than the recording is said to, and fails")
  func otherEnd() async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(
        """
        // { "framework": "Vanilla" }
        var d = weex.document, b = d.createBody('div'), env = weex.config.bundleUrl
        d.documentElement.appendChild(b)
        b.appendChild(d.createElement('text', { attr: { value: env.indexOf('first') > 0 ? 'here' : 'elsewhere' } }))
        weex.requireModule('storage').getItem('visits', function () {})
        """, to: "first/a.js")
      let file = site.folder.file("a.recording")
      let page = site.folder.file("first/a.js")
      #expect(try await Command.run("render", page, "--store", site.store, "--record", file).status == 0)
      let folder = site.folder.file("tests")
      let made = try await Command.run("replay", file, "--as-test", folder, environment: ["CI": ""])
      #expect(made.status == 1, "\(made.output)\(made.error)")
      #expect(made.output.contains("left out: answers of storage.getItem (1)\n"), "\(made.output)")
      #expect(made.output.contains("the test ends with other elements than the recording"), "\(made.output)")
      #expect(made.output.contains(#"-  text #1 value="here""#), "\(made.output)")
      #expect(made.output.contains(#"+  text #1 value="elsewhere""#), "\(made.output)")
    }
  }

  @Test("--as-test with what runs no test is wrong usage", arguments: [["--list"], ["--show", "1"], ["--json"]])
  func wrongTest(_ more: [String]) async throws {
    let result = try await Command.start(["replay", "a.recording", "--as-test", "tests"] + more).result()
    #expect(result.status == 64 && result.error.contains("--as-test"), "\(result.error)")
  }

  @Test("a file that is damaged, foreign or newer is refused with the byte")
  func damaged() async throws {
    try await Site.running { (site: Site) async throws in
      let file = try await Self.record(site, [])
      var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
      let start = try #require(bytes.firstIndex(of: UInt8(ascii: "\n"))) + 1
      bytes[start + 30] ^= 1
      try Data(bytes).write(to: URL(fileURLWithPath: file))
      let damaged = try await Command.run("replay", file)
      #expect(damaged.status == 1 && damaged.error.contains("begins at byte \(start)"), "\(damaged.error)")
      try site.write("{}\n", to: "foreign")
      let foreign = try await Command.run("replay", site.folder.file("foreign"))
      #expect(foreign.status == 1 && foreign.error.contains("not a recording"), "\(foreign.error)")
      let missing = try await Command.run("replay", site.folder.file("nothing"))
      #expect(missing.status == 1 && missing.error.contains("cannot be read"), "\(missing.error)")
    }
  }

  @Test("a program that is killed leaves all whole steps", arguments: [[], ["--in-process"]])
  func killed(_ more: [String]) async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(
        """
        // { "framework": "Vanilla" }
        var d = weex.document, b = d.createBody('div'), t = d.createElement('text', { attr: { value: '' } }), n = 0
        d.documentElement.appendChild(b)
        b.appendChild(t)
        setInterval(function () { t.setAttr('value', ++n); console.log('count', n) }, 5)
        weex.requireModule('stream').fetch({ url: '/never' }, function () {})
        function again () { setTimeout(again, 50) }
        again()
        """, to: "a.js")
      let file = site.folder.file("a.recording")
      let program = try Command.start(
        ["render", site.folder.file("a.js"), "--store", site.store, "--record", file, "--wait", "60"] + more)
      try await program.wait(for: .error) { $0.contains("count 30") }
      program.send(SIGKILL)
      _ = await program.result()
      let result = try await Command.start(["replay", file] + more).result()
      #expect(result.status == 0, "\(result.error)")
      #expect(result.error.contains("was cut off"), "\(result.error)")
      let steps = try #require(try await Command.run("replay", file, "--json").json["steps"] as? Int)
      #expect(steps >= 29)
    }
  }

  @Test("the lines in which two texts differ have those around them")
  func lines() {
    let old = (1...20).map { "line \($0)" }
    var new = old
    new[9] = "changed"
    new.remove(at: 15)
    let found = LineDifference(from: old.joined(separator: "\n"), to: new.joined(separator: "\n")).lines
    #expect(
      found == [
        "…", " line 8", " line 9", "-line 10", "+changed", " line 11", " line 12", "…", " line 14", " line 15",
        "-line 16", " line 17", " line 18", "…",
      ])
    #expect(LineDifference(from: "a", to: "a").lines == [])
    let long = (0..<5_000).map { "\($0)" }.joined(separator: "\n")
    let other = (0..<5_000).map { "\(-$0)" }.joined(separator: "\n")
    #expect(LineDifference(from: long, to: other).lines.count >= 9_998)
  }
}
