import Foundation
import Testing

@testable import ScriptEngine

struct ScriptLimitTests {
  @Test("each entry has the whole time limit")
  func entryTime() async throws {
    let group = try ScriptGroup.make(limits: ScriptLimits(time: .milliseconds(400)))
    let id = try await group.perform { try $0.makeContext(named: "a").id }
    // Together longer than the limit of one.
    for _ in 0..<8 {
      try await group.perform { group in
        _ = try group.context(id).evaluate("for (var end = Date.now() + 100; Date.now() < end;) {}")
      }
    }
    await #expect(throws: ScriptError.timeLimit(.milliseconds(400))) {
      try await group.perform { _ = try $0.context(id).evaluate("for (;;) {}") }
    }
    #expect(try await group.perform { try $0.context(id).evaluate("1 + 1").value() } == 2)
  }

  @Test(
    "a script that catches its stop does not run on",
    arguments: [
      "stop(); for (;;) {}", "try { for (;;) {} } catch (e) {} finally { for (;;) {} }",
      "Promise.resolve().then(function () { for (;;) {} })",
      "for (;;) try { read({ get x() { for (;;) {} } }) } catch (e) {}",
      "read({ get x() { for (;;) {} } }); for (;;) {}",
    ])
  func caughtStop(_ script: String) async throws {
    let group = try ScriptGroup.make(limits: ScriptLimits(time: .milliseconds(200)))
    await #expect(throws: ScriptError.timeLimit(.milliseconds(200))) {
      try await group.perform { group in
        let context = try group.makeContext(named: "a")
        let read = context.makeFunction(named: "read") { context, arguments in
          _ = try? arguments.first?.value()
          return context.undefined
        }
        try context.global.set("read", read)
        try context.evaluate(script.replacingOccurrences(of: "stop()", with: "read({ get x() { for (;;) {} } })"))
      }
    }
  }

  @Test("a script that takes memory without end is stopped, and its memory is freed")
  func endlessMemory() async throws {
    let before = ScriptLimits.residentBytesNow()
    let limit = before + (200 << 20)
    let group = try ScriptGroup.make(limits: ScriptLimits(time: .seconds(30), residentBytes: limit))
    do {
      try await group.perform {
        _ = try $0.makeContext(named: "a").evaluate("var all = []; for (;;) all.push({ a: all.length })")
      }
      Issue.record("it ended by itself")
    } catch ScriptError.memoryLimit(let allowed, let found) {
      #expect(allowed == limit)
      #expect(found > limit)
    }
    // Another script needs little.
    let other = try ScriptGroup.make(limits: ScriptLimits(time: .seconds(30)))
    #expect(try await other.perform { try $0.makeContext(named: "b").evaluate("1 + 1").value() } == 2)
  }

  @Test("a script with little memory goes on if the process has too much")
  func smallScript() async throws {
    let group = try ScriptGroup.make(limits: ScriptLimits(time: .seconds(30), residentBytes: 1))
    let value = try await group.perform {
      try $0.makeContext(named: "a").evaluate("for (var end = Date.now() + 300; Date.now() < end;) {} 'done'").value()
    }
    #expect(value == "done")
  }

  @Test("an interruption stops the running script and those that wait")
  func interruption() async throws {
    let group = try ScriptGroup.make(limits: ScriptLimits(time: nil))
    let first = Task { try await group.perform { _ = try $0.makeContext(named: "a").evaluate("for (;;) {}") } }
    let second = Task { try await group.perform { _ = try $0.makeContext(named: "b").evaluate("for (;;) {}") } }
    group.interrupt()
    await #expect(throws: ScriptError.closed) { try await first.value }
    await #expect(throws: ScriptError.closed) { try await second.value }
    await group.endInterruption()
    #expect(try await group.perform { try $0.makeContext(named: "c").evaluate("1 + 1").value() } == 2)
  }

  @Test("a dropped group leaves no thread", .timeLimit(.minutes(5)))
  func threads() async throws {
    weak var last: ScriptGroup?
    var contexts: [WeakBox] = []
    for _ in 0..<20 {
      let group = try ScriptGroup.make()
      last = group
      let box = try await group.perform { group -> WeakBox in
        let made = try group.makeContext(named: "a")
        try made.evaluate("var keep = new Array(1000).fill({})")
        return WeakBox(made)
      }
      contexts.append(box)
    }
    // They end on their own threads, some time later.
    while last != nil || contexts.contains(where: { $0.value != nil }) || Self.threads("leak-probe") > 0 {
      await Task.yield()
    }
  }

  private static func threads(_ name: String) -> Int {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.count {
      (try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8))?.hasPrefix(name) == true
    }
  }
}

/// `@unchecked`, since the reference is only compared with `nil`.
private final class WeakBox: @unchecked Sendable {
  weak var value: ScriptContext?
  init(_ value: ScriptContext) { self.value = value }
}
