import PageTesting
import Releases
import Testing

@testable import Bundles

/// The signatures that a host keeps for others that get its releases from it.
struct SignatureKeepingTests {
  private static let scripts = ["a": "var a = 1"]

  @Test("signatures and all roots are kept as they came, with keys and without", arguments: [true, false])
  func keeping(_ requiresSignatures: Bool) async throws {
    try await SignedSource.running { site in
      try site.publish(site.nextRoot(release: 4), by: [0, 1])
      try site.publish(Self.scripts, by: [4])
      let host = try site.host(requiringSignatures: requiresSignatures, keeping: true)
      let release = try await host.verifier.verified().release
      #expect(try await host.store.signatures(of: release) == site.served("/manifest.json.sig"))
      #expect(
        try await host.store.roots(of: site.source) == [
          PublishedRoot(
            version: 2, bytes: site.served("/2.root.json"), signatures: site.served("/2.root.json.sig"))
        ])
      #expect((release.signed != nil) == requiresSignatures)
    }
  }

  @Test("a root that comes while the manifest stays as it is is kept too, and no root is fetched twice")
  func laterRoot() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      #expect(try await site.host(requiringSignatures: false, keeping: true).preload().activated)
      try site.publish(site.nextRoot(release: 3), by: [0, 1])
      for _ in 0..<2 {
        let host = try site.host(requiringSignatures: false, keeping: true)
        #expect(try await host.verifier.verified().isUnchanged)
        #expect(try await host.store.roots(of: site.source).map(\.version) == [2])
      }
      // Asked for by the first host, which did not find it, and by the second.
      #expect(site.origin.requestCount(path: "/2.root.json") == 2)
    }
  }

  @Test("a page that a web server has for every path is no root, and no signature")
  func pageForEveryPath() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      for path in ["/manifest.json.sig", "/2.root.json"] { site.origin.serve(path, Array("<html>".utf8)) }
      let host = try site.host(requiringSignatures: false, keeping: true)
      let release = try await host.verifier.verified().release
      #expect(try await host.store.signatures(of: release) == nil)
      #expect(try await host.store.roots(of: site.source).isEmpty)
    }
  }

  @Test("signatures of other bytes are not kept: the manifest is asked for again, then it counts as unsigned")
  func otherBytes() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      let former = site.served("/manifest.json.sig")
      #expect(try await site.host(requiringSignatures: false, keeping: true).preload().activated)
      try site.publish(["a": "var a = 2"], sequence: 2)
      let right = site.served("/manifest.json.sig")
      site.origin.serve("/manifest.json.sig", former)
      let host = try site.host(requiringSignatures: false, keeping: true)
      #expect(await host.preload().activated)
      let release = try #require(try await host.store.source(site.source)?.current)
      #expect(release.sequence == 2)
      #expect(try await host.store.signatures(of: release) == nil)
      #expect(site.origin.requestCount(path: "/manifest.json") == 3)
      // With the next check they are fetched again, although the manifest is the same.
      site.origin.serve("/manifest.json.sig", right)
      let later = try site.host(requiringSignatures: false, keeping: true)
      #expect(await later.preload().failures.isEmpty)
      #expect(try await later.store.signatures(of: release) == right)
    }
  }

  @Test(
    "without keys a preload succeeds whatever the server answers for signatures, roots and the status",
    arguments: [401, 403, 404, 500])
  func failingFiles(_ status: Int) async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      let file = site.served("/manifest.json.sig")
      let paths = ["/manifest.json.sig", "/2.root.json", "/status.json"]
      site.origin.always(paths[0], .status(status))
      let host = try site.host(requiringSignatures: false, keeping: true)
      #expect(await host.preload().activated)
      #expect(try await host.text("a") == "var a = 1")
      guard status != 404 else { return }
      site.origin.always(paths[0], .normal)
      for path in paths.dropFirst() { site.origin.always(path, .status(status)) }
      let later = try site.host(requiringSignatures: false, keeping: true)
      #expect(await later.preload().failures.isEmpty)
      let release = try #require(try await later.store.source(site.source)?.current)
      #expect(try await later.store.signatures(of: release) == file)
    }
  }

  @Test("a host that others do not ask sends no request for roots and signatures without keys")
  func noKeys() async throws {
    try await SignedSource.running { site in
      try site.publish(Self.scripts)
      #expect(try await site.host(requiringSignatures: false).preload().activated)
      #expect(site.origin.requestCount(path: "/manifest.json.sig") == 0)
      #expect(site.origin.requestCount(path: "/2.root.json") == 0)
    }
  }

  @Test("the trusted sequence outlives the releases of a source")
  func trustOutlivesReleases() async throws {
    try await SignedSource.running { site in
      try site.publish(["a": "var a = 2"], sequence: 2)
      #expect(try await site.host().preload().activated)
      let store = try site.host().store
      try await store.write { db in
        try db.execute(sql: "UPDATE source SET current = NULL, previous = NULL")
        try db.execute(sql: "DELETE FROM \"release\"")
      }
      _ = try await store.collectGarbage(keepingPrevious: false, dryRun: false)
      #expect(try await store.trustRecord(of: site.source).sequence == 2)
    }
  }
}
