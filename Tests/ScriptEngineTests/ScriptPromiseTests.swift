import Testing

@testable import ScriptEngine

struct ScriptPromiseTests {
  @Test("a script waits for Swift, and Swift for the script")
  func waiting() async throws {
    let group = try ScriptGroup.make()
    let value = try await group.settled { group in
      let context = try group.makeContext(named: "a")
      try context.global.set(
        "later",
        context.makeAsyncFunction(named: "later", in: group) { (a: Int) async throws -> Int in
          await Task.yield(); if a < 0 { throw ScriptError.engine("negative") }
          return a * 2
        })
      return try context.evaluate(
        "(async () => { let x = await later(21); try { await later(-1) } catch (e) { return [x, e.message] } })()")
    }
    #expect(value == [42, "the script engine failed: negative"])
  }

  @Test("waiting for a promise ends with an error if its context is closed")
  func closing() async throws {
    let group = try ScriptGroup.make()
    let id = try await group.perform { try #require(try $0.makeContext(named: "a").id) }
    let waiter = Task {
      try await group.settled { try $0.context(id).evaluate("new Promise(function () {})") }
    }
    // The wait begins on the group's own thread, one entry after the other.
    while await group.waiterCount(id) == 0 { await Task.yield() }
    await group.close(id)
    await #expect(throws: ScriptError.closed) { try await waiter.value }
  }

  @Test("a rejection is an exception of the script")
  func rejection() async throws {
    let group = try ScriptGroup.make()
    await #expect(throws: ScriptError.exception(ScriptException(message: "no"))) {
      _ = try await group.settled { try $0.makeContext(named: "a").evaluate("Promise.reject('no')") }
    }
  }
}

extension ScriptGroup {
  func waiterCount(_ id: ContextID) -> Int { (try? context(id).waiterCount) ?? 0 }
}
