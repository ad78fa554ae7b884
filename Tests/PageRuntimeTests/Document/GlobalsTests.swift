import ScriptEngine
import Testing

@testable import PageRuntime

/// The members of a page's global object and of `weex`.
struct GlobalsTests {
  @Test(
    "a page finds the globals that it expects",
    arguments: [
      ("tell(weex.config.bundleUrl.split('/').pop()); tell(weex.config.bundleType)", "[\"page.js\",\"Vanilla\"]"),
      (
        "tell(weex.config.env.platform); tell(WXEnvironment.platform); tell(global.WXEnvironment === WXEnvironment)",
        "[\"iOS\",\"iOS\",true]"
      ),
      ("tell(weex.document === document); tell(global === this); tell(globalThis === global)", "[true,true,true]"),
      (
        "tell(process.env.NODE_ENV); tell(typeof window); tell(typeof callNativeModule)",
        "[\"production\",\"undefined\",\"undefined\"]"
      ),
      (
        "tell(weex.supports('@module/stream.fetch')); tell(weex.supports('@module/stream')); tell(weex.supports('@module/stream.none'))",
        "[true,true,false]"
      ),
      (
        "tell(weex.supports('@component/slider')); tell(weex.supports('@component/none')); tell(weex.supports('@module/none'))",
        "[true,false,false]"
      ),
      (
        "tell(weex.supports('nonsense')); tell(weex.supports('@other/x')); tell(weex.supports({})); tell(weex.supports())",
        "[null,null,null,null]"
      ),
      ("tell(weex.supports('@module/constructor')); tell(weex.supports('@component/toString'))", "[false,false]"),
      (
        "tell(weex.isRegisteredModule('dom')); tell(weex.isRegisteredModule('dom', 'addRule')); tell(weex.isRegisteredModule('dom', 'x'))",
        "[true,true,false]"
      ),
      (
        "tell(weex.isRegisteredModule('x')); tell(weex.isRegisteredModule()); tell(weex.isRegisteredModule('__proto__'))",
        "[false,false,false]"
      ),
      (
        "tell(weex.isRegisteredComponent('div')); tell(weex.isRegisteredComponent('x')); tell(weex.isRegisteredComponent())",
        "[true,false,false]"
      ),
      (
        "tell(typeof weex.requireModule('dom').addRule); tell(weex.requireModule('dom') === requireModule('@weex-module/dom'))",
        "[\"function\",true]"
      ),
      (
        "tell(weex.requireModule('none')); tell(requireModule()); tell(requireModule('constructor'))",
        "[\"-\",\"-\",\"-\"]"
      ),
      ("tell(btoa('a\\xff')); tell(atob('Yf8=').charCodeAt(1)); tell(atob(btoa('')))", "[\"Yf8=\",255,\"\"]"),
      ("try { btoa('\\u20ac') } catch (e) { tell(e.message) }", "[\"btoa: the text has characters beyond one byte\"]"),
      ("try { atob('!') } catch (e) { tell(e.message) }", "[\"atob: the text is not base64\"]"),
      (
        "tell(['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval', 'BroadcastChannel', 'requireModule', 'nativeLog', 'setTimeoutNative'].map(function (n) { return typeof global[n] }).join(' '))",
        "[\"function function function function function function function function\"]"
      ),
      (
        "tell(['log', 'debug', 'info', 'warn', 'error'].every(function (n) { return console[n]('x') === undefined }))",
        "[true]"
      ),
      ("tell(typeof Promise); tell(typeof Symbol()); tell(typeof Map)", "[\"function\",\"symbol\",\"function\"]"),
      (
        "tell(btoa(5)); tell(btoa(null)); tell(atob({ toString: function () { return 'NQ==' } }))",
        "[\"NQ==\",\"bnVsbA==\",\"5\"]"
      ),
      (
        "tell(typeof setTimeout('no function', 1)); clearTimeout(); clearTimeout({}); clearInterval('x')",
        "[\"undefined\"]"
      ),
      (
        "var f = setTimeout; tell(typeof f(function () {}, 1e9)); tell(typeof setTimeout.call(null, tell, NaN))",
        "[\"number\",\"number\"]"
      ),
    ])
  func globals(_ script: String, _ expected: String) async throws {
    #expect(try await PageFixture.told(script) == expected)
  }

  @Test("a page's logs are events with their level")
  func logs() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        console.log('a', 1, { b: [2] }, null, undefined); console.warn('w'); nativeLog('n', 'm', '__ERROR'); nativeLog('plain')
        nativeLog(); var o = {}; o.o = o; console.log(o); console.log(Symbol('s')); console.error(new TypeError('t')); requireModule('none')
        """)
      await page.destroy()
      var logs: [String] = []
      for await event in page.events { if case .log(let level, let text) = event { logs.append("\(level): \(text)") } }
      #expect(
        logs == [
          "log: a 1 {\"b\":[2]} null undefined", "warn: w", "error: n m", "log: plain", "log: ",
          "log: an object with o",
          "log: ", "error: TypeError: t",
        ])
    }
  }

  @Test("data and options reach the page")
  func dataAndOptions() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = await PageInstance(environment: fixture.environment)
      try await page.render(
        """
        // { "framework": "Vanilla" }
        var d = weex.document, b = d.createBody('div'); d.documentElement.appendChild(b)
        b.appendChild(d.createElement('text', { attr: { value: [weex.config.mode, weex.config.bundleUrl, __pageData.user].join() } }))
        """, options: PageOptions(bundleURL: "https://h/p.js", config: ["mode": "dark"]), data: ["user": "ann"])
      #expect(await page.shown == "dark,https://h/p.js,ann")
      await page.destroy()
    }
  }

  @Test("timers fire in order with their arguments, and can be cleared")
  func timers() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var text = add('text', { attr: { value: '' } }), told = [], count = 0
        var cleared = setTimeout(function () { told.push('wrong') }, 1)
        clearTimeout(cleared)
        clearTimeout(String(setTimeout(function () { told.push('wrong') }, '1')))
        setTimeout(function () { told.push('z') }, '10')
        setTimeout(function (a, b) { told.push(a + b) }, 1, 'x', 'y')
        var interval = setInterval(function () {
          count += 1
          if (count < 3) return
          clearInterval(interval)
          text.setAttr('value', told.concat('three').join(' '))
        }, 20)
        """)
      await page.waitUntilShown("xy z three")
      await page.destroy()
    }
  }

  @Test("timers of older frameworks call back with their id")
  func nativeTimers() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var text = add('text', { attr: { value: '' } })
        global.setTimeoutCallback = function (id) { text.setAttr('value', typeof id + ' ' + id) }
        setTimeoutNative('17', 1)
        """)
      await page.waitUntilShown("string 17")
      await page.destroy()
    }
  }
}
