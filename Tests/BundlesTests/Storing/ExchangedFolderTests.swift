import Blobs
import Bundles
import Foundation
import HTTPTransport
import PageTesting
import Synchronization
import TestSupport
import Testing

/// A folder of an open store is exchanged for a symbolic link: nothing is read or written where that leads.
struct ExchangedFolderTests {
  @Test(
    "a store whose folder became a link reads nothing behind it, mends itself, and leaves what is there alone",
    arguments: ["blobs", "blobs/AB", "partial", "views", "quarantine"])
  func folders(_ name: String) async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.register(
      ["old", "new"].map { try StoreFixture.bundle($0, "content of \($0)") })
    let blob = try await fixture.add("content of old", to: release)
    let store = try fixture.reopened()
    _ = try await fixture.download("content of another", of: store)
    let folder = name.replacing("AB", with: blob.sha256.hex.prefix(2))
    let outside = try Outside(inPlaceOf: fixture.folder.file(folder))

    let isBehindLink = name.hasPrefix("blobs")
    #expect(try await store.contents(of: release).map { $0.blob == blob } == [!isBehindLink, false])
    if isBehindLink {
      await #expect(throws: BlobError.self) { try await store.bytes(of: blob) }
      #expect(!store.holdsFile(of: blob.sha256))
    }
    try await store.quarantine(blob)
    _ = store.leftovers()
    let lease = try await store.lease(release)
    for text in ["content of old", "content of new"] { try await fixture.add(text, to: release, of: store) }
    #expect(try await store.contents(of: release).allSatisfy { $0.blob != nil })
    #expect(try await store.bytes(of: blob).bytes == Array("content of old".utf8))
    #expect(try await store.activate(release))
    _ = try await store.collectGarbage(keepingPrevious: false, dryRun: false)
    #expect(try await store.contents(of: release).allSatisfy { $0.blob != nil })
    withExtendedLifetime(lease) {}
    try outside.expectUnchanged()
  }

  @Test("however often a folder and a link are exchanged, nothing is written to the link's target")
  func changingPlaces() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.register([StoreFixture.bundle("a", "text 0")])
    let outside = try TemporaryDirectory()
    let folders = ["partial", "blobs"].map { fixture.folder.file($0) }
    let isOver = Atomic(false)
    let exchanging = Thread {
      while !isOver.load(ordering: .relaxed) {
        for folder in folders {
          _ = rename(folder, folder + "-aside")
          symlink(outside.path, folder)
          sched_yield()
          unlink(folder)
          _ = rename(folder + "-aside", folder)
        }
      }
    }
    exchanging.start()
    defer { isOver.store(true, ordering: .relaxed) }
    for number in 0..<300 {
      // A failure is retried with the next release.
      _ = try? await fixture.add("text \(number)", to: release)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).isEmpty)
  }

  @Test("a folder is removed however deep it is, and links in it are not followed")
  func deepFolders() async throws {
    let fixture = try StoreFixture()
    let outside = try TemporaryDirectory()
    try Data("precious".utf8).write(to: URL(fileURLWithPath: outside.file("precious")))
    let intruder = fixture.folder.file("partial/intruder")
    let deep = intruder + String(repeating: "/inner", count: 300)
    try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: deep + "/link", withDestinationPath: outside.path)
    _ = try await fixture.store.collectGarbage(keepingPrevious: false, dryRun: false)
    #expect(try fixture.names(in: "partial").isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path) == ["precious"])
  }
}
