import Bundles
import DiskStorage
import Foundation
import HTTPTransport
import PageTesting
import Signing
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
}
