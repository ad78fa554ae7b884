import HTTPTransport
import PageTesting
import ScriptEngine
import Synchronization
import Testing

@testable import PageRuntime

/// `timer`, `locale`, `clipboard`, `meta`, `deviceInfo`, `instanceWrap`.
@Suite(.timeLimit(.minutes(5))) struct DeviceModuleTests {
  @Test(
    "answers have the form that the SDK gives them",
    arguments: [
      ("module('locale').getLanguage(show)", "en"), ("module('locale').getLanguages(show)", #"["en"]"#),
      ("show([module('locale').getLanguageSync(), module('locale').getLanguages()])", #"["en",["en"]]"#),
      ("show([module('dark-scheme').getCurrentScheme(), module('voice-over').isVoiceOverOn()])", #"["light",false]"#),
      ("module('sdk-console-log').switchLogLevel('debug', show)", #"{"status":"success"}"#),
      ("module('sdk-console-log').switchLogLevel('loud', show)", #"{"status":"failure"}"#),
      (
        "module('voice-over').read({ value: 'a' }, function (r) { show([r.success, r.errorDesc.length > 0]) })",
        "[false,true]"
      ),
      ("module('canvas').initTexture('a.png', function (t) { show([t.url, t.width, t.height]) })", #"["a.png",0,0]"#),
      ("show([module('meta').openLog('true'), module('webview').postMessage(text, {})])", "[null,null]"),
      ("show(module('storage').addEventListener('a', function () {}) === undefined)", "true"),
      ("add('image').save(function (r) { show([r.success, typeof r.errorDesc]) })", #"[false,"string"]"#),
      ("module('deviceInfo').enableFullScreenHeight(show)", #"{"fullScreenHeight":1334}"#),
      (
        "module('clipboard').setString('copied'); module('clipboard').getString(function (r) { show([r.result, r.data]) })",
        #"["success","copied"]"#
      ),
      (
        "module('meta').setViewport({ width: 640 }); module('meta').getPageInfo(function (i) { show(i.width) })", "640"
      ),
      ("show(module('nothing') === undefined)", "true"),
      (
        "show([weex.supports('@module/stream.fetch'), weex.supports('@module/stream.no'), weex.supports('x')])",
        "[true,false,null]"
      ),
    ])
  func answers(_ script: String, _ expected: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      #expect(try await fixture.shown(script) == expected)
    }
  }

  @Test("a text that one page copies can be pasted by another")
  func clipboard() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      _ = try await fixture.shown("module('clipboard').setString('text')")
      #expect(try await fixture.shown("module('clipboard').getString(function (r) { show(r.data) })") == "text")
    }
  }

  @Test("the module timer calls back once or repeatedly, and can be stopped")
  func timers() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        """
        var timer = module('timer'), times = 0
        var never = timer.setTimeout(function () { say('never') }, 1)
        timer.clearTimeout(never)
        var interval = timer.setInterval(function () {
          times += 1
          if (times === 3) { timer.clearInterval(interval); timer.setTimeout(function () { say(times) }, 30) }
        }, 5)
        """)
      await page.waitUntilShown("[3]")
      await page.destroy()
    }
  }

  @Test("a delay that is not a number is none", arguments: ["NaN", "'x'", "undefined", "{}", "-1"])
  func invalidDelays(_ delay: String) async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      #expect(try await fixture.shown("module('timer').setTimeout(function () { show('due') }, \(delay))") == "due")
    }
  }

  @Test("a page may end itself with an error")
  func refusal() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.speakingPage(
        "text.addEvent('click', function () { module('instanceWrap').error('type', 12, 'why') })")
      try await page.fireEvent(try #require(await page.first("text")?.ref), "click")
      await page.settle(within: .seconds(60))
      #expect(await page.phase == .failed)
      #expect(await page.failure?.description == "the page gave up: type, 12, why")
      await page.destroy()
    }
  }
  @Test(
    "members of the environment are read as JSON, unless they are text by default",
    arguments: [
      ("scale", "3", .number(3)), ("appVersion", "1.10", .string("1.10")), ("appVersion", #""2""#, .string("2")),
      ("eros", #"{"touchBarHeight": 1}"#, ["touchBarHeight": 1]), ("debug", "true", .bool(true)),
      ("deviceModel", "iPhone 9", .string("iPhone 9")), ("name", "{", .string("{")),
    ] as [(String, String, ScriptValue)])
  func environmentTexts(_ name: String, _ text: String, _ value: ScriptValue) {
    #expect(DefaultConfiguration(texts: [name: text]).environment[name] == value)
  }
}
