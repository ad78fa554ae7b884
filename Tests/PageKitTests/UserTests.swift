import Foundation
import PageKit
import PageTesting
import Testing

/// One user after the other on the same host.
struct UserTests {
  private static let ann = CachePartition.user("ann")
  private static let bob = CachePartition.user("bob")

  /// Serves the name in the session's cookie; without a cookie nothing.
  private static func serveProfile(_ site: PageSite) {
    site.origin.serve("/profile", Array("public".utf8), headers: [.cacheControl: "max-age=600"])
  }

  private static func text(_ host: PageHost, _ url: String, _ behavior: LoadBehavior? = nil) async throws -> String {
    let loaded = try await host.resources.response(for: ResourceRequest(url, behavior: behavior))
    return String(decoding: try await loaded.body.collect(), as: UTF8.self)
  }

  /// Runs a script with the module `storage`, and returns the text that the page shows.
  private static func run(_ script: String, _ host: PageHost, on page: PageInstance? = nil) async throws -> String {
    let shown = if let page { page } else { await host.page() }
    try await shown.render(
      """
      // { "framework": "Vanilla" }
      var d = weex.document, b = d.createBody('div'), t = d.createElement('text')
      d.documentElement.appendChild(b); b.appendChild(t)
      var storage = weex.requireModule('storage')
      function show(r) { t.setAttr('value', r.result === 'success' ? '' + r.data : 'nothing') }
      \(script)
      """)
    await shown.settle(within: .seconds(60))
    let values = await shown.tree.elements.values.compactMap { $0.attributes["value"]?.string }
    if page == nil { await shown.destroy() }
    return values.joined()
  }

  @Test("responses that are stored for one user do not answer another, and are there when the first comes back")
  func responses() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      Self.serveProfile(site)
      let host = try site.host()
      let url = site.origin.url(for: "/profile")
      try await host.use(partition: Self.ann)
      site.origin.serve("/profile", Array("ann's".utf8), headers: [.cacheControl: "max-age=600"])
      #expect(try await Self.text(host, url) == "ann's")
      try await host.use(partition: Self.bob)
      site.origin.serve("/profile", Array("bob's".utf8), headers: [.cacheControl: "max-age=600"])
      #expect(try await Self.text(host, url) == "bob's")
      try await host.use(partition: Self.ann)
      #expect(try await Self.text(host, url) == "ann's")
      #expect(site.origin.requestCount(path: "/profile") == 2)
    }
  }

  @Test("each user has cookies of their own, which are there for the next host too")
  func cookies() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      let url = site.origin.url(for: "/login")
      func logIn(_ name: String, _ host: PageHost) async throws {
        site.origin.serve("/login", [], headers: [.setCookie: "session=\(name); Max-Age=600"])
        _ = try await Self.text(host, url, .networkOnly)
      }
      func sent(_ host: PageHost) async throws -> String? {
        _ = try await Self.text(host, site.origin.url(for: "/any"), .networkOnly)
        return site.origin.requests(to: "/any").last?.headers[.cookie]
      }
      let host = try site.host()
      try await host.use(partition: Self.ann)
      try await logIn("ann", host)
      try await host.use(partition: Self.bob)
      #expect(try await sent(host) == nil)
      try await logIn("bob", host)
      try await host.use(partition: Self.ann)
      #expect(try await sent(host) == "session=ann")
      for partition in [Self.ann, Self.bob] {
        try await host.use(partition: partition)
        try (host.cookies as? CookieJar)?.flush()
      }
      let next = try site.host { $0.resources.partition = Self.bob }
      #expect(try await sent(next) == "session=bob")
    }
  }

  @Test("pages' storage is the user's, and an open page stays with the user that it was opened for")
  func storage() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      let host = try site.host()
      try await host.use(partition: Self.ann)
      let anns = await host.page()
      _ = try await Self.run("storage.setItem('name', 'ann', function () {})", host)
      try await host.use(partition: Self.bob)
      #expect(try await Self.run("storage.getItem('name', show)", host) == "nothing")
      #expect(try await Self.run("storage.length(show)", host) == "0")
      #expect(try await Self.run("storage.getItem('name', show)", host, on: anns) == "ann")
      await anns.destroy()
      try await host.use(partition: Self.ann)
      #expect(try await Self.run("storage.getItem('name', show)", host) == "ann")
    }
  }

  @Test("a prerendered page is not shown to another user")
  func prerenderedPages() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let host = try site.host()
      let url = site.origin.url(for: "/b/one.js")
      try await host.prerender(url)
      try await host.use(partition: Self.bob)
      #expect(await host.prerenderer.count == 0)
      let page = try await host.open(url)
      #expect(await page.partition == Self.bob)
      await page.destroy()
    }
  }

  @Test(
    "a forgotten user's responses, also kept ones, regions, cookies and storage are removed, and those of others stay")
  func forgetting() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      let url = site.origin.url(for: "/profile")
      var hosts: [PageHost] = []
      for partition in [Self.ann, Self.bob] {
        let host = try site.host { $0.resources.partition = partition }
        hosts.append(host)
        Self.serveProfile(site)
        #expect(try await Self.text(host, url) == "public")
        try await host.resources.cache.keep(CacheKey(try #require(PageURL(url)), in: partition))
        _ = try await Self.run("storage.setItem('name', 'x', function () {})", host)
        site.origin.serve("/login", [], headers: [.setCookie: "session=1; Max-Age=600"])
        _ = try await Self.text(host, site.origin.url(for: "/login"), .networkOnly)
        try (host.cookies as? CookieJar)?.flush()
      }
      // Another process, which has not opened the region.
      let host = try site.host { $0.resources.partition = Self.bob }
      try await host.forget(partition: Self.ann)
      let stored = try await host.responses.store.list()
      #expect(Set(stored.map(\.key.partition)) == [Self.bob])
      #expect(try await Self.run("storage.getItem('name', show)", host) == "x")
      try await host.use(partition: Self.ann)
      #expect(try await Self.run("storage.getItem('name', show)", host) == "nothing")
      let page = try #require(PageURL(url))
      #expect(host.cookies.cookieHeader(for: page) == nil)
      #expect(try PartitionFiles.contents(site, "cookies").filter { $0.contains("session") }.count == 1)
    }
  }

  @Test("a forgotten user is removed from regions that were not opened since")
  func closedRegions() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      let now = HTTPDate(secondsSinceEpoch: 1_800_000_000)
      let region = try (try site.host()).responses.region("a/b c")
      for partition in [Self.ann, Self.bob] {
        try await region.keep(CacheKey(named: "key", in: partition))
        _ = await region.store([1], forKey: "key", in: partition, at: now)
      }
      let host = try site.host()
      try await host.forget(partition: Self.ann)
      let left = try await host.responses.region("a/b c").store.list()
      #expect(left.map(\.key.partition) == [Self.bob])
    }
  }

  @Test("an answer that was requested before its user was forgotten is not stored afterwards")
  func requestsUnderWay() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      Self.serveProfile(site)
      let host = try site.host()
      let url = site.origin.url(for: "/profile")
      try await host.use(partition: Self.ann)
      site.origin.hold("/profile")
      let under = Task { try await Self.text(host, url) }
      try await site.origin.waitForRequests(1, to: "/profile")
      try await host.forget(partition: Self.ann)
      site.origin.release("/profile")
      #expect(try await under.value == "public")
      await #expect(throws: LoadError.self) { try await Self.text(host, url, .cacheOnly) }
    }
  }
}

private enum PartitionFiles {
  static func contents(_ site: PageSite, _ prefix: String) throws -> [String] {
    let folder = site.folder.file("store")
    return try FileManager.default.contentsOfDirectory(atPath: folder).filter {
      $0.hasPrefix(prefix) && $0.hasSuffix(".txt")
    }.map { try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8) }
  }
}
