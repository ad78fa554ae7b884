import Foundation
import PageTesting
import TestSupport
import Testing

@testable import Blobs
@testable import Bundles
@testable import HTTPTransport

/// A process is killed after its first change of a file, after its second, and so on to the last. After each of these
/// ends exactly one release is live, whole, and the right one.
struct KillPointTests {
  @Test("activation: the former release or the new one is current, and whole")
  func activation() async throws {
    try await KillPoints.running(bundles: 4) { (points: KillPoints) async throws in
      try await points.release("r1", standing: .good)
      try points.publish("r2")
      let ends = try await points.killing(["preload"]) { (store: BundleStore) async throws in
        let current = try await points.wholeCurrent(of: store)
        #expect(["r1", "r2"].contains(current))
        return current
      }
      #expect(Set(ends.keys) == ["r1", "r2"], "\(ends)")
      try await points.finish(["preload"]) { (store: BundleStore) async throws in
        #expect(try await points.wholeCurrent(of: store) == "r2")
      }
    }
  }

  @Test("undo: the release on trial is current, or it is bad and the good one is current")
  func undo() async throws {
    try await KillPoints.running(bundles: 2) { (points: KillPoints) async throws in
      try await points.release("r1", standing: .good)
      try await points.release("r2")
      let opening = ["note", "open 1 a0.js cacheOnly", "try 1", "failed 1"]
      try await points.perform(opening)
      let ends = try await points.killing(opening) { (store: BundleStore) async throws in
        let current = try await points.wholeCurrent(of: store)
        let bad = try await store.badReleases(of: points.source)
        #expect(current == "r2" ? bad.isEmpty : current == "r1" && bad.map(\.name) == ["r2"], "\(current ?? "-")")
        return current
      }
      #expect(Set(ends.keys) == ["r1", "r2"], "\(ends)")
      // The next start finds an opening that was under way, and counts it once.
      try await points.finish(["note"]) { (store: BundleStore) async throws in
        let current = try await points.wholeCurrent(of: store)
        #expect(["r1", "r2"].contains(current))
      }
      try await points.finish(opening) { (store: BundleStore) async throws in
        #expect(try await points.wholeCurrent(of: store) == "r1")
      }
    }
  }

  @Test("trial: the release is good or on trial, and current")
  func trial() async throws {
    try await KillPoints.running(bundles: 2) { (points: KillPoints) async throws in
      try await points.release("r1", standing: .good)
      try await points.release("r2")
      let ends = try await points.killing(["open 1 a0.js cacheOnly", "try 1", "ready 1"]) {
        (store: BundleStore) async throws in
        let current = try #require(try await store.source(points.source)?.current)
        #expect(try await points.wholeCurrent(of: store) == "r2")
        return current.standing.rawValue
      }
      #expect(Set(ends.keys) == ["good", "trial"], "\(ends)")
    }
  }

  @Test("import: nothing is current, or the whole packaged release")
  func importing() async throws {
    try await KillPoints.running(bundles: 4) { (points: KillPoints) async throws in
      let release = try await points.release("r1")
      let path = points.fixture.folder.file("release.sqlar")
      _ = try await ReleaseArchive.write(release, of: points.fixture.store, to: path)
      try await points.fixture.origin.refuseConnections()
      try points.beginEmpty()
      let ends = try await points.killing(["import \(path)"]) { (store: BundleStore) async throws in
        let current = try await points.wholeCurrent(of: store)
        #expect(current == nil || current == "r1")
        return current ?? "none"
      }
      #expect(Set(ends.keys) == ["none", "r1"], "\(ends)")
      try await points.finish(["import \(path)"]) { (store: BundleStore) async throws in
        #expect(try await points.wholeCurrent(of: store) == "r1")
      }
    }
  }

  @Test("collection: what is current stays whole, whatever was removed")
  func collection() async throws {
    try await KillPoints.running(bundles: 3) { (points: KillPoints) async throws in
      for name in ["r1", "r2", "r3"] { try await points.release(name) }
      _ = try await points.killing(["collect"]) { (store: BundleStore) async throws in
        #expect(try await points.wholeCurrent(of: store) == "r3")
        return "\(try await store.releases(of: points.source).count)"
      }
      try await points.finish(["collect"]) { (store: BundleStore) async throws in
        #expect(try await store.releases(of: points.source).count == 1)
      }
    }
  }

  @Test("migration: a store of version 1 keeps its contents")
  func migration() async throws {
    try await KillPoints.running(bundles: 1) { (points: KillPoints) async throws in
      try points.begin(with: MigrationTests.formerStore())
      let ends = try await points.killing(["relaunch"]) { (store: BundleStore) async throws in
        let source = try #require(try await store.sources().first)
        let release = try #require(source.incoming)
        let blob = try #require(try await store.contents(of: release).first?.blob)
        try await store.check(blob)
        #expect(try await store.unlisted().map(\.usedAt) == [9])
        return release.name
      }
      #expect(ends.count == 1)
    }
  }
}
