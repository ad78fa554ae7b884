import Foundation
import HTTPTransport
import HTTPTypes
import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

/// The answers of `storage`.
@Suite(.timeLimit(.minutes(5))) struct StorageTests {
  @Test("storage stores values by key")
  func values() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let shown = try await fixture.shown(
        """
        var storage = weex.requireModule('storage')
        storage.setItem('a', 'one', function (r) { said.push(r.result)
          storage.getItem('a', function (r) { said.push(r.data)
            storage.length(function (r) { said.push(r.data)
              storage.removeItem('a', function (r) { said.push(r.result)
                storage.getItem('a', function (r) { said.push(r.result); show(said) }) }) }) }) })
        """)
      #expect(shown == #"["success","one",1,"success","failed"]"#)
    }
  }

  /// A storage whose values take the longer to be set the earlier they come.
  private actor SlowStorage: StorageProviding {
    private var values: [String: String] = [:]
    private var calls = 0

    func value(for key: String) async throws -> String? { values[key] }

    func setValue(_ value: String, for key: String) async throws {
      calls += 1
      for _ in 0..<1_000 / calls { await Task.yield() }
      values[key] = value
    }

    func removeValue(for key: String) async throws -> Bool { values.removeValue(forKey: key) != nil }
    func keys() async throws -> [String] { values.keys.sorted() }
  }

  @Test("the calls of all pages run one after the other")
  func order() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.register(SlowStorage() as any StorageProviding, as: \.storage)
      let other = try await fixture.page("weex.requireModule('storage').setItem('k', 'zero')")
      let shown = try await fixture.shown(
        """
        var storage = module('storage')
        storage.getItem('k', function (r) { say(r.data) })
        for (var word of ['one', 'two', 'three', 'four']) storage.setItem('k', word)
        storage.getItem('k', function (r) { say(r.data) })
        storage.removeItem('k')
        storage.getItem('k', function (r) { say(r.result) })
        """)
      #expect(shown == #"["zero","four","failed"]"#)
      await other.destroy()
    }
  }

  @Test("what a page set is stored also when it is closed at once")
  func closing() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      fixture.registry.register(SlowStorage() as any StorageProviding, as: \.storage)
      let page = try await fixture.page("weex.requireModule('storage').setItem('k', 'kept')")
      await page.destroy()
      #expect(try await fixture.shown("module('storage').getItem('k', function (r) { show(r.data) })") == "kept")
    }
  }

  @Test("keys are listed, and an empty key is refused")
  func keys() async throws {
    try await PageFixture.running { (fixture: PageFixture) async throws in
      let shown = try await fixture.shown(
        """
        var storage = module('storage')
        storage.setItemPersistent('b', 2, function () { storage.setItem('a', { c: 1 }, function () {
          storage.getAllKeys(function (r) { say(r.data); storage.getItem('b', function (r) { say(r.data)
            storage.getItem('a', function (r) { say(r.data); storage.getItem('', function (r) { say(r.result) }) }) }) }) }) })
        """)
      #expect(shown == #"[["a","b"],"2","{\"c\":1}","failed"]"#)
    }
  }
}
