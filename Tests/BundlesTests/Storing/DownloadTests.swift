import Blobs
import HTTPTransport
import PageTesting
import TestSupport
import Testing

@testable import Bundles

struct DownloadTests {
  private static func expected(_ text: String) throws -> ExpectedContent {
    ExpectedContent(md5: try ContentDigests(of: Array(text.utf8)).md5)
  }

  private static func url() throws -> PageURL { try #require(PageURL("http://h/a.js")) }

  @Test("the next process finds the written bytes with their head")
  func heldBytes() async throws {
    let fixture = try StoreFixture()
    let head = DownloadHead(url: try Self.url(), etag: "\"v1\"", encoding: nil, wireSize: 10)
    let first = try await fixture.store.download(for: Self.expected("0123456789"), url: head.url)
    try first.begin(head)
    try first.append(wire: Array("0123".utf8))
    first.close()

    let second = try await fixture.reopened().download(for: Self.expected("0123456789"), url: head.url)
    #expect(second.held?.head == head)
    #expect(second.held?.wireBytes == 4)
    var read: [UInt8] = []
    try second.readHeld { read += $0 }
    #expect(read == Array("0123".utf8))
  }

  @Test("resuming appends to the held bytes")
  func resuming() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.register([StoreFixture.bundle("a", "0123456789")])
    let head = DownloadHead(url: try Self.url())
    let part = try await fixture.store.download(for: Self.expected("0123456789"), url: head.url)
    try part.begin(head)
    try part.append(wire: Array("01234".utf8))
    part.close()
    let rest = try await fixture.store.download(for: Self.expected("0123456789"), url: head.url)
    try rest.resume()
    try rest.append(wire: Array("56789".utf8))
    let blob = try await fixture.store.add(rest, digests: ContentDigests(of: Array("0123456789".utf8)), to: release)
    #expect(try await fixture.store.bytes(of: blob).bytes == Array("0123456789".utf8))
  }

  @Test("a new beginning drops the held bytes")
  func newBeginning() async throws {
    let fixture = try StoreFixture()
    let first = try await fixture.download("abc", of: fixture.store)
    first.close()
    let second = try await fixture.store.download(for: Self.expected("abc"), url: Self.url())
    #expect(second.held?.wireBytes == 3)
    try second.begin(DownloadHead(url: try Self.url()))
    #expect(second.held == nil)
    second.close()
    let third = try await fixture.store.download(for: Self.expected("abc"), url: Self.url())
    #expect(third.held == nil)
  }

  @Test func bytesWithoutTheirHeadAreNotHeld() async throws {
    let fixture = try StoreFixture()
    let first = try await fixture.download("abc", of: fixture.store)
    first.close()
    for name in try fixture.names(in: "partial") where name.hasSuffix(".json") {
      try Damage.overwrite(fixture.folder.file("partial/\(name)"), with: "{\"url\": torn")
    }
    #expect(try await fixture.store.download(for: Self.expected("abc"), url: Self.url()).held == nil)
  }

  @Test("a head whose bytes are gone is replaced by the head of the next download")
  func headAlone() async throws {
    let fixture = try StoreFixture()
    let first = try await fixture.store.download(for: Self.expected("abc"), url: Self.url())
    try first.begin(DownloadHead(url: try Self.url(), etag: "\"old\""))
    try first.append(wire: [120])
    first.close()
    for name in try fixture.names(in: "partial") where !name.hasSuffix(".json") {
      try Damage.overwrite(fixture.folder.file("partial/\(name)"), with: "")
    }
    let second = try await fixture.store.download(for: Self.expected("abc"), url: Self.url())
    #expect(second.held == nil)
    let head = DownloadHead(url: try Self.url(), etag: "\"new\"")
    try second.begin(head)
    try second.append(wire: [121])
    second.close()
    let third = try await fixture.store.download(for: Self.expected("abc"), url: Self.url())
    #expect(third.held?.head == head && third.held?.wireBytes == 1)
  }

  @Test("a process that is killed leaves a part that another continues, if 512 KiB of it have come")
  func longPart() async throws {
    let fixture = try StoreFixture()
    let download = try await fixture.store.download(for: Self.expected("abc"), url: Self.url())
    try download.begin(DownloadHead(url: try Self.url()))
    try download.append(wire: [UInt8](repeating: 120, count: BundleDownload.unheldLimit - 1))
    #expect(try fixture.names(in: "partial").count == 1)
    try download.append(wire: [120])
    #expect(try fixture.names(in: "partial").count { $0.hasSuffix(".json") } == 1)
    download.discard()
    download.close()
    #expect(try fixture.names(in: "partial").isEmpty)
  }

  @Test("a download that another process uses is not touched")
  func usedDownload() async throws {
    let fixture = try StoreFixture()
    let mine = try await fixture.download("abc", of: fixture.store)
    let other = try fixture.reopened()
    let theirs = try await other.download(for: Self.expected("abc"), url: Self.url())
    #expect(theirs.held == nil)
    try theirs.begin(DownloadHead(url: try Self.url()))
    try theirs.append(wire: Array("abc".utf8))
    let release = try await fixture.register([StoreFixture.bundle("a", "abc")])
    let digests = try ContentDigests(of: Array("abc".utf8))
    let first = try await other.add(theirs, digests: digests, to: release)
    let second = try await fixture.store.add(mine, digests: digests, to: release)
    #expect(first == second)
    #expect(try fixture.names(in: "partial").isEmpty)
  }

  @Test("encoded bytes are held, and the decoded ones become the blob")
  func encodedDownload() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.register([StoreFixture.bundle("a", "decoded")])
    let download = try await fixture.store.download(for: Self.expected("decoded"), url: Self.url())
    try download.begin(DownloadHead(url: try Self.url(), encoding: "gzip"))
    try download.append(wire: [1, 2, 3])
    try download.append(content: Array("decoded".utf8))
    let blob = try await fixture.store.add(download, digests: ContentDigests(of: Array("decoded".utf8)), to: release)
    #expect(try await fixture.store.bytes(of: blob).bytes == Array("decoded".utf8))
    #expect(try fixture.names(in: "partial").isEmpty)
  }

  @Test("a discarded download leaves no files")
  func discarding() async throws {
    let fixture = try StoreFixture()
    let download = try await fixture.download("abc", of: fixture.store)
    download.discard()
    download.close()
    #expect(try fixture.names(in: "partial").isEmpty)
  }

  @Test func aClosedDownloadCannotBeAdded() async throws {
    let fixture = try StoreFixture()
    let release = try await fixture.register([StoreFixture.bundle("a", "abc")])
    let download = try await fixture.download("abc", of: fixture.store)
    download.close()
    await #expect(throws: StoreError.self) {
      try await fixture.store.add(download, digests: ContentDigests(of: Array("abc".utf8)), to: release)
    }
  }
}
