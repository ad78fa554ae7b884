import Foundation
import HTTPTransport
import Releases
import Testing

@testable import Publishing

struct ReleaseDraftTests {
  /// 2026-11-26.
  private static let now = Date(timeIntervalSince1970: 1_795_700_000)

  private static func manifest(_ release: String, _ sequence: Int64, _ texts: String...) throws -> Manifest {
    Manifest(
      release: release, sequence: sequence,
      bundles: try texts.enumerated().map { index, text in
        let digests = try ContentDigests(of: Array(text.utf8))
        return Manifest.Entry(
          name: "b\(index)", path: "b\(index).js", size: digests.size, md5: digests.md5, sha256: digests.sha256)
      })
  }

  private static func reference(_ url: String) throws -> ManifestReference {
    ManifestReference(url: url, sha256: try SHA256Digest(of: Array(url.utf8)))
  }

  private static func draft(
    _ manifest: Manifest, own: Manifest? = nil, release: String? = nil, percent: Double? = nil, after current: Manifest?
  ) throws -> ReleaseDraft {
    var options = FolderPublication.Options()
    (options.release, options.percent) = (release, percent)
    let pointer = try current.map {
      ReleasePointer(
        current: .init(
          release: $0.release, sequence: $0.sequence, manifest: try reference("current"), publishedAt: ""))
    }
    return try ReleaseDraft(manifest, own: own, options: options, current: current, in: pointer, now: now)
  }

  @Test("the first release has the sequence 1 and the date as its name")
  func first() throws {
    let draft = try Self.draft(try Self.manifest("", 0, "x"), after: nil)
    #expect(draft.manifest.release == "2026.11.26-1" && draft.manifest.sequence == 1 && draft.isChanged)
  }

  @Test("changed contents are the next release, and unchanged ones the same")
  func next() throws {
    let current = try Self.manifest("r7", 7, "x")
    let changed = try Self.draft(try Self.manifest("r7", 7, "y"), after: current)
    #expect(changed.manifest.sequence == 8 && changed.manifest.release == "2026.11.26-8" && changed.isChanged)
    let same = try Self.draft(try Self.manifest("r7", 7, "x"), after: current)
    #expect(same.manifest.sequence == 7 && same.manifest.release == "r7" && !same.isChanged)
  }

  @Test("places and deltas of contents make no other release")
  func places() throws {
    var current = try Self.manifest("r7", 7, "x")
    current.blobs = "blobs/"
    current.bundles[0].blob = "x-1"
    current.bundles[0].deltas = [try SHA256Digest(of: []): 5]
    #expect(try !Self.draft(try Self.manifest("", 0, "x"), after: current).isChanged)
  }

  @Test("the folder's own manifest gives name and sequence if it lists the contents")
  func own() throws {
    let current = try Self.manifest("r7", 7, "x")
    let built = try Self.manifest("winter", 20, "y")
    let draft = try Self.draft(built, own: built, after: current)
    #expect(draft.manifest.release == "winter" && draft.manifest.sequence == 20)
    let stale = try Self.draft(try Self.manifest("winter", 20, "z"), own: built, after: current)
    #expect(stale.manifest.release == "2026.11.26-8" && stale.manifest.sequence == 8)
  }

  @Test("a new release is rolled out beside the one before, and then to more installs")
  func rollout() throws {
    let current = try Self.manifest("r7", 7, "x")
    let begun = try Self.draft(try Self.manifest("", 0, "y"), release: "r8", percent: 5, after: current).manifest
    #expect(begun.rollout == Rollout(percent: 5, salt: "r8"))
    #expect(begun.otherwise == (try Self.reference("current")))

    let more = try Self.draft(begun, percent: 50, after: begun)
    #expect(more.isChanged && more.manifest.release == "r8" && more.manifest.sequence == 8)
    #expect(more.manifest.rollout == Rollout(percent: 50, salt: "r8"))
    #expect(more.manifest.otherwise == begun.otherwise)

    let stays = try Self.draft(try Self.manifest("", 0, "y"), after: begun)
    #expect(!stays.isChanged && stays.manifest.rollout == begun.rollout)

    let over = try Self.draft(begun, percent: 100, after: begun)
    #expect(over.isChanged && over.manifest.rollout == nil && over.manifest.otherwise == nil)
  }

  @Test("a release after one that is rolled out to some leaves the others where they are")
  func rolloutAfterRollout() throws {
    var current = try Self.manifest("r7", 7, "x")
    current.rollout = Rollout(percent: 5, salt: "r7")
    current.otherwise = try Self.reference("r6")
    let next = try Self.draft(try Self.manifest("", 0, "y"), release: "r8", percent: 10, after: current).manifest
    #expect(next.otherwise == (try Self.reference("r6")))
    #expect(next.rollout?.salt == "r8")
    // Without a share it is for all.
    var folder = try Self.manifest("", 0, "y")
    folder.rollout = current.rollout
    let all = try Self.draft(folder, after: current).manifest
    #expect(all.rollout == nil)
  }

  @Test("a release for all installs is not rolled out afterwards")
  func late() throws {
    let current = try Self.manifest("r7", 7, "x")
    #expect(throws: PublishError.notRolledOut(release: "r7")) {
      try Self.draft(try Self.manifest("", 0, "x"), percent: 5, after: current)
    }
    #expect(throws: PublishError.firstRelease("2026.11.26-1")) {
      try Self.draft(try Self.manifest("", 0, "x"), percent: 5, after: nil)
    }
  }
}
