import HTTPTransport
import ScriptEngine
import Testing

@testable import PageRuntime

struct MissingPartTests {
  private static func missing(_ page: PageInstance) async -> [String] {
    await page.destroy()
    var parts: [String] = []
    for await event in page.events {
      if case .missing(let part) = event { parts.append("\(part)") }
    }
    return parts.sorted()
  }

  @Test("a component that is not registered is reported once for each type")
  func components() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.registerComponent("gauge")
      let page = try await fixture.page(
        """
        add('tabbar'); add('tabbar'); add('gauge'); add('div'); add('img')
        var outer = document.createElement('div'); outer.appendChild(document.createElement('marquee')); body.appendChild(outer)
        """)
      #expect(
        await Self.missing(page) == [
          "the component \"marquee\" is not registered: it is laid out as a div",
          "the component \"tabbar\" is not registered: it is laid out as a div",
        ])
    }
  }

  @Test("a module or a method that is not registered is reported once, however it is called")
  func modules() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        for (var i = 0; i < 3; i++) {
          weex.requireModule('titleBar'); requireModule('@weex-module/network'); weex.requireModule('@weex-module/stream')
          weex.requireModule('nat/network')
        }
        if (weex.requireModule('titleBar') !== undefined) throw new Error('it is there')
        if (typeof weex.requireModule('stream').fetch !== 'function') throw new Error('it is not there')
        """)
      let parts = await Self.missing(page)
      #expect(parts.contains("the module \"titleBar\" is not registered"))
      #expect(parts.contains("the module \"network\" is not registered"))
      #expect(!parts.contains { $0.contains("stream") })
      #expect(Set(parts).count == parts.count)
    }
  }

  @Test("a method that is not registered may be called, does nothing, and is reported once")
  func methods() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.registerModule("cart") { module in module.immediate("size") { () in 3 } }
      let page = try await fixture.speakingPage(
        """
        var cart = module('cart')
        for (var i = 0; i < 3; i++) { cart.empty(); module('@weex-module/stream').upload({}, function () {}) }
        show([
          cart.size(), cart.empty(), 'empty' in cart, Object.keys(cart), weex.isRegisteredModule('cart', 'empty'),
          weex.supports('@module/cart.empty'), cart.then === undefined, cart.__esModule === undefined, String(cart)
        ])
        """)
      #expect(await page.shown == #"[3,null,false,["size"],false,false,true,true,"[object Object]"]"#)
      #expect(await Self.missing(page) == ["\"cart\" has no method \"empty\"", "\"stream\" has no method \"upload\""])
      #expect(await page.exceptions == [])
    }
  }

  /// The methods of the modules of both SDKs, Android's and iOS's, that pages may call: what `WXSDKEngine` registers, without
  /// the commands of frameworks.
  private static let ofTheSDK: [String: String] = [
    "animation": "transition", "canvas": "addDrawActions initTexture", "clipboard": "getString setString",
    "dark-scheme": "getCurrentScheme registerSchemeChangeListener unregisterSchemeChangeListener",
    "deviceInfo": "enableFullScreenHeight",
    "dom": "addRule beginBatchMark endBatchMark getComponentRect getLayoutDirection scrollToElement",
    "globalEvent": "addEventListener removeEventListener", "instanceWrap": "error refresh",
    "locale": "getLanguage getLanguageSync getLanguages", "meta": "getPageInfo openLog setViewport",
    "modal": "alert confirm prompt toast",
    "navigator": """
    clearNavBarLeftItem clearNavBarMoreItem clearNavBarRightItem clearNavBarTitle close open pop push \
    setNavBarBackgroundColor setNavBarHidden setNavBarLeftItem setNavBarMoreItem setNavBarRightItem setNavBarTitle
    """,
    "picker": "pick pickDate pickTime", "sdk-console-log": "setPerfMode switchLogLevel",
    "storage": "getAllKeys getItem length removeItem setItem setItemPersistent",
    "stream": "fetch fetchWithArrayBuffer sendHttp", "timer": "clearInterval clearTimeout setInterval setTimeout",
    "voice-over": "focusToElement isVoiceOverOn read",
    "webSocket": "WebSocket close onclose onerror onmessage onopen send",
    "webview": "goBack goForward notifyWebview postMessage reload",
  ]

  @Test("every method of the SDK's modules, and every component, is registered")
  func methodsOfTheSDK() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let snapshot = fixture.registry.snapshot()
      for (module, methods) in Self.ofTheSDK {
        for method in methods.split(separator: " ").map(String.init) + ModuleTable.common {
          #expect(snapshot.modules[module, method] != nil, "\(module).\(method)")
        }
      }
      for type in ["hlist", "vlist", "recycler", "simplelist", "footer", "img", "cell-slot"] {
        #expect(snapshot.components.has(type), "\(type)")
      }
    }
  }

  @Test("a page without a body is in the phase empty, and becomes live with a later body")
  func noBody() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = await PageInstance(environment: fixture.environment)
      try await page.render(
        """
        // { "framework": "Vanilla" }
        setTimeout(function () {
          var d = weex.document; d.documentElement.appendChild(d.createBody('div'))
        }, 50)
        """)
      #expect(await page.phase == .empty)
      for await event in page.events { if case .rendered = event { break } }
      #expect(await page.phase == .live)
      await page.destroy()
    }
  }

  @Test("an unhandled rejection is reported with its value")
  func rejections() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page("Promise.reject({ status: 404, ok: false }); Promise.reject(new Error('gone'))")
      #expect(
        await page.exceptions == [
          "unhandled rejection: {\"status\":404,\"ok\":false}", "unhandled rejection: Error: gone",
        ])
    }
  }
}
