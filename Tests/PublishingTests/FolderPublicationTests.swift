import Bundles
import Foundation
import HTTPTransport
import ObjectStorage
import Signing
import Synchronization
import TestSupport
import Testing

@testable import Publishing

struct FolderPublicationTests {
  @Test("a folder is published: contents by their digests, the manifest, and the pointer last")
  func published() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// home")
      try site.write("shop/cart.js", "// cart")
      try site.write("logo.png", "png")
      let order = Mutex<[String]>([])
      site.bucket.beforeWrite { key in order.withLock { $0.append(key) } }
      let report = try await site.publish("r1")
      #expect(report.uploaded == 3 && report.uploadedBytes == 17 && report.isChanged && report.former == nil)

      let pointer = try await site.pointer()
      #expect(pointer.current.release == "r1" && pointer.current.sequence == 1 && pointer.former.isEmpty)
      let manifest = try await site.manifest()
      #expect(manifest.bundles.map(\.name) == ["home", "shop/cart"] && manifest.files.map(\.name) == ["logo.png"])
      try await site.expectComplete()
      let written = order.withLock { $0.filter { !$0.hasSuffix("condition.check") } }
      #expect(Array(written.suffix(2)) == ["app/\(pointer.current.manifest.url)", "app/current.json"])
      let cached = try #require(site.bucket.objects["app/\(pointer.current.manifest.url)"])
      #expect(cached.fields[.cacheControl] == "public, max-age=31536000, immutable")
      #expect(site.bucket.objects["app/current.json"]?.fields[.cacheControl] == "no-cache")
    }
  }

  @Test("the next release uploads what has changed, with its delta")
  func changed() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      let text = (0..<400).map { "var x\($0) = \($0 * 7919 % 1000)\n" }.joined()
      try site.write("home.js", text)
      try site.write("cart.js", "// cart")
      try await site.publish("r1")
      try site.write("home.js", text + "// more")
      let report = try await site.publish("r2")
      #expect(report.uploaded == 1 && report.reused == 1 && report.deltas == 1 && report.former == "r1")
      #expect(report.deltaBytes < 200)
      let entry = try #require(try await site.manifest().bundles.first { $0.name == "home" })
      let former = try SHA256Digest(of: Array(text.utf8))
      let target = try #require(entry.sha256)
      #expect(entry.deltas[former] == report.deltaBytes)
      let path = "app/blobs/\(Manifest.deltaPath(to: target, from: former))"
      #expect(site.bucket[path].map { Int64($0.count) } == report.deltaBytes)
      try await site.expectComplete()

      let requests = site.bucket.origin.requests.count
      let again = try await site.publish()
      #expect(!again.isChanged && again.release == "r2" && again.uploaded == 0)
      // The check of conditions, the pointer, and two manifests.
      #expect(site.bucket.origin.requests.count - requests == 4)
    }
  }

  @Test("a publication that ended in the middle is taken up, and hosts see nothing of it")
  func interrupted() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      try await site.publish("r1")
      let before = site.bucket["app/current.json"]
      for name in ["a", "b", "c"] { try site.write("\(name).js", "// \(name)") }
      // The switch is not accepted.
      site.bucket.beforeWrite { [bucket = site.bucket] key in
        if key.hasSuffix(".manifest.json") { bucket.origin.always("/bucket/app/current.json", .status(500)) }
      }
      await #expect(throws: (any Error).self) { try await site.publish("r2") }
      #expect(site.bucket["app/current.json"] == before)
      site.bucket.beforeWrite(nil)
      site.bucket.origin.always("/bucket/app/current.json", .normal)
      let report = try await site.publish("r2")
      #expect(report.uploaded == 0 && report.found == 3)
      try await site.expectComplete()
    }
  }

  @Test("of two publishers at once one wins, and the other one is told")
  func overtaken() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      try await site.publish("r1")
      let state = try #require(try await site.releases.state())
      var other = state.pointer
      other.switchTo(
        .init(
          release: "theirs", sequence: 2, manifest: state.pointer.current.manifest, publishedAt: "2026-11-26T00:00:00Z")
      )
      let bytes = Array(try JSONEncoder().encode(other))
      site.bucket.beforeWrite { [bucket = site.bucket] key in
        if key.hasSuffix(".manifest.json") { bucket["app/current.json"] = bytes }
      }
      try site.write("home.js", "// 2")
      let error = await #expect(throws: PublishError.self) { try await site.publish("ours") }
      #expect(error == .overtaken(site.releases.pointerURL, by: "theirs"))
      #expect(site.bucket["app/current.json"] == bytes)
    }
  }

  @Test("a lost answer to the switch is no defeat")
  func lostAnswer() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      try await site.publish("r1")
      try site.write("home.js", "// 2")
      // The second attempt finds the tag of the first one.
      site.bucket.loseAnswer(to: "app/current.json")
      let report = try await site.publish("r2")
      #expect(report.release == "r2")
      #expect(try await site.pointer().current.release == "r2")
    }
  }

  @Test("a store without conditions is refused, unless there is only one publisher")
  func withoutConditions() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      site.bucket.setConditional(false)
      try site.write("home.js", "// 1")
      await #expect(throws: PublishError.noConditions(site.releases.store.location)) { try await site.publish("r1") }
      #expect(site.bucket.objects.isEmpty)
      try await site.publish("r1", isAlone: true)
      #expect(try await site.pointer().current.release == "r1")
    }
  }

  @Test("a file in the pointer's place that is none stays")
  func noPointer() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      site.bucket["app/current.json"] = Array("{\"bundles\": []}".utf8)
      let error = await #expect(throws: PublishError.self) { try await site.publish("r1") }
      #expect(error == .noPointer(site.releases.pointerURL, reason: "it has no \"current\" release"))
    }
  }

  @Test("a signed release has its signatures beside its manifest, and the roots of the folder")
  func signed() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      let key = try SigningKey()
      let root = TrustRoot(
        version: 1, expires: SignedTime(seconds: 1_900_000_000),
        roles: [.root: ([key.verificationKey], 1), .release: ([key.verificationKey], 1)])
      try site.write("1.root.json", String(decoding: try root.encoded(), as: UTF8.self))
      try site.write("manifest.json.sig", "{}")
      await #expect(throws: PublishError.signedFolder("\(site.folder.path)/manifest.json.sig")) {
        try await site.publish("r1")
      }
      try await site.publish("r1", sign: PublishingSite.signing(by: [key]))
      let reference = try await site.pointer().current.manifest
      let signatures = try SignatureFile(reading: try #require(site.bucket["app/\(reference.url).sig"]))
      #expect(signatures.content == reference.sha256)
      #expect(try site.bucket["app/1.root.json"] == root.encoded())
      #expect(try await site.manifest().bundles.map(\.name) == ["home"])
    }
  }

  @Test("a release can be gone back to, unless it is signed")
  func use() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      for number in 1...3 {
        try site.write("home.js", "// \(number)")
        try await site.publish("r\(number)")
      }
      #expect(try await site.releases.use("r1")?.release == "r3")
      #expect(try await site.pointer().releases.map(\.release) == ["r1", "r3", "r2"])
      #expect(try await site.releases.use("r1") == nil)
      await #expect(throws: PublishError.noRelease(site.releases.store.location, named: "r9")) {
        try await site.releases.use("r9")
      }
      try await site.expectComplete()
      // The next release is above all that were published.
      try site.write("home.js", "// 4")
      #expect(try await site.publish("r4").sequence == 4)
    }
  }
}
