import Foundation
import PageKit
import PageTesting
import Releases
import TestSupport
import Testing

/// Releases that are packaged with an app.
struct EmbeddedReleaseTests {
  /// Writes the site's release to an archive, by a store of its own.
  private static func pack(_ site: PageSite, as name: String = "pages.sqlar") async throws -> String {
    var configuration = try site.configuration()
    configuration.storage.directory = StoreDirectory(site.folder.file("packing"))
    configuration.releases.keepsSignatures = true
    let host = try PageHost(configuration)
    #expect(await host.preload().report().failures.isEmpty)
    let source = try #require(PageURL(site.origin.url(for: "/manifest.json")))
    let release = try #require(try await host.store.source(source)?.current)
    let path = site.folder.file(name)
    _ = try await ReleaseArchive.write(release, of: host.store, to: path)
    await host.shutDown()
    return path
  }

  @Test("the first start without network shows the packaged release", arguments: [false, true])
  func firstStart(isLaunched: Bool) async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("packed")
      let path = try await Self.pack(site)
      try await site.origin.refuseConnections()
      let configuration = try site.configuration { $0.releases.embedded = path }
      let host = isLaunched ? try PageHost.launch(configuration) : try PageHost(configuration)
      #expect(try await site.shown("one", host) == "packed one.js with its picture")
      await host.shutDown()
    }
  }

  @Test("the server's release takes the place of the packaged one")
  func update() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("packed")
      let path = try await Self.pack(site)
      try site.publish("newer")
      let host = try site.host { $0.releases.embedded = path }
      #expect(try await site.shown("one", host) == "newer one.js with its picture")
      await host.shutDown()
      // The next start does not go back.
      try await site.origin.refuseConnections()
      let next = try site.host { $0.releases.embedded = path }
      #expect(try await site.shown("one", next) == "newer one.js with its picture")
      await next.shutDown()
    }
  }

  @Test("a new app brings a release with a higher sequence")
  func newApp() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("first")
      let old = try await Self.pack(site)
      let manifest = try #require(PageURL(site.origin.url(for: "/manifest.json")))
      try site.publish("second", sequence: 2)
      let new = try await Self.pack(site, as: "new.sqlar")
      try await site.origin.refuseConnections()
      for (path, word) in [(old, "first"), (new, "second"), (old, "second")] {
        let host = try site.host { $0.releases.embedded = path }
        #expect(try await site.shown("one", host) == "\(word) one.js with its picture")
        #expect(try await host.store.source(manifest)?.current?.name == word)
        await host.shutDown()
      }
    }
  }

  @Test("a damaged archive, or none, is reported, and the server is asked")
  func damaged() async throws {
    try await PageSite.running { (site: PageSite) async throws in
      try site.publish("served")
      let path = site.folder.file("damaged.sqlar")
      try Files.write("no archive", to: path)
      for path in [path, site.folder.file("gone.sqlar")] {
        let log = LogLines()
        let host = try site.host {
          $0.releases.embedded = path
          $0.logger = log.logger
        }
        #expect(try await site.shown("one", host) == "served one.js with its picture")
        #expect(log.lines.contains { $0.contains("packaged with the app cannot be used: \(path)") })
        await host.shutDown()
      }
    }
  }

  @Test(
    "with keys, the packaged release needs signatures that held when it was packed, and no status",
    arguments: [true, false], [true, false])
  func signed(isSigned: Bool, hasOnlineRole: Bool) async throws {
    try await PageSite.running { (site: PageSite) async throws in
      let key = try SigningKey()
      var root = TrustRoot(
        version: 1, expires: SignedTime(seconds: 4_000_000_000),
        roles: [.root: ([key.verificationKey], 1), .release: ([key.verificationKey], 1)])
      if hasOnlineRole { root.roles[.online] = root.roles[.release] }
      let bytes = try site.publish("packed", signedAt: 1_600_000_000)
      if isSigned {
        var file = try SignatureFile(of: bytes, as: .manifest)
        file.add(try key.sign(bytes, as: .manifest))
        site.origin.serve("/manifest.json.sig", try file.encoded())
      }
      let path = try await Self.pack(site)
      try await site.origin.refuseConnections()
      let trust = ReleaseTrust(root)
      let host = try site.host {
        $0.releases.embedded = path
        $0.releases.trust = trust
        $0.pages.opening.policy = .networkFirst(deadline: .seconds(1))
      }
      // Its manifest has been expired for years.
      if isSigned {
        #expect(try await site.shown("one", host) == "packed one.js with its picture")
      } else {
        await #expect(throws: (any Error).self) { try await site.shown("one", host) }
      }
      await host.shutDown()
    }
  }
}
