import Testing

@testable import ScriptEngine

struct ScriptGroupTests {
  @Test("a script returns its value")
  func values() async throws {
    let group = try ScriptGroup.make()
    let value = try await group.perform {
      try $0.makeContext(named: "a").evaluate("({a: [1, 'x', null, true]})").value()
    }
    #expect(value == ["a": [1, "x", nil, true]])
  }
  @Test("an endless loop is stopped")
  func endlessLoop() async throws {
    let group = try ScriptGroup.make(limits: ScriptLimits(time: .milliseconds(200)))
    await #expect(throws: ScriptError.timeLimit(.milliseconds(200))) {
      try await group.perform { _ = try $0.makeContext(named: "a").evaluate("for(;;){}") }
    }
    #expect(try await group.perform { try $0.makeContext(named: "b").evaluate("1+1").value() } == 2)
  }
  @Test("an exception has the place where it was thrown")
  func exceptions() async throws {
    let group = try ScriptGroup.make()
    do {
      try await group.perform {
        _ = try $0.makeContext(named: "a").evaluate("var a\n  throw new Error('no')", url: "http://x/y.js")
      }
      Issue.record("nothing thrown")
    } catch ScriptError.exception(let exception) {
      #expect(exception.message == "Error: no")
      #expect(exception.line == 2)
      #expect(exception.url == "http://x/y.js")
    }
  }
  @Test("the arguments of a native function are checked against its types")
  func typedFunctions() async throws {
    let group = try ScriptGroup.make()
    let value = try await group.perform { group in
      let context = try group.makeContext(named: "a")
      let add = context.makeFunction(named: "add") { (a: Int, b: Int?) in a + (b ?? 100) }
      try context.global.set("add", add)
      return try context.evaluate(
        "[add(1, 2), add(1), (function(){try{add('x')}catch(e){return e.message}})(), typeof add]"
      ).value()
    }
    #expect(value == [3, 101, "argument 1 must be a whole number, it is a string", "function"])
  }
  @Test("deep recursion is an error of the script")
  func recursion() async throws {
    let group = try ScriptGroup.make()
    await #expect(throws: ScriptError.self) {
      try await group.perform { _ = try $0.makeContext(named: "a").evaluate("function f(){return f()+1}; f()") }
    }
  }
  @Test("a closed context is gone")
  func closing() async throws {
    let group = try ScriptGroup.make()
    for _ in 0..<200 {
      try await group.perform { group in
        let context = try group.makeContext(named: "a")
        try context.global.set("f", context.makeFunction(named: "f") { (a: Int) in a })
        try context.evaluate("f(1)")
        group.close(context.id)
      }
    }
    #expect(await group.contextCount == 0)
  }
}
