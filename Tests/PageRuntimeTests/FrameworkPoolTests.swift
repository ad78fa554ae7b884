import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

struct FrameworkPoolTests {
  @Test func aGroupIsMadeReadyForTheNextPageAndKnowsNothingOfTheOneBefore() async throws {
    let pool = FrameworkPool()
    var modules = ModuleTable()
    modules.add("late", "method", .immediate { _ in .null })
    let first = try await pool.group(for: .vanilla, url: "a.js", modules: ModuleTable())
    while await pool.readyCount(.vanilla) == 0 { await Task.yield() }
    let second = try await pool.group(for: .vanilla, url: "b.js", modules: modules)
    #expect(first !== second)
    let outcome = try await second.open(
      FrameworkGroup.Opening(
        id: "1", source: "if (!weex.isRegisteredModule('late', 'method')) throw new Error('unknown')", url: "b.js",
        type: .vanilla, config: [:], data: [:], modules: modules))
    #expect(outcome.failure == nil)
  }

  @Test func aFrameworkThatDoesNotRunIsNamed() async throws {
    var configuration = FrameworkPool.Configuration()
    configuration.frameworks = [.vue: "var a = ;"]
    let pool = FrameworkPool(configuration)
    do {
      _ = try await pool.group(for: .vue, url: "a.js", modules: ModuleTable())
      Issue.record("it ran")
    } catch let error as PageError {
      #expect(error.description.contains("Vue framework"))
      #expect(error.description.contains("SyntaxError"))
    }
  }
}
