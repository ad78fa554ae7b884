import Foundation
import HTTPTransport
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// Pages whose time, random numbers, zone and locale are given.
@Suite(.timeLimit(.minutes(5))) struct DeterminismTests {
  /// The text that a page shows by `say` when it has settled.
  private static func said(
    _ script: String, _ determinism: PageDeterminism = PageDeterminism(), frameworks: [BundleType: String] = [:]
  ) async throws -> String? {
    try await PageFixture.running(frameworks: frameworks) { (fixture: PageFixture) async throws in
      try await fixture.shown(script, determinism: determinism)
    }
  }

  @Test("the values are the same after JSON, whose numbers are shorter than a seed", arguments: [1, 1 << 63 - 1, .max])
  func json(_ seed: UInt64) throws {
    let determinism = PageDeterminism(seed: seed, zone: "Asia/Shanghai", locale: "zh-CN", clock: .running)
    let text = Array(try JSONEncoder().encode(determinism))
    #expect(try JSONValue(reading: text).decoded() == determinism)
    #expect(try JSONDecoder().decode(PageDeterminism.self, from: Data(text)) == determinism)
  }

  @Test("a script reads the given time, which stands still while it runs")
  func time() async throws {
    let script = """
      say(Date.now()); say(new Date().toISOString()); say(+new Date()); say(Date())
      for (var i = 0, sum = 0; i < 100000; i++) sum += i
      say(Date.now())
      """
    #expect(
      try await Self.said(script)
        == #"[1767225600000,"2026-01-01T00:00:00.000Z",1767225600000,"Thu Jan 01 2026 00:00:00 GMT+0000 (UTC)",1767225600000]"#
    )
  }

  @Test("a loop that waits for a time ends: the clock goes on by a millisecond after 1,000 readings")
  func waitingLoop() async throws {
    let script = """
      var began = Date.now(), reads = 0
      while (Date.now() - began < 20) reads++
      say(reads)
      setTimeout(function () { say(Date.now() - began) }, 100)
      """
    #expect(try await Self.said(script) == "[19999,120]")
  }

  @Test("random numbers follow from the seed, and are spread from 0 to 1")
  func random() async throws {
    let script = "for (var i = 0; i < 1000; i++) said.push(Math.random()); show(said)"
    func numbers(_ seed: UInt64) async throws -> [Double] {
      let text = try #require(try await Self.said(script, PageDeterminism(seed: seed)))
      return try JSONDecoder().decode([Double].self, from: Data(text.utf8))
    }
    let first = try await numbers(1)
    #expect(try await numbers(1) == first)
    let second = try await numbers(2)
    #expect(Set(first).union(second).count == 2_000)
    for numbers in [first, second, try await numbers(0)] {
      #expect(numbers.allSatisfy { (0..<1).contains($0) })
      #expect((0.45...0.55).contains(numbers.reduce(0, +) / 1_000))
      #expect(numbers.count { $0 < 0.1 } > 60)
    }
  }

  @Test(
    "dates are in the given zone whatever the machine's is",
    arguments: [
      ("UTC", "[2026,0,1,4,0,0,0,0,\"2026-01-01T00:00:00.000Z\"]"),
      ("Asia/Shanghai", "[2026,0,1,4,8,0,0,-480,\"2025-12-31T16:00:00.000Z\"]"),
      ("America/St_Johns", "[2025,11,31,3,20,30,0,210,\"2026-01-01T03:30:00.000Z\"]"),
    ])
  func zone(_ zone: String, _ expected: String) async throws {
    let script = """
      var d = new Date()
      say(d.getFullYear()); say(d.getMonth()); say(d.getDate()); say(d.getDay()); say(d.getHours()); say(d.getMinutes())
      say(d.getSeconds()); say(d.getTimezoneOffset()); say(new Date(2026, 0, 1).toISOString())
      """
    #expect(try await Self.said(script, PageDeterminism(zone: zone)) == expected)
  }

  @Test("local times before and after a change to summer time have their offsets")
  func summerTime() async throws {
    let script = """
      say(new Date(2026, 2, 29, 1, 59).toISOString()); say(new Date(2026, 2, 29, 3, 1).toISOString())
      var d = new Date(2026, 2, 28, 12); d.setDate(29); say(d.getHours()); say(d.toISOString())
      d.setHours(0, 30, 5, 7); say(d.toString()); say(d.toDateString()); say(d.toTimeString())
      say(new Date(NaN).getHours() === null || isNaN(new Date(NaN).getHours())); say(String(new Date(NaN)))
      """
    #expect(
      try await Self.said(script, PageDeterminism(zone: "Europe/Berlin"))
        == #"["2026-03-29T00:59:00.000Z","2026-03-29T01:01:00.000Z",12,"2026-03-29T10:00:00.000Z","Sun Mar 29 2026 00:30:05 GMT+0100 (Europe/Berlin)","Sun Mar 29 2026","00:30:05 GMT+0100 (Europe/Berlin)",true,"Invalid Date"]"#
    )
  }

  @Test(
    "texts without a zone are read in the given one, others as they say",
    arguments: [
      ("2026-01-01", "2026-01-01T00:00:00.000Z"), ("2026-01-01T00:00:00", "2025-12-31T16:00:00.000Z"),
      ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z"),
      ("2026-01-01T00:00:00+01:00", "2025-12-31T23:00:00.000Z"),
      ("Jan 1, 2026 00:00:00", "2025-12-31T16:00:00.000Z"), ("2026/01/01", "2025-12-31T16:00:00.000Z"),
      ("Thu, 01 Jan 2026 00:00:00 GMT", "2026-01-01T00:00:00.000Z"),
    ])
  func parsing(_ text: String, _ expected: String) async throws {
    let script = "show(new Date('\(text)').toISOString())"
    #expect(try await Self.said(script, PageDeterminism(zone: "Asia/Shanghai")) == expected)
    let parsed = "show(new Date(Date.parse('\(text)')).toISOString())"
    #expect(try await Self.said(parsed, PageDeterminism(zone: "Asia/Shanghai")) == expected)
  }

  @Test("a Date that is replaced is one: its class, its members, subclasses and copies")
  func dateClass() async throws {
    let script = """
      say(new Date() instanceof Date); say(Object.prototype.toString.call(new Date())); say(typeof Date())
      say(new Date().constructor === Date); say(Date.name); say(Date.length); say(typeof Date.UTC)
      class Day extends Date { twice() { return 2 * this } }
      say(new Day(5).twice()); say(new Day(5) instanceof Date); say(+new Date(new Date(7))); say(JSON.stringify(new Date(0)))
      say(new Date(99, 0, 1).getFullYear()); say('' + (new Date(1) < new Date(2)))
      """
    #expect(
      try await Self.said(script)
        == #"[true,"[object Date]","string",true,"Date",7,"function",10,true,7,"\"1970-01-01T00:00:00.000Z\"",1999,"true"]"#
    )
  }

  @Test("numbers, dates and orders are those of the given locale")
  func locale() async throws {
    let script = """
      say((1234.5).toLocaleString()); say(new Intl.NumberFormat().resolvedOptions().locale)
      say(new Intl.DateTimeFormat().resolvedOptions().timeZone); say(Intl.DateTimeFormat().format() === new Date().toLocaleDateString())
      say(['z', 'ä'].sort(function (a, b) { return a.localeCompare(b) }).join('')); say((1234.5).toLocaleString('en-US'))
      say(new Date().toLocaleDateString())
      """
    #expect(
      try await Self.said(script, PageDeterminism(zone: "Europe/Berlin", locale: "de-DE"))
        == #"["1.234,5","de-DE","Europe/Berlin",true,"äz","1,234.5","1.1.2026"]"#)
    #expect(
      try await Self.said(script, PageDeterminism(locale: "sv-SE"))?.contains(#","zä","#) == true)
  }

  @Test(
    "a zone or a locale that the engine does not know is an error of the opening that names it",
    arguments: [PageDeterminism(zone: "Mars/Olympus"), PageDeterminism(locale: "not a tag")])
  func unknownNames(_ determinism: PageDeterminism) async throws {
    await #expect {
      _ = try await Self.said("", determinism)
    } throws: { error in
      "\(error)".contains("cannot be used")
        && "\(error)".contains(determinism.zone == "UTC" ? "not a tag" : "Mars/Olympus")
    }
  }

  @Test("timers that are waited for run at once, in the order of their times, and the clock goes on to them")
  func virtualTimers() async throws {
    let script = """
      var began = Date.now()
      function timer(name, delay) { setTimeout(function () { say(name + (Date.now() - began)) }, delay) }
      timer('c', 150); timer('a', 10); timer('b', 10); timer('late', 60000)
      module('timer').setTimeout(function () { say('m' + (Date.now() - began)) }, 20)
      setInterval(function () { say('i' + (Date.now() - began)) }, 60)
      """
    #expect(try await Self.said(script) == #"["a10","b10","m20","i60","i120","c150"]"#)
  }

  @Test("a page whose timers set each other for ever settles after the limit of its own time")
  func endlessTimers() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        "var count = 0; function again() { show(++count); setTimeout(again, 100) } again()",
        determinism: PageDeterminism())
      #expect(await !page.settle(within: .seconds(50)))
      #expect(await page.shown == "501")
      await page.destroy()
    }
  }

  @Test("advancing the clock fires timers and intervals that are due by then, and no others")
  func advancing() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        """
        var began = Date.now()
        setInterval(function () { say('i' + (Date.now() - began)) }, 1000)
        setTimeout(function () { say('t'); setTimeout(function () { say('u' + (Date.now() - began)) }, 500) }, 1500)
        """, determinism: PageDeterminism())
      #expect(await page.advance(by: .milliseconds(2_000)))
      // Of two that are due at the same time, the one that was set first comes first.
      #expect(await page.shown == #"["i1000","t","i2000","u2000"]"#)
      #expect(await page.advance(by: .milliseconds(999)))
      #expect(await page.shown?.contains("3000") == false)
      #expect(await page.advance(by: .milliseconds(1)))
      #expect(await page.shown?.contains("i3000") == true)
      await page.destroy()
      let plain = try await fixture.speakingPage("")
      #expect(await !plain.advance(by: .seconds(1)))
      await plain.destroy()
    }
  }

  @Test("a running clock begins at the given time, and never goes back")
  func runningClock() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        "var times = []; setInterval(function () { times.push(Date.now() - 1767225600000); show(times) }, 10)",
        determinism: PageDeterminism(clock: .running))
      for await _ in page.events where (await page.shown?.count ?? 0) > 40 { break }
      let text = try #require(await page.shown)
      let times = try JSONDecoder().decode([Double].self, from: Data(text.utf8))
      #expect(times == times.sorted() && times[0] >= 9 && (times.last ?? 0) < 300_000)
      await page.destroy()
    }
  }

  @Test("an embedded page shares the clock, and a pushed one goes on from it")
  func otherPages() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let inner = """
        // { "framework": "Vanilla" }
        var d = weex.document, b = d.createBody('div'), t = d.createElement('text', { attr: { value: '' } })
        d.documentElement.appendChild(b)
        b.appendChild(t)
        setTimeout(function () { t.setAttr('value', Date.now() + ' ' + Math.random()) }, 40)
        """
      fixture.origin.serve("/pages/inner.js", Array(inner.utf8))
      func shown() async throws -> String? {
        let page = try await fixture.page(
          "add('embed', { attr: { src: 'inner.js' } })", determinism: PageDeterminism(seed: 5))
        #expect(await page.settle(within: .seconds(30)))
        let shown = await page.embedded.values.first?.shown
        await page.destroy()
        return shown
      }
      let first = try await shown()
      #expect(first?.hasPrefix("1767225600040 ") == true)
      #expect(try await shown() == first)
    }
  }

  @Test("published frameworks, their own contexts and the pages in them have the given time")
  func frameworkFiles() async throws {
    let reactive = try Fixture.text("reactive.js")
    let watching = "var bootTime = [Date.now(), Math.random()];\n" + reactive
    let page = """
      // { "framework": "Vue" }
      new Vue({ data: {}, render: function (h) {
        return h('text', { attrs: { value: Date.now() + ' ' + (Math.random() !== Math.random()) + ' ' + new Date(2026, 0, 1).getHours() } })
      } })
      """
    for _ in 0..<2 {
      try await PageFixture.running(frameworks: [.vue: watching]) { (fixture: PageFixture) async throws in
        let instance = await PageInstance(environment: fixture.environment)
        try await instance.render(page, options: PageOptions(determinism: PageDeterminism()))
        #expect(await instance.shown == "1767225600000 true 0")
        await instance.destroy()
      }
    }
  }

  @Test("a page without given values has the machine's, also beside one with them")
  func machine() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let fixed = try await fixture.speakingPage("show(Date.now())", determinism: PageDeterminism())
      #expect(await fixed.shown == "1767225600000")
      await fixed.destroy()
      for _ in 0..<2 {
        let before = Date().timeIntervalSince1970 * 1_000
        let shown = try #require(try await fixture.shown("show(Date.now() + ' ' + (Date.length === 7))"))
        let time = try #require(Double(shown.split(separator: " ")[0]))
        #expect(time >= before.rounded(.down) && time <= Date().timeIntervalSince1970 * 1_000)
      }
    }
  }

  @Test("scripts see the given NODE_ENV, which is production by default")
  func nodeEnvironment() async throws {
    for (given, seen) in [(nil, "production"), ("development", "development")] as [(String?, String)] {
      try await PageFixture.running(nodeEnvironment: given ?? ScriptConfiguration.defaultNodeEnvironment) {
        (fixture: PageFixture) async throws in
        #expect(try await fixture.shown("show(process.env.NODE_ENV)") == seen)
      }
    }
  }

  @Test("every sample has the same elements in each run", arguments: SampleTests.names)
  func samples(_ name: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      try SampleTests.serve(fixture)
      var outlines: Set<String> = []
      for _ in 0..<3 {
        let registry = PageRegistry(parent: fixture.registry)
        registry.register(MemoryStorage() as any StorageProviding, as: \.storage)
        let page = await PageInstance(environment: fixture.environment, registry: registry)
        try await page.renderByURL(
          fixture.origin.url(for: "/bundles/\(name).js"), options: PageOptions(determinism: PageDeterminism()))
        #expect(await page.settle(within: .seconds(60)))
        outlines.insert(await page.tree.withoutStates.outline(withStyles: true))
        await page.destroy()
      }
      #expect(outlines.count == 1)
    }
  }
}
