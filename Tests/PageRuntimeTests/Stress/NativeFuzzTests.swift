import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

extension StressTests {
  /// Calls every function that scripts can reach with random arguments.
  struct NativeFuzzTests {
    /// A framework that gives its pages all native functions.
    private static let open = """
      var natives = {}
      Object.getOwnPropertyNames(globalThis).forEach(function (name) {
        if (typeof globalThis[name] === 'function' && /^(call|native|set|clear|atob|btoa|__update)/.test(name)) natives[name] = globalThis[name]
      })
      registerModules = registerComponents = function () {}
      createInstanceContext = function (id) { return { natives: natives, id: id } }
      callJS = refreshInstance = destroyInstance = function () {}
      """

    /// Makes values of a few seeds, expected and unexpected ones.
    private static let values = """
      function values(next) {
        function any(depth) {
          switch (next(depth > 3 ? 16 : 22)) {
            case 0: return undefined
            case 1: return null
            case 2: return true
            case 3: return next(10) - 2
            case 4: return [NaN, Infinity, -Infinity, -0, 1e308, 4294967296, 0.5][next(7)]
            case 5: return ['', '_root', '__proto__', 'constructor', '-1', '\\0', '\\ud800', '\\ud83d\\ude00', 'dom', 'stream', 'fetch'][next(11)]
            case 6: case 7: return String(next(6))
            case 8: return id
            case 9: return String(next(5) + 1)
            case 10: return function () { return any(depth + 1) }
            case 11: return Symbol('s')
            case 12: return new Date(next(2) ? NaN : 0)
            case 13: return new Uint8Array(next(5))
            case 14: return 10n
            case 15: return { ref: String(next(6)), type: 'div', attr: {}, style: {}, children: [] }
            case 16: case 17: var list = []; for (var i = next(4); i > 0; i--) list.push(any(depth + 1)); return list
            case 18: var made = {}; for (var j = next(4); j > 0; j--) made[['ref', 'type', 'attr', 'style', 'event', 'children', 'module', 'method', 'component', 'args'][next(10)]] = any(depth + 1); return made
            case 19: var loop = { children: [] }; loop.children.push(loop); loop.ref = loop; return loop
            case 20: return { get ref() { throw new Error('getter') }, toString: function () { throw new Error('text') } }
            default: return new Proxy({ ref: '1' }, { get: function (t, k) { if (next(2)) throw new Error('trap'); return any(depth + 1) } })
          }
        }
        return any(0)
      }
      """

    @Test(
      "native functions take any arguments: the page goes on or fails", .timeLimit(.minutes(2)), arguments: [1, 2, 3])
    func arguments(_ seed: Int) async throws {
      let limits = ScriptLimits(time: .seconds(60))
      try await PageFixture.running(limits: limits, frameworks: [.vue: Self.open]) {
        (fixture: PageFixture) async throws in
        let victim = try await fixture.page("add('text', { attr: { value: 'mine' } })")
        let page = await PageInstance(environment: fixture.environment)
        try? await page.render(
          """
          // { "framework": "Vue" }
          var state = \(seed)
          function next(limit) { state = (state * 1103515245 + 12345) % 2147483648; return Math.floor(state / 65536) % limit }
          \(Self.values)
          natives.callCreateBody(id, { ref: '_root', type: 'div' })
          var names = Object.keys(natives), calls = 0, thrown = 0
          for (var i = 0; i < 4000; i++) {
            var args = []
            if (next(8)) args.push(id)
            for (var n = next(5); n > 0; n--) args.push(values(next))
            calls += 1
            try { natives[names[next(names.length)]].apply(null, args) } catch (e) { thrown += 1 }
          }
          if (names.length < 18 || thrown < 100 || thrown > 3900) throw new Error('not much was tried: ' + names.length + ' ' + thrown)
          natives.callUpdateAttrs(id, '_root', { calls: calls })
          """)
        #expect(await page.failure?.description == nil)
        #expect(await page.tree.body?.attributes["calls"] == 4_000)
        await page.settle(within: .seconds(10))
        #expect(await victim.shown == "mine")
        let other = try await fixture.page("add('text', { attr: { value: 'well' } })")
        #expect(await other.shown == "well")
        for page in [victim, page, other] { await page.destroy() }
      }
    }
  }
}
