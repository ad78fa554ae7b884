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
