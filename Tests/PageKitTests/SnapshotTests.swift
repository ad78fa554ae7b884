import PageKit
import PageTesting
import TestSupport
import Testing

/// The elements of a page's last run, which are shown before its script has rendered.
struct SnapshotTests {
  /// A renderer that follows a page's events.
  private struct Renderer {
    var tree = ElementTree()
    /// The texts that it has shown, one after the other.
    var seen: [String] = []
    var commands: [RenderCommand] = []
    var snapshots = 0

    mutating func follow(_ event: PageEvent) throws {
      switch event {
      case .phase(.loading): tree = ElementTree()
      case .snapshot(let shown):
        tree = shown ?? ElementTree()
        if shown != nil { snapshots += 1 }
      case .renamed(let refs): tree = try tree.renaming(refs)
      case .commands(let list):
        commands += list
        for command in list { try tree.apply(command) }
      default: return
      }
      // Without the refs, which nobody sees.
      let text = tree.preorder(from: tree.root ?? "").map { "\($0.type) \($0.attributes)" }.joined(separator: "\n")
      if !text.isEmpty, seen.last != text { seen.append(text) }
    }
  }

  private static func running(
    _ source: String, _ change: @escaping @Sendable (inout HostConfiguration) -> Void = { _ in },
    _ body: @Sendable (PageSite, PageHost, String) async throws -> Void
  ) async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first", failing: source)
      let host = try site.host { configuration in
        configuration.pages.snapshot = .showLast
        change(&configuration)
      }
      _ = await host.preload().report()
      try await body(site, host, site.origin.url(for: "/b/one.js"))
      await host.shutDown()
    }
  }

  /// Opens a page, lets its elements be stored, and follows its events.
  private static func open(
    _ url: String, _ host: PageHost, options: PageOptions = PageOptions(), data: ScriptValue = [:]
  ) async throws -> Renderer {
    let page = try await host.open(url, options: options, data: data)
    await page.finishSnapshot()
    let tree = await page.tree
    await page.destroy()
    var renderer = Renderer()
    for await event in page.events { try renderer.follow(event) }
    #expect(renderer.tree == tree.withoutStates)
    return renderer
  }

  @Test(
    "the second opening shows the first one's elements at once, and changes only what differs",
    arguments: [false, true])
  func secondOpening(isRestarted: Bool) async throws {
    try await Self.running("var runs = 0; d0 = new Date().getTime()") {
      (site: PageSite, first: PageHost, url: String) async throws in
      var host = first
      let begun = try await Self.open(url, host)
      #expect(begun.snapshots == 0)
      #expect(begun.commands.contains { if case .createBody = $0 { true } else { false } })
      if isRestarted { host = try site.host { $0.pages.snapshot = .showLast } }
      let next = try await Self.open(url, host)
      #expect(next.snapshots == 1)
      // The elements are the same ones, so that there is nothing to change.
      #expect(next.commands.filter { if case .createFinish = $0 { false } else { true } } == [])
      #expect(next.seen.count == 1)
    }
  }

  @Test("elements that differ are changed in place")
  func changed() async throws {
    try await Self.running(
      "weex.config.bundleUrl += '/' + Math.random()"
    ) { (_: PageSite, host: PageHost, url: String) async throws in
      _ = try await Self.open(url, host)
      let next = try await Self.open(url, host)
      #expect(next.snapshots == 1)
      let changes = next.commands.filter { if case .createFinish = $0 { false } else { true } }
      guard changes.count == 1, case .updateAttributes? = changes.first else {
        return #expect(Bool(false), "\(changes)")
      }
      #expect(next.seen.count == 2)
    }
  }

  @Test("other data, options, users and bundles have no snapshot of this one")
  func others() async throws {
    try await Self.running("") { (site: PageSite, host: PageHost, url: String) async throws in
      _ = try await Self.open(url, host)
      #expect(try await Self.open(url, host, data: ["id": 1]).snapshots == 0)
      #expect(try await Self.open(url, host, data: ["id": 1]).snapshots == 1)
      #expect(try await Self.open(url, host, data: ["id": 2]).snapshots == 0)
      #expect(try await Self.open(url, host, options: PageOptions(config: ["a": 1])).snapshots == 0)
      var options = PageOptions()
      options.snapshot = SnapshotUse.none
      #expect(try await Self.open(url, host, options: options).snapshots == 0)
      #expect(try await Self.open(site.origin.url(for: "/b/two.js"), host).snapshots == 0)
      try await host.use(partition: .user("anna"))
      #expect(try await Self.open(url, host).snapshots == 0)
      #expect(try await Self.open(url, host).snapshots == 1)
      try await host.forget(partition: .user("anna"))
      #expect(try await Self.open(url, host).snapshots == 0)
      try site.publish("second")
      try await host.refresh()
      #expect(try await Self.open(url, host).snapshots == 0)
    }
  }

  @Test("events on a snapshot wait for the script's elements, and are errors where there is none")
  func events() async throws {
    try await Self.running("") { (_: PageSite, host: PageHost, url: String) async throws in
      _ = try await Self.open(url, host)
      let page = await host.page()
      let opening = Task { try await page.renderByURL(url) }
      var refs: [String] = []
      for await event in page.events {
        guard case .snapshot(let tree?) = event else { continue }
        refs = tree.elements.keys.sorted()
        break
      }
      #expect(!refs.isEmpty)
      // Both return, after the script has rendered.
      try await page.fireEvent(refs[0], "click")
      await #expect(throws: EventError.self) { try await page.fireEvent("an element that is gone", "click") }
      #expect(await page.snapshot == nil)
      #expect(await page.phase == .live)
      try await opening.value
      await page.destroy()
    }
  }

  @Test("a page that is closed drops its snapshot, and events that waited end")
  func closed() async throws {
    try await Self.running("") { (_: PageSite, host: PageHost, url: String) async throws in
      _ = try await Self.open(url, host)
      let page = await host.page()
      let opening = Task { try await page.renderByURL(url) }
      for await event in page.events {
        if case .snapshot = event { break }
      }
      let waiting = Task { try? await page.fireEvent("1", "click") }
      await page.destroy()
      _ = await opening.result
      await waiting.value
      #expect(await page.snapshot == nil)
    }
  }

  @Test("a page that is opened again while it opens shows the later opening's elements")
  func overtaken() async throws {
    try await Self.running("") { (site: PageSite, host: PageHost, url: String) async throws in
      let other = site.origin.url(for: "/b/two.js")
      for url in [url, other] { _ = try await Self.open(url, host) }
      for _ in 0..<20 {
        let page = await host.page()
        let first = Task { try await page.renderByURL(url) }
        let second = Task { @PageActor in
          while page.phase == .idle { await Task.yield() }
          try await page.renderByURL(other)
        }
        try await second.value
        _ = await first.result
        #expect(await page.tree.outline.contains("two.js"))
        #expect(await page.url?.text == other)
        await page.destroy()
      }
    }
  }

  @Test("a page that fails shows no snapshot any more")
  func failing() async throws {
    try await Self.running("if (weex.config.env.fails) throw 1") {
      (site: PageSite, host: PageHost, url: String) async throws in
      _ = try await Self.open(url, host)
      let other = try site.host { configuration in
        (configuration.pages.snapshot, configuration.releases.trial) = (.showLast, nil)
        configuration.pages.device = DefaultConfiguration(texts: ["fails": "yes"])
      }
      let page = await other.page()
      await #expect(throws: PageError.self) { try await page.renderByURL(url) }
      #expect(await page.snapshot == nil)
      await page.destroy()
      var renderer = Renderer()
      for await event in page.events { try renderer.follow(event) }
      #expect((renderer.snapshots, renderer.tree.count) == (1, 0))
      await other.shutDown()
    }
  }

  @Test("without the setting nothing is shown or stored")
  func off() async throws {
    try await Self.running("", { $0.pages.snapshot = .none }) {
      (site: PageSite, host: PageHost, url: String) async throws in
      for _ in 0..<2 { #expect(try await Self.open(url, host).snapshots == 0) }
      #expect(!Files.exists(site.folder.file("store/regions/snapshots")))
    }
  }
}
