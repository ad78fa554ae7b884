import Foundation
import PageTesting
import Testing

@testable import PageKit

/// Hosts whose store is read-only or held, and released memory.
struct StoreConditionTests {
  /// Makes the store's folder impossible to lock, for root too.
  private static func lockOut(_ site: PageSite) throws {
    let lock = site.folder.file("store/lock")
    try FileManager.default.removeItem(atPath: lock)
    try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false)
  }

  @Test("a host on a store that cannot be written shows stored pages and the server's, and keeps nothing")
  func readOnlyStore() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      _ = await (try site.host()).preload().report()
      try Self.lockOut(site)
      try await site.origin.refuseConnections()
      #expect(try await site.shown("one", try site.host()) == "first one.js with its picture")
      try await site.origin.acceptConnections()
      try site.publish("second")
      let host = try site.host()
      #expect(host.store.readOnlyReason != nil)
      #expect(try await site.shown("one", host).hasPrefix("second"))
      let report = await host.preload().report()
      #expect(report.failures.first?.error.contains("nothing would be kept") == true)
      try await site.origin.refuseConnections()
      #expect(try await site.shown("one", try site.host()) == "first one.js with its picture")
    }
  }

  @Test("responses and values of a folder that cannot be written are used, and new ones are gone with the host")
  func readOnlyResponses() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let data = ResourceRequest(site.origin.url(for: "/data"), behavior: .cacheFirst)
      func text(_ host: PageHost) async throws -> String {
        String(decoding: try await host.resources.response(for: data).body.collect(), as: UTF8.self)
      }
      site.origin.serve("/data", Array(String(repeating: "old", count: 5_000).utf8))
      let before = try site.host()
      _ = await before.preload().report()
      _ = try await text(before)
      try await before.pages.registry.snapshot().handlers.storage.setValue("kept", for: "key")
      try Self.lockOut(site)
      let lock = site.folder.file("store/responses.lock")
      try FileManager.default.removeItem(atPath: lock)
      try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false)
      site.origin.serve("/data", Array("new".utf8))
      for _ in 0..<2 {
        let host = try site.host()
        #expect(try await text(host).hasPrefix("old"))
        #expect(try await host.pages.registry.snapshot().handlers.storage.value(for: "key") == "kept")
        try await host.pages.registry.snapshot().handlers.storage.setValue("changed", for: "key")
        #expect(try await host.pages.registry.snapshot().handlers.storage.value(for: "key") == "changed")
        try await host.responses.removeAll()
        #expect(try await text(host) == "new")
      }
    }
  }

  @Test("pages of a held source open from the held release, online and offline, until it is followed again")
  func heldRelease() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      var host = try site.host()
      _ = await host.preload().report()
      let source = try #require(host.configuration.manifest)
      try await host.store.hold(try #require(try await host.store.source(source)?.current))
      try site.publish("second")
      host = try site.host()
      let report = await host.preload().report()
      #expect((report.activated, report.held, report.failures) == (false, "first", []))
      #expect(try await site.shown("one", host).hasPrefix("first"))
      try await site.origin.refuseConnections()
      #expect(try await site.shown("two", try site.host()).hasPrefix("first"))
      #expect(try await host.store.follow(source)?.name == "second")
      #expect(try await site.shown("one", try site.host()).hasPrefix("second"))
    }
  }

  @Test("after memory is released, everything is read from the disk again, and nothing is fetched")
  func releasedMemory() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      site.origin.serve("/data", Array("{}".utf8), headers: [.cacheControl: "max-age=600"])
      let host = try site.host()
      _ = await host.preload().report()
      let url = try #require(PageURL(site.origin.url(for: "/b/one.js")))
      let data = ResourceRequest(site.origin.url(for: "/data"))
      func sources() async throws -> [String] {
        let loaded = try await host.resources.response(for: data)
        _ = try await loaded.body.collect()
        return [try await host.bundles.load(url).source.rawValue, loaded.source.rawValue]
      }
      _ = try await sources()
      #expect(try await sources() == ["memory", "memory"])
      try await host.prerender(url.text)
      let requests = site.origin.requests.count
      await host.releaseMemory()
      #expect(try await host.responses.usage().memory.entries == 0)
      #expect(await host.prerenderer.count == 0)
      #expect(try await sources() == ["store", "disk"])
      #expect(site.origin.requests.count == requests)
      #expect(try await site.shown("one", host) == "first one.js with its picture")
    }
  }

  @Test("an app without a store of its own is told where data of the shared one is, if there is any")
  func movedStore() throws {
    let folder = try TemporaryDirectory()
    let environment = ["HOME": folder.path]
    let (shared, own) = (
      StoreDirectory.standard(environment: environment), StoreDirectory.app("x", environment: environment)
    )
    func notice(_ store: StoreDirectory) -> String? {
      HostConfiguration(store: store).movedStore(from: shared, to: own)
    }
    #expect(notice(own) == nil)
    _ = try BundleStore(at: shared)
    let told = try #require(notice(own))
    #expect(told.contains(shared.path) && told.contains(own.path))
    #expect(notice(shared) == nil && notice(StoreDirectory(folder.file("other"))) == nil)
    _ = try BundleStore(at: own)
    #expect(notice(own) == nil)
  }
}
