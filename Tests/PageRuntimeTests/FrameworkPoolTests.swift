import PageTesting
import ScriptEngine
import Testing

@testable import PageRuntime

struct FrameworkPoolTests {
  private static func purpose(
    _ type: BundleType = .vanilla, url: String = "a.js", source: String = "", modules: ModuleTable = ModuleTable()
  ) -> FrameworkPool.Purpose {
    FrameworkPool.Purpose(type: type, url: url, source: source, modules: modules, components: ComponentTable())
  }

  @Test("a group is made ready for the next page, without traces of the page before")
  func readyGroup() async throws {
    let pool = FrameworkPool()
    var modules = ModuleTable()
    modules.add("late", "method", .immediate { _, _ in .null })
    let first = try await pool.group(for: Self.purpose())
    pool.opened(.vanilla)
    while await pool.readyCount(.vanilla) == 0 { await Task.yield() }
    let second = try await pool.group(for: Self.purpose(url: "b.js", modules: modules))
    #expect(first !== second)
    let outcome = try await second.open(
      "1",
      Self.purpose(
        url: "b.js", source: "if (!weex.isRegisteredModule('late', 'method')) throw new Error('unknown')",
        modules: modules))
    #expect(outcome.failure == nil)
  }

  @Test("a group is booted after the last of several openings")
  func bootsWhenQuiet() async throws {
    let pool = FrameworkPool()
    async let first = pool.refillWhenQuiet(.vanilla)
    async let second = pool.refillWhenQuiet(.vanilla)
    async let third = pool.refillWhenQuiet(.vanilla)
    #expect(await [first, second, third].count { $0 } == 1)
    while await pool.readyCount(.vanilla) == 0 { await Task.yield() }
  }

  @Test("groups that are not kept need not be sealed")
  func unsealedGroups() async throws {
    var configuration = ScriptConfiguration()
    configuration.kept = 0
    #expect(try await !FrameworkPool(configuration).group(for: Self.purpose()).isReusable)
  }

  @Test("a framework that fails is named")
  func failingFramework() async throws {
    var configuration = ScriptConfiguration()
    configuration.frameworks = [.vue: "var a = ;"]
    let pool = FrameworkPool(configuration)
    do {
      _ = try await pool.group(for: Self.purpose(.vue))
      Issue.record("it ran")
    } catch let error as PageError {
      #expect(error.description.contains("Vue framework"))
      #expect(error.description.contains("SyntaxError"))
    }
  }

  @Test("a group is kept for the same bundle only")
  func keptGroup() async throws {
    let pool = FrameworkPool()
    let first = try await pool.group(for: Self.purpose(source: "one"))
    await pool.keep(first, for: Self.purpose(source: "one"))
    let other = try await pool.group(for: Self.purpose(source: "two"))
    #expect(other !== first)
    let elsewhere = try await pool.group(for: Self.purpose(url: "b.js", source: "one"))
    #expect(elsewhere !== first)
    let again = try await pool.group(for: Self.purpose(source: "one"))
    #expect(again === first)
    #expect(await pool.keptCount == 0)
  }

  @Test("the least recently used group is dropped first")
  func eviction() async throws {
    var configuration = ScriptConfiguration()
    configuration.kept = 2
    let pool = FrameworkPool(configuration)
    var groups: [FrameworkGroup] = []
    for source in ["one", "two", "three"] {
      let group = try await pool.group(for: Self.purpose(source: source))
      groups.append(group)
      await pool.keep(group, for: Self.purpose(source: source))
    }
    #expect(await pool.keptCount == 2)
    let one = try await pool.group(for: Self.purpose(source: "one"))
    #expect(one !== groups[0])
    let three = try await pool.group(for: Self.purpose(source: "three"))
    #expect(three === groups[2])
  }

  @Test("a page has a place among those that open until its bundle has run")
  func openingPlace() async throws {
    try await PageFixture.running { fixture in
      let openings = fixture.environment.frameworks.openings
      fixture.registry.registerModule("openings") { module in
        module.immediate("count") { () in openings.counts.running }
      }
      let page = try await fixture.speakingPage("show(module('openings').count())")
      #expect(await page.shown == "1")
      #expect(openings.counts.running == 0)
      await page.destroy()
    }
  }

  @Test("groups of many pages at once take less memory each and run one page only")
  func manyPages() async throws {
    let pool = FrameworkPool()
    var groups: [FrameworkGroup] = []
    for number in 0..<FrameworkPool.fullGroups + 4 {
      groups.append(try await pool.group(for: Self.purpose(source: "\(number)")))
    }
    #expect(groups.prefix(FrameworkPool.fullGroups).allSatisfy { $0.isReusable })
    #expect(groups.dropFirst(FrameworkPool.fullGroups).allSatisfy { !$0.isReusable })
    let last = try #require(groups.last { !$0.isReusable })
    let outcome = try await last.open(
      "1", Self.purpose(source: "weex.document.createBody('div')"))
    #expect(outcome.failure == nil)
    await pool.keep(last, for: Self.purpose())
    #expect(await pool.keptCount == 0)
    // When the pages have ended, groups are made as before.
    groups = []
    await pool.releaseMemory()
    #expect(try await pool.group(for: Self.purpose()).isReusable)
  }

  @Test("groups that are booted at the same time count as groups with pages")
  func concurrentBoots() async throws {
    let pool = FrameworkPool()
    let groups = try await withThrowingTaskGroup(of: FrameworkGroup.self) { group in
      for number in 0..<FrameworkPool.fullGroups + 12 {
        group.addTask { try await pool.group(for: Self.purpose(source: "\(number)")) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(groups.count { $0.isReusable } <= FrameworkPool.fullGroups + 1)
  }
}
