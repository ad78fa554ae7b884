import ScriptEngine
import Synchronization
import Testing

@testable import PageRuntime

/// Arguments of modules and of callbacks.
struct ArgumentTests {
  /// Returns the arguments that a module's method gets.
  private static func given(_ arguments: String) async throws -> [ScriptValue] {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let seen = Mutex<[ScriptValue]>([])
      fixture.registry.register { snapshot in
        snapshot.modules.add(
          "spy", "see",
          .immediate { call, _ in
            seen.withLock { $0 = call.arguments }
            return .null
          })
      }
      let page = try await fixture.page("weex.requireModule('spy').see(\(arguments))")
      #expect(await page.exceptions == [])
      return seen.withLock { $0 }
    }
  }

  @Test(
    "a module gets its arguments as the script gave them",
    arguments: [
      ("1, 'x', true, 1.5", [1, "x", true, 1.5]), ("null, undefined", ["", ""]),
      ("[1, [null]], { a: { b: undefined, c: null } }", [[1, [nil]], ["a": ["b": .undefined, "c": nil]]]),
      ("function () {}, function () {}", ["1", "2"]),
      ("{ done: function () {} }, [function () {}]", [["done": "1"], ["2"]]),
      ("body, [body], { el: body }", ["_root", ["_root"], ["el": "_root"]]),
      ("new Date(0), new Date(NaN)", ["1970-01-01T00:00:00.000Z", ""]), ("/a+/g", ["/a+/g"]),
      ("new Uint8Array([1, 2, 255])", [["@type": "binary", "dataType": "Uint8Array", "base64": "AQL/"]]),
      ("new Uint8Array([1, 2, 3]).buffer", [["@type": "binary", "dataType": "ArrayBuffer", "base64": "AQID"]]),
      ("new Uint8Array([1, 2, 3]).subarray(1)", [["@type": "binary", "dataType": "Uint8Array", "base64": "AgM="]]),
      ("new Int16Array([258])", [["@type": "binary", "dataType": "Int16Array", "base64": "AgE="]]),
      ("new DataView(new ArrayBuffer(1))", [["@type": "binary", "dataType": "DataView", "base64": "AA=="]]),
      ("{ b: new Uint8Array(0) }", [["b": ["@type": "binary", "dataType": "Uint8Array", "base64": ""]]]),
      ("JSON.parse('{\"__proto__\": 1, \"toString\": 2}')", [["__proto__": 1, "toString": 2]]), ("", []),
    ] as [(String, [ScriptValue])])
  func moduleArguments(_ arguments: String, _ expected: [ScriptValue]) async throws {
    #expect(try await Self.given(arguments) == expected)
  }

  /// Returns the argument that a callback gets for a module's answer.
  private static func answered(_ value: ScriptValue, _ show: String) async throws -> String? {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.registerModule("echo") { module in
        module.callbacks("back") { call, page in
          if let callback = call.callback(at: 0) { try await page.callback(callback, value) }
        }
      }
      let page = try await fixture.page(
        "var text = add('text'); weex.requireModule('echo').back(function (v) { text.setAttr('value', String(\(show))) })"
      )
      await page.settle(within: .seconds(60))
      let shown = await page.shown
      await page.destroy()
      return shown
    }
  }

  @Test(
    "a callback gets the host's value",
    arguments: [
      ("x", "v + typeof v", "xstring"), (["a": [1, nil, true]], "JSON.stringify(v)", "{\"a\":[1,null,true]}"),
      (.undefined, "v", "undefined"), (["a": .number(.nan)], "v.a", "NaN"),
      (["@type": "binary", "dataType": "Uint8Array", "base64": "AQL/"], "v.length + ' ' + v[2]", "3 255"),
      (["@type": "binary", "dataType": "ArrayBuffer", "base64": "AQL/"], "v.byteLength", "3"),
      (["@type": "binary", "dataType": "Nonsense", "base64": "AQL/"], "v.byteLength", "3"),
      (["deep": [["@type": "binary", "dataType": "Int16Array", "base64": "AgE="]]], "v.deep[0][0]", "258"),
      (
        ["__proto__": ["x": 1], "constructor": 2, "toString": 3], "Object.keys(v).sort() + ' ' + v.x",
        "__proto__,constructor,toString undefined"
      ),
    ] as [(ScriptValue, String, String)])
  func callbackArguments(_ value: ScriptValue, _ show: String, _ expected: String) async throws {
    #expect(try await Self.answered(value, show) == expected)
  }

  @Test("a callback is called once unless it is kept alive")
  func repeatedCallbacks() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.registerModule("tick") { module in
        module.callbacks("tick") { call, page in
          guard let callback = call.callback(at: 0), let keeps = call[1].bool else { return }
          for count in 1...3 { try await page.callback(callback, .number(Double(count)), keepAlive: keeps) }
        }
      }
      for (keeps, expected) in [(false, "1"), (true, "1,2,3")] {
        let page = try await fixture.page(
          "var t = add('text'), told = []; weex.requireModule('tick').tick(function (v) { told.push(v); t.setAttr('value', told.join()) }, \(keeps))"
        )
        await page.settle(within: .seconds(60))
        #expect(await page.shown == expected)
        await page.destroy()
      }
    }
  }

  @Test("the hooks of a component are called")
  func componentHooks() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let page = try await fixture.page(
        """
        var t = add('text')
        document.taskCenter.registerHook('c1', 'lifecycle', 'attach', function (a, b) { t.setAttr('value', a + b) })
        """)
      try await page.enter(.call(method: "componentHook", ["c1", "lifecycle", "attach", ["x", "y"]]))
      #expect(await page.shown == "xy")
      // Hooks that do not exist are ignored.
      let group = try #require(await page.group)
      _ = try await group.call(
        page.id, [["method": "componentHook", "args": ["c2"]], ["method": "none"], "x", nil])
      #expect(await page.phase == .live)
      await page.destroy()
    }
  }
}
