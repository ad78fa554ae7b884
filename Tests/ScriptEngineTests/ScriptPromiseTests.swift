import Testing

@testable import ScriptEngine

struct ScriptPromiseTests {
  /// Returns what a script sees of a promise that is settled with a result.
  private static func seen(_ result: Result<ScriptValue, any Error>) async throws -> ScriptValue {
    try await ScriptGroup.make().perform { group in
      let context = try group.makeContext(named: "a")
      let (promise, settle) = try context.makePromise()
      try context.global.set("promise", promise)
      try context.evaluate(
        "var seen = []; promise.then(x => seen.push(x), e => seen.push(e.message, e instanceof Error))")
      try settle(result)
      // A promise is settled once.
      try settle(.success("again"))
      return try context.global["seen"].value()
    }
  }

  @Test("a script gets the value of a promise")
  func value() async throws {
    #expect(try await Self.seen(.success(["sum": 42])) == [["sum": 42]])
  }

  @Test("a script gets an error of Swift as a rejection with its text")
  func rejection() async throws {
    #expect(
      try await Self.seen(.failure(ScriptError.engine("negative")))
        == ["the script engine failed: negative", true])
  }
}
