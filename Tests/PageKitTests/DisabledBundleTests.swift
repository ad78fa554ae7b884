import Foundation
import PageKit
import PageTesting
import Releases
import Testing

/// Pages whose bundles their publisher has disabled.
struct DisabledBundleTests {
  /// A publisher with one key for all roles.
  private struct Publisher {
    let key: SigningKey
    let root: TrustRoot

    init() throws {
      key = try SigningKey()
      let keys = ([key.verificationKey], 1)
      root = TrustRoot(
        version: 1, expires: SignedTime.now.advanced(by: .seconds(86_400)),
        roles: [.root: keys, .release: keys, .online: keys])
    }

    func publish(_ manifest: [UInt8], on site: PageSite) throws {
      site.origin.serve("/manifest.json.sig", try signatures(of: manifest, as: .manifest))
    }

    func status(
      _ sequence: Int64, of manifest: [UInt8], disabled: [ReleaseStatus.Disabled] = [], on site: PageSite
    ) throws {
      let read = try Manifest(reading: manifest)
      let status = try ReleaseStatus(
        sequence: sequence, signed: .now, expires: SignedTime.now.advanced(by: .seconds(3600)),
        release: .init(name: read.release, sequence: read.sequence, sha256: ContentDigests(of: manifest).sha256),
        disabled: disabled
      ).encoded()
      site.origin.serve("/status.json.sig", try signatures(of: status, as: .status))
      site.origin.serve("/status.json", status, etag: "\"\(sequence)\"")
    }

    private func signatures(of bytes: [UInt8], as kind: SignedKind) throws -> [UInt8] {
      var file = try SignatureFile(of: bytes, as: kind)
      file.add(try key.sign(bytes, as: kind))
      return try file.encoded()
    }
  }

  private static func running(_ body: (PageSite, Publisher, [UInt8]) async throws -> Void) async throws {
    try await PageSite.running { (site: PageSite) async throws in
      let publisher = try Publisher()
      let manifest = try site.publish("first", signedAt: Int64(Date().timeIntervalSince1970))
      try publisher.publish(manifest, on: site)
      try publisher.status(1, of: manifest, on: site)
      try await body(site, publisher, manifest)
    }
  }

  private static let off = [ReleaseStatus.Disabled(bundle: "one", message: "Back at noon.")]

  @Test("the fallback of a page whose bundle is disabled gets the publisher's text, and other pages open")
  func fallback() async throws {
    try await Self.running { site, publisher, manifest in
      try publisher.status(2, of: manifest, disabled: Self.off, on: site)
      let root = publisher.root
      let host = try site.host {
        $0.releases.trust = ReleaseTrust(root)
        $0.pages.fallback = { _, reason in
          guard case .bundle(BundleError.disabled(_, let message)) = reason else { return nil }
          return .placeholder(message)
        }
      }
      let page = try await host.open(site.origin.url(for: "/b/one.js"))
      #expect(await page.phase == .failed)
      #expect(await page.shownFallback?.fallback == .placeholder("Back at noon."))
      #expect(try await site.shown("two", host).hasPrefix("first two.js"))
      await page.destroy()
    }
  }

  @Test("a page that was rendered ahead is not shown when its bundle was disabled meanwhile")
  func renderedAhead() async throws {
    try await Self.running { site, publisher, manifest in
      let root = publisher.root
      let host = try site.host { $0.releases.trust = ReleaseTrust(root) }
      let url = site.origin.url(for: "/b/one.js")
      try await host.prerender(url)
      try publisher.status(2, of: manifest, disabled: Self.off, on: site)
      // As a preload that listens does; a new launch drops such pages anyway.
      _ = try await host.verifier?.refresh()
      #expect(await host.prerenderer.count == 1)
      let error = await #expect(throws: PageError.self) { try await host.open(url) }
      #expect("\(error.map { "\($0)" } ?? "")".contains("is disabled by its publisher: Back at noon."))
    }
  }
}
