import Blobs
import Bundles
import Foundation
import HTTPTransport
import PageKit
import PageTesting
import Releases
import TestSupport
import Testing

@testable import RenderHost

/// A host that gets signed releases from another server, and gives them to others.
struct SignedRelayTests {
  private let directory: TemporaryDirectory
  private let upstream: SignedUpstream

  init() throws {
    directory = try TemporaryDirectory()
    upstream = try SignedUpstream()
    try upstream.writeRoot(to: directory.file("1.root.json"))
  }

  /// A host that gets its releases from an origin.
  private func relaying(
    _ url: String, in folder: String, checking: Bool = false,
    _ body: @escaping @Sendable (ServingFixture) async throws -> Void
  ) async throws {
    let manifest = try #require(PageURL(url))
    let (root, store) = (directory.file("1.root.json"), directory.file(folder))
    try await ServingFixture.running(
      directory,
      {
        $0.manifest = manifest
        $0.follow = .milliseconds(50)
        $0.store = StoreDirectory(store)
        if checking { $0.root = root }
      }, body)
  }

  @Test(
    "a signed manifest, its signatures, its roots and what it lists pass through as they came, to a host with keys",
    arguments: ["cdn/v1/", "bundles/v1/", ""], [true, false])
  func passingThrough(_ base: String, _ checking: Bool) async throws {
    try await FaultOrigin.running { origin in
      var sent = try upstream.publish("// one", sequence: 7, base: base, on: origin)
      let url = origin.url(for: "/manifest.json")
      for version: Int64 in [2, 3] { sent.merge(try upstream.publishRoot(version, on: origin)) { $1 } }
      try await relaying(url, in: "relay", checking: checking) { [sent] (relay: ServingFixture) async throws in
        for (path, bytes) in sent { #expect(try await relay.get(path).body == bytes, "\(path)") }
        #expect(try await relay.get("/\(base)home.js").text == "// one")
        #expect(try await relay.get("/bundles/home.js").text == "// one")
        for path in ["/\(base)absent.js", "/1.root.json", "/4.root.json"] {
          #expect(try await relay.get(path).status == 404, "\(path)")
        }
        let url = "http://127.0.0.1:\(relay.port)/manifest.json"
        try await relaying(url, in: "end", checking: true) { (end: ServingFixture) async throws in
          #expect(try await end.get("/bundles/home.js").text == "// one")
          #expect(try await end.get("/manifest.json").body == sent["/manifest.json"])
        }
      }
      try await origin.refuseConnections()
      try await relaying(url, in: "relay", checking: checking) { [sent] (relay: ServingFixture) async throws in
        for (path, bytes) in sent { #expect(try await relay.get(path).body == bytes, "\(path)") }
      }
    }
  }

  @Test("a root that comes later is passed on without a new release")
  func laterRoot() async throws {
    try await FaultOrigin.running { origin in
      try upstream.publish("// one", sequence: 1, on: origin)
      try await relaying(origin.url(for: "/manifest.json"), in: "relay") { (relay: ServingFixture) async throws in
        #expect(try await relay.get("/2.root.json").status == 404)
        try upstream.publishRoot(2, on: origin)
        try await relay.wait { $0.current?.signed?.roots.count == 1 }
        #expect(try await relay.get("/2.root.json").status == 200)
        #expect(relay.feed.history.count == 1)
      }
    }
  }

  @Test("a manifest that is signed anew is passed on without a new release")
  func signedAnew() async throws {
    try await FaultOrigin.running { origin in
      try upstream.publish("// one", sequence: 1, on: origin)
      try await relaying(origin.url(for: "/manifest.json"), in: "relay") { (relay: ServingFixture) async throws in
        let sent = try upstream.publish("// one", sequence: 1, for: .seconds(7200), on: origin)
        let manifest = sent["/manifest.json"]
        try await relay.wait { $0.current?.signed?.manifest == manifest }
        for (path, bytes) in sent { #expect(try await relay.get(path).body == bytes, "\(path)") }
        #expect(relay.feed.history.count == 1)
      }
    }
  }

  @Test("a manifest without signatures is written anew, and its paths are below /bundles/ only")
  func unsigned() async throws {
    try await FaultOrigin.running { origin in
      try upstream.publish("// one", sequence: 1, on: origin)
      origin.remove("/manifest.json.sig")
      try await relaying(origin.url(for: "/manifest.json"), in: "relay") { (relay: ServingFixture) async throws in
        #expect(try await relay.manifest().base == "bundles/")
        for path in ["/cdn/1/home.js", "/manifest.json.sig"] {
          let answer = try await relay.get(path)
          #expect(answer.status == 404 && !answer.text.contains("release"), "\(answer.text)")
        }
        try await origin.waitForRequests(origin.requestCount(path: "/manifest.json") + 2, to: "/manifest.json")
        #expect(origin.requestCount(path: "/2.root.json") == 0)
      }
    }
  }

  @Test("a status passes through as it came, and another one is an event and no new release", arguments: [true, false])
  func status(_ checking: Bool) async throws {
    try await FaultOrigin.running { origin in
      try Data(try upstream.onlineRoot.encoded()).write(to: URL(fileURLWithPath: directory.file("1.root.json")))
      let manifest = try #require(try upstream.publish("// one", sequence: 1, on: origin)["/manifest.json"])
      let first = try upstream.publishStatus(1, of: manifest, on: origin)
      let url = origin.url(for: "/manifest.json")
      try await relaying(url, in: "relay", checking: checking) { (relay: ServingFixture) async throws in
        for (path, bytes) in first { #expect(try await relay.get(path).body == bytes, "\(path)") }
        #expect(relay.feed.history.map(\.status) == [1])
        let second = try upstream.publishStatus(2, of: manifest, disabling: ["home"], on: origin)
        try await relay.wait { $0.current?.statusSequence == 2 }
        for (path, bytes) in second { #expect(try await relay.get(path).body == bytes, "\(path)") }
        #expect(relay.feed.history.map(\.status) == [1, 2])
        #expect(relay.feed.history.map(\.isStatus) == [false, true])
        let seen = try #require(relay.feed.history.first?.id)
        #expect(relay.feed.events(after: ReleaseEvent.ID("\(seen)")).map(\.status) == [2])
        let newest = try #require(relay.feed.history.last?.id)
        #expect(relay.feed.events(after: newest).isEmpty)
        // A host behind it that asks for the status gets the release.
        let behind = "http://127.0.0.1:\(relay.port)/manifest.json"
        try await relaying(behind, in: "end", checking: true) { (end: ServingFixture) async throws in
          #expect(try await end.get("/status.json").body == second["/status.json"])
        }
      }
      try await origin.refuseConnections()
      try await relaying(url, in: "relay", checking: checking) { (relay: ServingFixture) async throws in
        #expect(relay.feed.history.map(\.status) == [2])
      }
    }
  }

  @Test("a halted release passes through to the hosts behind, which do not switch to it")
  func halted() async throws {
    try await FaultOrigin.running { origin in
      try Data(try upstream.onlineRoot.encoded()).write(to: URL(fileURLWithPath: directory.file("1.root.json")))
      let first = try #require(try upstream.publish("// one", sequence: 1, on: origin)["/manifest.json"])
      try upstream.publishStatus(1, of: first, on: origin)
      try await relaying(origin.url(for: "/manifest.json"), in: "relay", checking: true) {
        (relay: ServingFixture) async throws in
        let host = "http://127.0.0.1:\(relay.port)"
        var configuration = try HostConfiguration(
          manifest: "\(host)/manifest.json", store: StoreDirectory(directory.file("end")))
        configuration.releases.trust = ReleaseTrust(upstream.onlineRoot)
        let end = try PageHost(configuration)
        #expect(await end.preload().report().activated)
        let second = try #require(try upstream.publish("// two", sequence: 2, on: origin)["/manifest.json"])
        try upstream.publishStatus(2, of: second, isHalted: true, on: origin)
        try await relay.waitForRelease("home.js", "// two")
        try await relay.wait { $0.current?.statusSequence == 2 }
        await end.relaunch()
        let report = await end.preload().report()
        #expect(report.failures.isEmpty && !report.activated, "\(report.failures)")
        let source = try await end.store.source(try #require(configuration.manifest))
        #expect(source?.current?.sequence == 1 && source?.incoming?.sequence == 2)
        await end.shutDown()
      }
    }
  }

  @Test("a host that listens refuses a bundle as soon as the server announces the status which disables it")
  func listening() async throws {
    try await FaultOrigin.running { origin in
      let manifest = try #require(try upstream.publish("// one", sequence: 1, on: origin)["/manifest.json"])
      try upstream.publishStatus(1, of: manifest, on: origin)
      try await relaying(origin.url(for: "/manifest.json"), in: "relay") { (relay: ServingFixture) async throws in
        let host = "http://127.0.0.1:\(relay.port)"
        var configuration = try HostConfiguration(
          manifest: "\(host)/manifest.json", store: StoreDirectory(directory.file("end")))
        configuration.releases.trust = ReleaseTrust(upstream.onlineRoot)
        configuration.releases.preloadSchedule.events = PageURL("\(host)/releases/events")
        let end = try PageHost.launch(configuration)
        let page = try #require(PageURL("\(host)/cdn/1/home.js"))
        func known() async throws -> Int64? {
          try await end.store.trustRecord(of: try #require(configuration.manifest)).statusSequence
        }
        try await eventually("the first status") { try await known() == 1 }
        try await eventually("a listener") { relay.feed.subscriberCount == 1 }
        try upstream.publishStatus(2, of: manifest, disabling: ["home"], on: origin)
        try await eventually("the second status") { try await known() == 2 }
        let error = await #expect(throws: BundleError.self) { try await end.bundles.load(page) }
        #expect("\(error.map { "\($0)" } ?? "")".contains("Back at noon."))
        end.preloading?.cancel()
        _ = await end.preloading?.report()
      }
    }
  }

  @Test("an upstream without a status has none here either, also after it had one")
  func removedStatus() async throws {
    try await FaultOrigin.running { origin in
      let manifest = try #require(try upstream.publish("// one", sequence: 1, on: origin)["/manifest.json"])
      try upstream.publishStatus(1, of: manifest, on: origin)
      try await relaying(origin.url(for: "/manifest.json"), in: "relay") { (relay: ServingFixture) async throws in
        #expect(try await relay.get("/status.json").status == 200)
        origin.remove("/status.json")
        try await relay.wait { $0.current?.statusSequence == nil }
        #expect(try await relay.get("/status.json").status == 404)
      }
    }
  }
}
