import Blobs
import Bundles
import HTTPTransport
import TestSupport
import Testing

struct BlobTests {
  @Test("another process reads the added bytes")
  func otherProcess() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "content of a"])
    let other = try fixture.reopened()
    let blob = try #require(try await other.contents(of: release).first?.blob)
    #expect(try await other.bytes(of: blob).bytes == Array("content of a".utf8))
  }

  @Test func aBlobsFileIsReadOnlyAndNamedByItsDigest() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.register([StoreFixture.bundle("a", "A")])
    let blob = try await fixture.add("A", to: release)
    #expect(blob.sha256 == (try ContentDigests(of: Array("A".utf8))).sha256)
    #expect(try Damage.permissions(fixture.path(of: blob)) == 0o444)
  }

  @Test func bytesAreReadFromDiskOnceAndThenFromMemory() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.register([StoreFixture.bundle("a", "A")])
    let blob = try await fixture.add("A", to: release)
    #expect(try await fixture.store.bytes(of: blob).isFromMemory == false)
    #expect(try await fixture.store.bytes(of: blob).isFromMemory)
  }

  @Test("a flipped bit is detected when the bytes are read")
  func flippedBit() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "content"])
    let blob = try #require(try await fixture.store.contents(of: release).first?.blob)
    try Damage.flipBit(fixture.path(of: blob))
    await #expect(throws: BlobError.self) { try await fixture.store.bytes(of: blob) }
  }

  @Test("a modified file is detected without being opened")
  func modifiedFile() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "content", "b": "other"])
    let blob = try #require(try await fixture.store.contents(of: release).first?.blob)
    try Damage.overwrite(fixture.path(of: blob), with: "tampered")
    let contents = try await fixture.store.contents(of: release)
    #expect(contents.map { $0.blob != nil } == [false, true])
  }

  @Test("a file that was restored with the same bytes is accepted")
  func restoredFile() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "content"])
    let blob = try #require(try await fixture.store.contents(of: release).first?.blob)
    try Damage.overwrite(fixture.path(of: blob), with: "content")
    #expect(try await fixture.store.contents(of: release).first?.blob == blob)
  }

  @Test("a removed file is reported as missing")
  func removedFile() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "content"])
    let blob = try #require(try await fixture.store.contents(of: release).first?.blob)
    try Damage.remove(fixture.path(of: blob))
    #expect(try await fixture.store.contents(of: release).first?.blob == nil)
    await #expect(throws: BlobError.self) { try await fixture.store.check(blob) }
  }

  @Test("a quarantined blob is moved away and may be stored again")
  func quarantine() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "content"])
    let blob = try #require(try await fixture.store.contents(of: release).first?.blob)
    try Damage.flipBit(fixture.path(of: blob))
    try await fixture.store.quarantine(blob)
    #expect(try fixture.names(in: "quarantine").count == 1)
    #expect(try await fixture.store.contents(of: release).first?.blob == nil)
    try await fixture.add("content", to: release)
    let again = try #require(try await fixture.store.contents(of: release).first?.blob)
    #expect(try await fixture.store.bytes(of: again).bytes == Array("content".utf8))
  }

  @Test("intact bytes are not quarantined")
  func intactBytes() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "content"])
    let blob = try #require(try await fixture.store.contents(of: release).first?.blob)
    try await fixture.store.quarantine(blob)
    #expect(try await fixture.store.contents(of: release).first?.blob == blob)
  }

  @Test("damaged bytes are replaced by the next download of the same bundle")
  func replacedBytes() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.activated(["a": "content"])
    let blob = try #require(try await fixture.store.contents(of: release).first?.blob)
    try Damage.overwrite(fixture.path(of: blob), with: "tampered")
    try await fixture.add("content", to: release)
    try await fixture.store.check(blob)
  }

  @Test func aCommitIsFlushedToDisk() async throws {
    let fixture = try StoreFixture()
    #expect(try await fixture.store.synchronousMode() == 2)
  }

  @Test("many blobs are added at once")
  func simultaneousBlobs() async throws {
    let fixture = try StoreFixture()
    let texts = (0..<300).map { "text \($0)" }
    let release = try await fixture.register(
      texts.enumerated().map { try StoreFixture.bundle("p\($0.offset)", $0.element) })
    try await withThrowingTaskGroup(of: Void.self) { group in
      for text in texts { group.addTask { _ = try await fixture.add(text, to: release) } }
      try await group.waitForAll()
    }
    #expect(try await fixture.store.activate(release))
    #expect(try fixture.names(in: "partial").isEmpty)
  }

  @Test("two processes may add the same bytes at once")
  func simultaneousProcesses() async throws {
    let fixture = try StoreFixture()
    let texts = (0..<50).map { "text \($0)" }
    let release = try await fixture.register(
      texts.enumerated().map { try StoreFixture.bundle("p\($0.offset)", $0.element) })
    let other = try fixture.reopened()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for text in texts {
        group.addTask { _ = try await fixture.add(text, to: release) }
        group.addTask { _ = try await fixture.add(text, to: release, of: other) }
      }
      try await group.waitForAll()
    }
    for entry in try await other.contents(of: release) {
      try await other.check(try #require(entry.blob))
    }
    #expect(try fixture.names(in: "partial").isEmpty)
  }
}
