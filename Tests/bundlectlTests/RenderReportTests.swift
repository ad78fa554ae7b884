import Foundation
import PageTesting
import Testing

/// The output of `render`: events, errors, commands, timings.
struct RenderReportTests {
  private static let counter = """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div'), count = 0
    d.documentElement.appendChild(b)
    var t = d.createElement('text', { attr: { value: String(weex.config.start || 0) } })
    b.appendChild(t)
    t.addEvent('click', function () { count += 1; t.setAttr('value', 'tapped ' + count) })
    t.addEvent('swipe', function () { missing.thing() })
    """

  private static func render(_ site: Site, _ script: String = counter, _ more: String...) async throws
    -> Command.Result
  {
    try site.write(script, to: "a.js")
    return try await Command.start(["render", site.folder.file("a.js"), "--store", site.store] + more).result()
  }

  private static func ref(of type: String, in outline: String) throws -> String {
    let line = try #require(outline.split(separator: "\n").first { $0.contains("\(type) #") })
    return String(try #require(line.split(separator: "#").last?.prefix { $0 != " " }))
  }

  @Test("events are fired in order, and the commands are shown")
  func firedEvents() async throws {
    try await Site.running { (site: Site) async throws in
      let outline = try await Self.render(site).output
      let ref = try Self.ref(of: "text", in: outline)
      let result = try await Self.render(
        site, Self.counter, "--fire", "\(ref):click", "--fire", "#\(ref):click", "--format", "commands")
      #expect(result.status == 0)
      let lines = result.output.split(separator: "\n")
      #expect(lines.first == "createBody div #_root")
      #expect(lines.contains("addElement text #\(ref) value=\"0\" in #_root"))
      let updates = lines.filter { $0.hasPrefix("updateAttrs") }
      #expect(updates == ["updateAttrs #\(ref) value=\"tapped 1\"", "updateAttrs #\(ref) value=\"tapped 2\""])
    }
  }

  @Test("an event without a listener is an error that lists the listeners")
  func unheardEvent() async throws {
    try await Site.running { (site: Site) async throws in
      let result = try await Self.render(site, Self.counter, "--fire", "999:click")
      #expect(result.status == 1)
      #expect(result.error.contains("there is no element 999; elements that listen to click"))
      #expect(result.error.contains("(text \"0\")"))
      #expect(result.output.contains("text #"))
      let body = try await Self.render(site, Self.counter, "--fire", "_root:longpress")
      #expect(
        body.error.contains(
          "the div _root has no event longpress; no element listens to longpress, only to click, swipe"))
      #expect(try await Self.render(site, Self.counter, "--fire", "click").status == 64)
    }
  }

  private static let form = """
    // { "framework": "Vanilla" }
    var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
    var input = d.createElement('input'), t = d.createElement('text', { attr: { value: 'hidden' } })
    b.addEvent('viewappear', function () { t.setAttr('value', 'shown') })
    input.addEvent('input', function (e) { t.setAttr('value', 'Hello ' + e.target.attr.value + ', ' + e.value) })
    b.appendChild(input); b.appendChild(t)
    """

  @Test("a rendered page appears", arguments: [[], ["--in-process"]])
  func appearance(_ options: [String]) async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(Self.form, to: "a.js")
      let result = try await Command.start(["render", site.folder.file("a.js"), "--store", site.store] + options)
        .result()
      #expect(result.output.contains("value=\"shown\""))
    }
  }

  @Test(
    "an event has the data that is given, as JSON or in a file",
    arguments: [
      (#"{"value":"Ann"}"#, "Hello Ann, Ann"),
      (#"{"event":{"value":"Ann"},"changes":{"attrs":{"value":"Bob"}}}"#, "Hello Bob, Ann"),
      (#"{"changes":{"attrs":{"value":"Bob"}}}"#, "Hello Bob, undefined"),
    ])
  func eventData(_ data: String, _ shown: String) async throws {
    try await Site.running { (site: Site) async throws in
      let ref = try Self.ref(of: "input", in: try await Self.render(site, Self.form).output)
      try site.write(data, to: "event.json")
      for (data, options) in [(data, []), ("@\(site.folder.file("event.json"))", ["--in-process"])] {
        let result = try await Command.start(
          ["render", site.folder.file("a.js"), "--store", site.store, "--fire", "\(ref):input:\(data)"] + options
        ).result()
        #expect(result.status == 0, "\(result.error)")
        #expect(result.output.contains("value=\"\(shown)\""), "\(result.output)")
      }
    }
  }

  @Test("the data of an event must be a JSON object")
  func invalidEventData() async throws {
    try await Site.running { (site: Site) async throws in
      for (data, reason) in [("{a", "is not JSON"), ("[1]", "must be a JSON object"), ("", "is not JSON")] {
        let result = try await Self.render(site, Self.form, "--fire", "1:input:\(data)")
        #expect(result.status == 64)
        #expect(result.error.contains("the data of --fire \(reason)"), "\(result.error)")
      }
      let missing = try await Self.render(site, Self.form, "--fire", "1:input:@\(site.folder.file("none.json"))")
      #expect(missing.status == 1)
      #expect(missing.error.contains("none.json cannot be read"))
    }
  }

  @Test("an error has its place and its calls")
  func errorStack() async throws {
    try await Site.running { (site: Site) async throws in
      let ref = try Self.ref(of: "text", in: try await Self.render(site).output)
      let result = try await Self.render(site, Self.counter, "--fire", "\(ref):swipe", "--json")
      #expect(result.status == 1)
      let error = try #require((try result.json["errors"] as? [[String: Any]])?.first)
      #expect((error["message"] as? String)?.contains("missing") == true)
      #expect((error["url"] as? String)?.hasSuffix("/a.js") == true)
      #expect(error["line"] as? Int == 7)
      #expect(error["column"] is Int)
      #expect((error["stack"] as? String)?.contains("a.js:7:") == true)
      // The line of the error, with a mark below its column.
      #expect(result.error.contains("7 │ t.addEvent('swipe'"))
      #expect(result.error.contains("^"))
    }
  }

  private static let bad = "// { \"framework\": \"Vanilla\" }\n;missing()\n//# sourceMappingURL="

  @Test(
    "an error has the place of the source map",
    arguments: [
      "a.js.map",
      "data:application/json,%7B%22version%22:3,%22sources%22:[%22page.ts%22],%22mappings%22:%22;CAgBE%22%7D",
    ])
  func sourceMap(_ reference: String) async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(#"{"version":3,"sources":["page.ts"],"mappings":";CAgBE"}"#, to: "a.js.map")
      let result = try await Self.render(site, Self.bad + reference)
      #expect(result.status == 1)
      #expect(result.error.contains("/page.ts:17:3"))
      #expect(!result.error.contains("a.js:2"))
    }
  }

  @Test(
    "an invalid source map is a warning and has no other effect",
    arguments: ["none.map", "broken.map", "data:,x", "https://127.0.0.1:1/x.map", "file:///etc/passwd"])
  func badSourceMap(_ reference: String) async throws {
    try await Site.running { (site: Site) async throws in
      try site.write(#"{"version":3,"mappings":"!"}"#, to: "broken.map")
      let result = try await Self.render(site, Self.bad + reference)
      #expect(result.status == 1)
      #expect(result.error.contains("going on without the source map"))
      #expect(result.error.contains("a.js:2:"))
    }
  }

  @Test("--data must be a JSON object")
  func invalidData() async throws {
    try await Site.running { (site: Site) async throws in
      for (data, reason) in [("{a", "is not JSON"), ("[1]", "must be a JSON object"), ("", "is not JSON")] {
        let result = try await Self.render(site, Self.counter, "--data", data)
        #expect(result.status == 64)
        #expect(result.error.contains(reason))
      }
      let missing = try await Self.render(site, Self.counter, "--data", "@\(site.folder.file("none.json"))")
      #expect(missing.status == 1)
      #expect(missing.error.contains("none.json cannot be read"))
    }
  }

  @Test("timings are printed to standard error")
  func timings() async throws {
    try await Site.running { (site: Site) async throws in
      let result = try await Self.render(site, Self.counter, "--timings")
      for stage in ["bundle read", "first element", "script evaluated", "createFinish", "0 requests"] {
        #expect(result.error.contains(stage))
        #expect(!result.output.contains(stage))
      }
    }
  }

  @Test("the HTML is self-contained by default")
  func selfContainedHTML() async throws {
    try await Site.running { (site: Site) async throws in
      let script = Self.counter + "\nb.appendChild(d.createElement('image', { attr: { src: 'i.svg' } }))"
      try site.write("<svg width='4' height='3'></svg>", to: "i.svg")
      let whole = try await Self.render(site, script, "--format", "html").output
      #expect(whole.contains("src=\"data:image/svg+xml;base64,"))
      let linked = try await Self.render(site, script, "--format", "html", "--no-embed").output
      #expect(
        linked.contains("src=\"file://\(URL(fileURLWithPath: site.folder.path).resolvingSymlinksInPath().path)/i.svg\"")
      )
    }
  }
  @Test("a deferred update of an event is shown, and work that was not awaited is reported")
  func timers() async throws {
    let script = """
      // { "framework": "Vanilla" }
      var d = weex.document, b = d.createBody('div'), t = d.createElement('text', { attr: { value: 'drawn' } })
      d.documentElement.appendChild(b)
      b.appendChild(t)
      t.addEvent('click', function () { setTimeout(function () { t.setAttr('value', 'clicked') }, 1) })
      setTimeout(function () { t.setAttr('value', 'late') }, 700)
      setInterval(function () {}, 3600000)
      """
    try await Site.running { (site: Site) async throws in
      let drawn = try await Self.render(site, script, "--timers", "0")
      let ref = try Self.ref(of: "text", in: drawn.output)
      #expect(drawn.output.contains("drawn"))
      #expect(drawn.error.contains("not waited for: 1 timer due in more than 0 ms, 1 interval (--timers)"))
      let clicked = try await Self.render(site, script, "--fire", "\(ref):click", "--timers", "50ms")
      #expect(clicked.output.contains("clicked"))
      let late = try await Self.render(site, script, "--timers", "2s", "--json").json
      #expect("\(late["root"] ?? "")".contains("late"))
      let pending = late["pending"] as? [String: Int]
      #expect(pending == ["requests": 0, "calls": 0, "timers": 0, "laterTimers": 0, "intervals": 1])
      let busy = try await Self.render(site, script, "--timers", "1h", "--wait", "0")
      #expect(busy.error.contains("after 0 s the page still waits for 1 timer (--wait)"))
      #expect(try await Self.render(site, script, "--timers", "soon").status == 64)
    }
  }

  @Test("the environment, preludes, messages and styles show")
  func scripts() async throws {
    let script = """
      // { "framework": "Vanilla" }
      var d = weex.document, b = d.createBody('div', { style: { color: 'red', width: 750 } })
      d.documentElement.appendChild(b)
      weex.requireModule('modal').confirm({ message: word + ' ' + WXEnvironment.platform + ' ' + WXEnvironment.eros.bar })
      """
    try await Site.running { (site: Site) async throws in
      try site.write("var word = 'well'", to: "prelude.js")
      let options = [
        "--prelude", site.folder.file("prelude.js"), "--env", "platform=android", "--env", #"eros={"bar": 1}"#,
      ]
      try site.write(script, to: "a.js")
      let arguments = ["render", site.folder.file("a.js"), "--store", site.store] + options
      let outline = try await Command.start(arguments + ["--styles"]).result()
      #expect(outline.output.contains("div #_root {color: red; width: 750}"))
      #expect(outline.error.contains("confirm: well android 1 [OK] [Cancel]"))
      let message = (try await Command.start(arguments + ["--json"]).result().json["messages"] as? [[String: Any]])?
        .first
      #expect(message?["kind"] as? String == "confirm")
      #expect(message?["text"] as? String == "well android 1")
      #expect(try await Command.start(arguments + ["--styles", "--format", "json"]).result().status == 64)
      #expect(try await Command.start(arguments + ["--env", "=1"]).result().status == 64)
      let missing = try await Self.render(site, script, "--prelude", site.folder.file("none.js"))
      #expect(missing.error.contains("the prelude file \(site.folder.file("none.js")) cannot be read"))
    }
  }

  @Test("a Rax bundle without a prelude is an error that names the option")
  func missingPrelude() async throws {
    let framework = """
      globalThis.registerModules = globalThis.registerComponents = globalThis.destroyInstance = function () {}
      globalThis.createInstanceContext = function () { return {} }
      """
    try await Site.running { (site: Site) async throws in
      try site.write(framework, to: "rax.js")
      let result = try await Self.render(
        site, "// { \"framework\": \"Rax\" }\nwindow.a = 1", "--framework", site.folder.file("rax.js"))
      #expect(result.status == 1)
      #expect(result.error.contains("window") && result.error.contains("name its file with --prelude FILE"))
      #expect(result.error.contains("a.js:2"))
    }
  }
}
