import Foundation
import HTTPTransport
import Releases
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
      // The check of conditions, the pointer, two manifests, and two contents.
      #expect(site.bucket.origin.requests.count - requests == 6)
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

  @Test("an answer to the switch that says it failed is no defeat if the store has written it", arguments: [1, 4])
  func failedAnswer(_ failures: Int) async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      try await site.publish("r1")
      try site.write("home.js", "// 2")
      let bucket = site.bucket
      bucket.beforeWrite { key in
        guard key == "app/current.json" else { return }
        // What is written is of the first attempt; all its answers are lost.
        bucket.origin.script("/bucket/app/current.json", (1..<failures).map { _ in .status(500) })
        bucket.loseAnswer(to: key)
        bucket.beforeWrite(nil)
      }
      #expect(try await site.publish("r2").release == "r2")
      #expect(try await site.pointer().current.release == "r2")
    }
  }

  @Test("a publisher whose switch was answered with an error, and followed by another's, has published")
  func followedAnswer() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      try await site.publish("r1")
      site.bucket.advance(by: 2 * 86_400)
      try site.write("home.js", "// 2")
      let (bucket, releases) = (site.bucket, site.releases)
      bucket.loseAnswer(to: "app/current.json")
      let count = Mutex(0)
      bucket.beforeWrite { key in
        guard key == "app/current.json" else { return }
        let number = count.withLock { count in
          count += 1
          return count
        }
        guard number == 2 else { return }
        // Between the two attempts somebody gives up the release before.
        _ = try? await releases.collect(keeping: 0)
      }
      #expect(try await site.publish("r2").release == "r2")
      #expect(try await site.pointer().releases.map(\.release) == ["r2"])
    }
  }

  @Test("a pointer without a tag is not replaced, unless there is only one publisher")
  func withoutTags() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      site.bucket.setGivesTags(false)
      try site.write("home.js", "// 1")
      try await site.publish("r1")
      try site.write("home.js", "// 2")
      let before = site.bucket["app/current.json"]
      await #expect(throws: PublishError.noTag(site.releases.pointerURL)) { try await site.publish("r2") }
      #expect(site.bucket["app/current.json"] == before)
      try await site.publish("r2", isAlone: true)
      #expect(try await site.pointer().current.release == "r2")
    }
  }

  @Test(
    "a store that answers 200 and keeps nothing, or half, is noticed before the switch",
    arguments: [TestBucket.Loss.half, .all], [nil, ".manifest.json", "current.json"])
  func losingStore(_ loss: TestBucket.Loss, _ end: String?) async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      try await site.publish("r1")
      let before = site.bucket["app/current.json"]
      try site.write("home.js", "// 2")
      site.bucket.beforeWrite { [bucket = site.bucket] key in
        bucket.setLoss(end.map { key.hasSuffix($0) } ?? true ? loss : .none)
      }
      let error = await #expect(throws: PublishError.self) { try await site.publish("r2") }
      switch error {
      case .missing where loss == .all, .otherBytes where loss == .half: break
      default: Issue.record("\(error.map { "\($0)" } ?? "")")
      }
      if end != "current.json" { #expect(site.bucket["app/current.json"] == before) }
    }
  }

  @Test("contents that somebody has removed from the store are uploaded again, also for the same release")
  func removedContents() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      try site.write("cart.js", "// cart")
      try await site.publish("r1")
      func remove(_ name: String) async throws {
        let entry = try #require(try await site.manifest().bundles.first { $0.name == name })
        let digits = try #require(entry.sha256).hex
        site.bucket["app/blobs/\(entry.blob ?? digits)"] = nil
      }
      try await remove("cart")
      let again = try await site.publish()
      #expect(!again.isChanged && again.uploaded == 1 && again.reused == 1)
      try await site.expectComplete()

      try await remove("cart")
      try site.write("home.js", "// 2")
      let next = try await site.publish("r2")
      #expect(next.uploaded == 2 && next.reused == 0)
      try await site.expectComplete()
    }
  }

  @Test("a release whose manifest somebody has removed is published again, and a former one is given up")
  func removedManifests() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      for number in 1...2 {
        try site.write("home.js", "// \(number)")
        try await site.publish("r\(number)")
      }
      for release in try await site.pointer().releases { site.bucket["app/\(release.manifest.url)"] = nil }
      let report = try await site.publish("r3")
      #expect(report.isChanged && report.sequence == 3)
      #expect(try await site.pointer().releases.map(\.release) == ["r3"])
      try await site.expectComplete()
    }
  }

  @Test("a copy of a kept pointer that a killed publisher has left is brought up to date by the next command")
  func olderCopy() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      site.bucket.setConditional(false)
      let keeper = TestKeeper()
      let releases = PublishedReleases(site.releases.store, keeper: keeper.keeper, now: { site.bucket.now })
      func publish(_ release: String?) async throws -> FolderPublication.Report {
        var options = FolderPublication.Options()
        options.release = release
        return try await FolderPublication(site.folder.path, to: releases, options: options).publish()
      }
      try site.write("home.js", "// 1")
      _ = try await publish("r1")
      let older = try #require(site.bucket["app/current.json"])
      try site.write("home.js", "// 2")
      _ = try await publish("r2")
      let newer = try #require(site.bucket["app/current.json"])
      #expect(older != newer)
      // The first publisher's copy arrives last, and it ends before it looks again.
      site.bucket["app/current.json"] = older
      #expect(try await !publish(nil).isChanged)
      #expect(site.bucket["app/current.json"] == newer)
      site.bucket["app/current.json"] = nil
      #expect(try await releases.use("r1")?.release == "r2")
      #expect(site.bucket["app/current.json"] == keeper.bytes)
      // An answer of the keeper that is lost is no defeat either.
      keeper.loseAnswer()
      #expect(try await releases.use("r2")?.release == "r1")
      #expect(site.bucket["app/current.json"] == keeper.bytes)
      site.bucket.setLoss(.all)
      await #expect(throws: PublishError.otherCopy(releases.pointerURL)) { try await releases.use("r1") }
    }
  }

  @Test("private keys are not published, and copies of editors are left out")
  func unwantedFiles() async throws {
    try await PublishingSite.running { (site: PublishingSite) async throws in
      try site.write("home.js", "// 1")
      for name in ["home.js~", "cart.js.orig", "x.swp", "#home.js#", "shop/home.js~"] { try site.write(name, "<!") }
      try await site.publish("r1")
      let manifest = try await site.manifest()
      #expect(manifest.bundles.map(\.name) == ["home"] && manifest.files.isEmpty)
      let count = site.bucket.objects.count
      try site.write("shop/release.pem", try SigningKey().pem())
      let error = await #expect(throws: DescribedError.self) { try await site.publish("r2") }
      #expect(error?.description.contains("/shop/release.pem has a private key") == true)
      #expect(site.bucket.objects.count == count)
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

/// A keeper in memory.
private final class TestKeeper: Sendable {
  private struct State {
    var kept: (bytes: [UInt8], revision: UInt64)?
    var losesAnswer = false
  }

  struct Lost: Error {}

  private let state = Mutex(State())

  var bytes: [UInt8]? { state.withLock { $0.kept?.bytes } }
  func loseAnswer() { state.withLock { $0.losesAnswer = true } }

  var keeper: PointerKeeper { PointerKeeper(pointer: { self.state.withLock { $0.kept } }, replace: replace) }

  @Sendable private func replace(_ revision: UInt64?, with bytes: [UInt8]) async throws -> Bool {
    try state.withLock { state in
      guard state.kept?.revision == revision else { return false }
      state.kept = (bytes, (revision ?? 0) + 1)
      defer { state.losesAnswer = false }
      if state.losesAnswer { throw Lost() }
      return true
    }
  }
}
