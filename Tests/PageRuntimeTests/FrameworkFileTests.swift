import Foundation
import HTTPTransport
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// Framework files of an app. The fixtures make the same native calls as published frameworks.
struct FrameworkFileTests {
  private static func frameworks() throws -> [BundleType: String] {
    [.vue: try Fixture.text("reactive.js"), .weex: try Fixture.text("legacy.js")]
  }

  private static func opened(
    _ fixture: PageFixture, _ source: String, data: ScriptValue = [:]
  ) async throws -> PageInstance {
    let page = await PageInstance(environment: fixture.environment)
    try await page.render(source, data: data)
    return page
  }

  /// A counter that each of the host's ways into a framework changes.
  private static let counter = """
    // { "framework": "Vue" }
    new Vue({
      data: { count: 0, word: 'times' },
      render: function (h) {
        var self = this
        var rows = [h('text', { attrs: { value: this.count + ' ' + this.word }, on: { click: function () { self.count += 1 } } })]
        for (var i = 0; i < this.count; i++) rows.push(h('div', { style: { width: i } }))
        return h('div', {}, rows)
      },
      mounted: mounted
    })
    function mounted() {}

    """

  @Test("a reactive page is rendered and updated")
  func reactivePage() async throws {
    try await PageFixture.running(frameworks: Self.frameworks()) { (fixture: PageFixture) async throws in
      let page = try await Self.opened(fixture, Self.counter)
      #expect(await page.phase == .live)
      #expect(await page.shown == "0 times")
      let ref = try #require(await page.first("text")?.ref)
      for _ in 0..<3 { try await page.fireEvent(ref, "click") }
      #expect(await page.shown == "3 times")
      #expect(await page.childTypes == ["text", "div", "div", "div"])
      try await page.refresh(data: ["count": 1, "word": "time"])
      #expect(await page.shown == "1 time")
      #expect(await page.childTypes == ["text", "div"])
      #expect(await page.exceptions == [])
      #expect(await page.commands.contains(.refreshFinish))
    }
  }

  @Test("the framework's timers use the module timer")
  func frameworkTimers() async throws {
    try await PageFixture.running(frameworks: Self.frameworks()) { (fixture: PageFixture) async throws in
      let page = try await Self.opened(
        fixture,
        Self.counter
          + """
          function mounted() {
            var self = this
            var cleared = setTimeout(function () { self.word = 'wrong' }, 1)
            clearTimeout(cleared)
            setTimeout(function () { self.word = 'done' }, 5)
          }
          """)
      await page.waitUntilShown("0 done")
      await page.destroy()
    }
  }

  @Test("modules of a framework take functions that are assigned, and calls of methods that are not registered")
  func completedModules() async throws {
    try await PageFixture.running(frameworks: Self.frameworks()) { (fixture: PageFixture) async throws in
      fixture.registry.registerModule("ticker") { module in
        module.callbacks("ontick") { call, page in
          if let callback = call.callback(at: 0) { try await page.callback(callback, "tick", keepAlive: true) }
        }
      }
      let page = try await Self.opened(
        fixture,
        Self.counter
          + """
          function mounted() {
            var self = this, ticker = weex.requireModule('ticker')
            ticker.start()
            ticker.ontick = function (word) { self.word = word }
          }
          """)
      await page.waitUntilShown("0 tick")
      await page.destroy()
      var missing: [String] = []
      for await event in page.events { if case .missing(let part) = event { missing.append("\(part)") } }
      #expect(missing == ["\"ticker\" has no method \"start\""])
      #expect(await page.exceptions == [])
    }
  }

  @Test("tasks, component data and callbacks also go through the older native functions")
  func oldFunctions() async throws {
    try await PageFixture.running(frameworks: Self.frameworks()) { (fixture: PageFixture) async throws in
      let page = try await Self.opened(
        fixture,
        Self.counter
          + """
          function mounted() {
            var self = this
            updateComponentData('c', { a: 1 }, function () { self.count += 1 })
            send([{ module: 'dom', method: 'addElement', args: ['_root', { ref: 'own', type: 'own' }, 0] },
              { module: 'dom', method: 'updateStyle', args: ['own', { color: 'red' }] }], function () { self.count += 1 })
          }
          """)
      await page.waitUntilShown("2 times")
      #expect(await page.tree["own"]?.style == ["color": "red"])
      #expect(await page.exceptions == [])
    }
  }

  @Test("inherited members of a context are the page's too")
  func inheritedMembers() async throws {
    try await PageFixture.running(frameworks: Self.frameworks()) { (fixture: PageFixture) async throws in
      let page = try await Self.opened(
        fixture,
        """
        // { "framework": "Vue" }
        var seen = [typeof weex, typeof requireModule('stream').fetch, typeof requireModule('none'), WXEnvironment.platform].join(' ')
        new Vue({ render: function (h) { return h('div', {}, [h('text', { attrs: { value: seen } })]) } })
        """)
      #expect(await page.shown == "object function undefined iOS")
      await page.destroy()
    }
  }

  @Test("methods of a component reach the host")
  func componentMethods() async throws {
    try await PageFixture.running(frameworks: Self.frameworks()) { (fixture: PageFixture) async throws in
      fixture.registry.registerComponent("map") { component in
        component.callbacks("zoom") { call, page in
          if let callback = call.callback(at: 1) { try await page.callback(callback, call[0]) }
        }
      }
      let page = try await Self.opened(
        fixture,
        """
        // { "framework": "Vue" }
        new Vue({
          data: { level: 0 },
          render: function (h) { this.map = h('map'); return h('div', {}, [h('text', { attrs: { value: 'at ' + this.level } }), this.map]) },
          mounted: function () { var self = this; this.map.zoom(7, function (level) { self.level = level }) }
        })
        """)
      await page.waitUntilShown("at 7")
      await page.destroy()
    }
  }

  @Test("a page may call itself as the host does")
  func reentry() async throws {
    try await PageFixture.running(frameworks: Self.frameworks()) { (fixture: PageFixture) async throws in
      let page = try await Self.opened(
        fixture, Self.counter + "__WEEX_CALL_JAVASCRIPT__('1', [{ method: 'callback', args: ['99'] }])")
      #expect(await page.phase == .live)
      #expect(await page.exceptions == [])
    }
  }

  @Test("a bundle of the oldest type is passed to its framework as text")
  func oldestType() async throws {
    try await PageFixture.running(frameworks: Self.frameworks()) { (fixture: PageFixture) async throws in
      let page = try await Self.opened(
        fixture,
        """
        define({ elements: [
          { type: 'text', attr: { value: data.user + ' ' + config.bundleType },
            on: { click: function () { call('storage', 'getItem', ['none'], function (r) {
              later(function () { dom('updateAttrs', 'e0', { value: r.result }) }, 1)
            }) } } }] })
        """, data: ["user": "ann"])
      #expect(await page.phase == .live)
      #expect(await page.shown == "ann Weex")
      try await page.fireEvent("e0", "click")
      await page.waitUntilShown("failed")
      try await page.refresh(data: [:])
      #expect(await page.exceptions == [])
      #expect(await page.commands.contains(.refreshFinish))
    }
  }

  /// A bundle for a framework that runs it in a context of its own.
  private static let older =
    vue + """
      var seen = [typeof sendTasks, typeof __weex_require_module__('storage').getItem, config.bundleType].join(' ')
      var channel = new BroadcastChannel('room')
      define({ elements: [
        { type: 'text', attr: { value: seen }, on: { click: function () { channel.postMessage(data.user) } } } ] })
      channel.onmessage = function (e) { sendTasks(id, [{ module: 'dom', method: 'updateAttrs', args: ['e0', { value: e.data }] }]) }
      """

  @Test("a framework that has createInstance only runs bundles of every type, and their channels reach other pages")
  func olderFrameworks() async throws {
    let frameworks: [BundleType: String] = [.vue: try Fixture.text("legacy.js")]
    try await PageFixture.running(frameworks: frameworks) { (fixture: PageFixture) async throws in
      let ann = try await Self.opened(fixture, Self.older, data: ["user": "ann"])
      let bob = try await Self.opened(fixture, Self.older, data: ["user": "bob"])
      #expect(await ann.phase == .live)
      #expect(await ann.shown == "function function Vue")
      for page in [ann, bob] { await page.settle(within: .seconds(60)) }
      try await bob.fireEvent("e0", "click")
      for page in [bob, ann] { await page.settle(within: .seconds(60)) }
      #expect(await ann.shown == "bob")
      #expect(await bob.shown == "function function Vue")
      await bob.destroy()
      #expect(await ann.exceptions == [])
    }
    // Its bundles may make code of text, as their framework does; what they throw fails the page.
    let failure = try await Self.failure(frameworks, Self.vue + "throw new Error(Function('return \"evaluated\"')())")
    #expect(failure.contains("evaluated"))
  }

  @Test("bundles that were built for older frameworks get the function by which they ask for modules")
  func olderModules() async throws {
    try await PageFixture.running(frameworks: Self.frameworks()) { (fixture: PageFixture) async throws in
      let page = try await Self.opened(
        fixture,
        Self.vue + """
          var seen = typeof __weex_require_module__('storage').getItem
          new Vue({ render: function (h) { return h('div', {}, [h('text', { attrs: { value: seen } })]) } })
          """)
      #expect(await page.shown == "function")
      #expect(await page.exceptions == [])
    }
  }

  @Test("a bundle of the oldest type reaches the app's modules, at once, by callbacks and by tasks")
  func modulesOfOldestType() async throws {
    try await PageFixture.running(frameworks: Self.frameworks()) { (fixture: PageFixture) async throws in
      fixture.registry.registerModule("cart") { module in
        module.immediate("add") { (count: Int) in count + 1 }
        module.method("total") { (count: Int) async -> Int in count * 10 }
      }
      let page = try await Self.opened(
        fixture,
        """
        var cart = __weex_require_module__('cart'), seen = [cart.add(2), typeof cart.remove]
        define({ elements: [{ type: 'text', attr: { value: '' } }] })
        cart.total(4).then(function (total) {
          seen.push(total)
          call('storage', 'length', [], function (answer) {
            seen.push(answer.result)
            sendTasks(id, [{ module: 'dom', method: 'updateAttrs', args: ['e0', { value: seen.join(' ') }] }])
          })
        })
        """)
      await page.settle(within: .seconds(60))
      #expect(await page.shown == "3 undefined 40 success")
      #expect(await page.exceptions == [])
    }
  }

  // MARK: Invalid frameworks and bundles

  /// Returns the error with which a page fails to open with these frameworks.
  private static func failure(_ frameworks: [BundleType: String], _ source: String) async throws -> String {
    let limits = ScriptLimits(time: .seconds(1))
    return try await PageFixture.running(limits: limits, frameworks: frameworks) {
      (fixture: PageFixture) async throws in
      let page = await PageInstance(environment: fixture.environment)
      await #expect(throws: PageError.self) { try await page.render(source) }
      #expect(await page.phase == .failed)
      let reason = await page.failure?.description
      // Bundles that do not need it open.
      let other = try await fixture.page("add('text', { attr: { value: 'well' } })")
      #expect(await other.shown == "well")
      await other.destroy()
      return reason ?? ""
    }
  }

  private static let vue = "// { \"framework\": \"Vue\" }\n"

  @Test(
    "a framework without the expected functions fails with the reason and the place",
    arguments: [
      // The framework's file.
      ("var a = ;", vue, ["Vue framework", "SyntaxError", "vue-framework.js:1"]),
      ("\n\nthrow new Error('no boot')", vue, ["Vue framework", "no boot", "vue-framework.js:3"]),
      (
        "var a = 1", vue,
        ["Vue framework", "the framework file for Vue defines no function createInstanceContext or createInstance"]
      ),
      ("createInstanceContext = function () {}", vue, ["Vue framework", "there is no function registerComponents"]),
      // The function that opens a page.
      (
        "registerModules = registerComponents = function () {}; createInstanceContext = function () { return new Error('will not') }",
        vue, ["will not"]
      ),
      (
        "registerModules = registerComponents = function () {}\ncreateInstanceContext = function () { throw new Error('cannot') }",
        vue, ["cannot", "vue-framework.js:2"]
      ),
      ("for (;;) {}", vue, ["Vue framework", "ran for longer than"]),
    ])
  func invalidFramework(_ file: String, _ source: String, _ words: [String]) async throws {
    let failure = try await Self.failure([.vue: file], source)
    for word in words { #expect(failure.contains(word), "\(failure)") }
  }

  @Test("a bundle that does not fit its framework fails with the reason and the place")
  func invalidBundle() async throws {
    let frameworks = try Self.frameworks()
    let wrong = try await Self.failure([.rax: frameworks[.vue] ?? ""], "// { \"framework\": \"Rax\" }\nvar a")
    #expect(wrong.contains("invalid bundle type \"Rax\""))
    let missing = try await Self.failure(frameworks, "// { \"framework\": \"Rax\" }\nvar a")
    #expect(missing.contains("the type Rax, for which no framework was given"))
    let syntax = try await Self.failure(frameworks, Self.vue + "var a = ;")
    #expect(syntax.contains("SyntaxError") && syntax.contains(".js:2"))
    let legacy = try await Self.failure(frameworks, "var a = ;")
    #expect(legacy.contains("SyntaxError"))
  }

  /// A framework whose pages show the value of an expression, as it sees it itself.
  private static func speaking(_ expression: String) -> String {
    """
    ;(function () {
      var seen = String(\(expression))
      globalThis.registerModules = globalThis.registerComponents = globalThis.destroyInstance = function () {}
      globalThis.createInstanceContext = function (id) {
        callCreateBody(id, { ref: 't', type: 'text', attr: { value: seen }, style: {} })
        return { show: function (text) { callUpdateAttrs(id, 't', { value: text }) } }
      }
    })()
    """
  }

  @Test("a framework may freeze all that it gives to a page")
  func frozenMembers() async throws {
    let framework = """
      \(Self.speaking("1"))
      ;(function (create) {
        createInstanceContext = function (id) {
          return Object.freeze({ weex: Object.freeze({ requireModule: function () { return 'made' } }), show: create(id).show })
        }
      })(createInstanceContext)
      """
    try await PageFixture.running(frameworks: [.vue: framework]) { (fixture: PageFixture) async throws in
      let page = try await Self.opened(fixture, Self.vue + "show(weex.requireModule('none'))")
      #expect(await page.shown == "made")
      #expect(await page.exceptions == [])
      await page.destroy()
    }
  }

  // MARK: Commands

  /// A framework whose pages may call the native functions: `call('callAddElement', …)`.
  private static let calling = """
    globalThis.registerModules = globalThis.registerComponents = globalThis.destroyInstance = function () {}
    globalThis.createInstanceContext = function (id) {
      callCreateBody(id, { ref: 't', type: 'div' })
      return { call: function (name) { globalThis[name].apply(null, [id].concat([].slice.call(arguments, 1))) } }
    }
    """

  /// Returns the commands of a page's script after its body, and its exceptions.
  private static func called(_ script: String) async throws -> (commands: [String], exceptions: [String]) {
    try await PageFixture.running(frameworks: [.vue: calling]) { (fixture: PageFixture) async throws in
      let page = try await opened(fixture, vue + script)
      let exceptions = await page.exceptions
      return (await page.commands.dropFirst().map(\.short), exceptions)
    }
  }

  @Test(
    "a command whose value is nested too deeply is reported, and those after it are carried out",
    arguments: [
      "var d = {}, c = d; for (var i = 0; i < 600; i++) c = c.x = {}; call('callUpdateAttrs', 't', { value: d })",
      "var d = [], c = d; for (var i = 0; i < 600; i++) { c.push('}]\\\\', c = []) }; call('callUpdateStyle', 't', { value: d })",
      """
      var d = { ref: 'a', type: 'div', children: [] }, c = d
      for (var i = 0; i < 300; i++) c.children.push(c = { ref: 'a' + i, type: 'div', children: [] })
      call('callAddElement', 't', d, -1)
      """,
    ])
  func deepValues(_ script: String) async throws {
    let (commands, exceptions) = try await Self.called(script + "\ncall('callCreateFinish')")
    #expect(commands == ["created"])
    #expect(exceptions.count == 1 && exceptions.allSatisfy { $0.contains("nested too deeply") }, "\(exceptions)")
  }

  @Test(
    "an element's place is a whole number or its text, and the end otherwise",
    arguments: [
      ("1", " at 1"), ("'1'", " at 1"), ("0", " at 0"), ("-1", ""), ("'-1'", ""), ("''", ""), ("'1.0'", ""),
      ("'0x1'", ""), ("' 1 '", ""), ("1.5", ""), ("NaN", ""), ("null", ""), ("undefined", ""), ("{}", ""),
    ])
  func places(_ index: String, _ place: String) async throws {
    let (commands, exceptions) = try await Self.called(
      "call('callAddElement', 't', { ref: 'a', type: 'text' }, \(index))")
    #expect(commands == ["add text to t\(place)"] && exceptions == [])
  }

  @Test("changes are the own members of an object, and of nothing else")
  func changes() async throws {
    let own = "function C() { this.a = 1; this.b = undefined }\nC.prototype = { c: 2, d: function () {} }\n"
    let (commands, exceptions) = try await Self.called(
      own + """
        call('callUpdateAttrs', 't', new C())
        try { call('callUpdateAttrs', 't', [1, 2]) } catch (e) { call('callUpdateStyle', 't', { said: e.message }) }
        """)
    #expect(
      commands == [
        #"attrs t {"a":1}"#, #"style t {"said":"updateAttrs was called with invalid arguments"}"#,
      ])
    #expect(exceptions == [])
  }

  // MARK: Promises and preludes

  @Test("frameworks are told to keep the engine's promises")
  func nativePromises() async throws {
    let framework = Self.speaking("WXEnvironment.__enable_native_promise__")
    try await PageFixture.running(frameworks: [.vue: framework]) { (fixture: PageFixture) async throws in
      let page = try await Self.opened(fixture, Self.vue)
      #expect(await page.shown == "true")
      await page.destroy()
    }
  }

  @Test("a prelude runs in the page's context before bundles of its type only")
  func prelude() async throws {
    try await PageFixture.running(
      frameworks: [.vue: Self.speaking("1"), .rax: Self.speaking("1")],
      preludes: [.rax: "var window = this, word = typeof show"]
    ) { (fixture: PageFixture) async throws in
      let rax = try await Self.opened(fixture, "// { \"framework\": \"Rax\" }\nshow('word: ' + window.word)")
      #expect(await rax.shown == "word: function")
      await rax.destroy()
      let vue = try await Self.opened(fixture, Self.vue + "show(typeof window)")
      #expect(await vue.shown == "undefined")
      await vue.destroy()
    }
  }

  @Test(
    "a Rax bundle without the prelude that it needs fails with advice",
    arguments: [
      ("window.a = 1", true), ("__weex_require__('a')", true), ("define('a', function () {})", true),
      ("windows.a = 1", false), ("throw new Error('window')", false),
    ])
  func missingPrelude(_ script: String, _ isTold: Bool) async throws {
    let framework = Self.speaking("1")
    let failure = try await Self.failure([.rax: framework], "// { \"framework\": \"Rax\" }\n" + script)
    #expect(failure.contains("scripts.preludes[.rax]") == isTold, "\(failure)")
    #expect(failure.contains(".js:2"))
    let vue = try await Self.failure([.vue: framework], Self.vue + script)
    #expect(!vue.contains("preludes"), "\(vue)")
  }

  @Test("the prelude for uni-app gives a page its globals, over the page's modules")
  func uniApp() async throws {
    let prelude = try String(contentsOf: Self.examples.appendingPathComponent("UniApp/prelude.js"), encoding: .utf8)
    try await PageFixture.running(frameworks: Self.frameworks(), preludes: [.vue: prelude]) {
      (fixture: PageFixture) async throws in
      fixture.origin.respond("/api") { OriginResponse(body: Array(#"{"path": "\#($0.path)"}"#.utf8)) }
      let url = try #require(PageURL(fixture.origin.url(for: "/pages/index/index.js")))
      let page = await PageInstance(environment: fixture.environment)
      try await page.render(
        Self.vue + """
          uni.setStorageSync('k', { a: [1] })
          var told = [uni.upx2px(100), uni.getSystemInfoSync().windowWidth, uni.getStorageSync('k').a[0],
            typeof plus.webview.currentWebview().addEventListener]
          uni.$once('event', function (a) { told.push(a) }); uni.$emit('event', 1); uni.$emit('event', 2)
          uni.showToast({ title: 'Saved' })
          getApp().globalData.user = 'Ann'
          told.push(getApp().globalData.user, getCurrentPages().length)
          new Vue({
            data: { text: '' },
            render: function (h) { return h('div', {}, [h('text', { attrs: { value: this.text } })]) },
            mounted: function () {
              var self = this
              uni.request({ url: weex.config.bundleUrl.replace(/pages.*/, 'api'), data: { q: 'a b' } }).then(function (r) {
                self.text = told.concat(r.statusCode, r.data.path).join(' ')
              })
            }
          })
          """, at: url)
      await page.settle(within: .seconds(60))
      #expect(await page.shown == "50 375 1 function 1 Ann 1 200 /api?q=a%20b")
      #expect(await page.messages.map(\.outlineText) == ["toast: Saved"])
      #expect(await page.viewport == ["width": 375])
      #expect(await page.exceptions == [])
    }
  }

  private static let examples = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Examples")

  @Test("a prelude that throws is named")
  func failingPrelude() async throws {
    try await PageFixture.running(
      frameworks: [.rax: Self.speaking("1")], preludes: [.rax: "\nnothing()"]
    ) { (fixture: PageFixture) async throws -> Void in
      await #expect {
        _ = try await Self.opened(fixture, "// { \"framework\": \"Rax\" }\n")
      } throws: {
        "\($0)".contains("rax-prelude.js:2")
      }
    }
  }
}
