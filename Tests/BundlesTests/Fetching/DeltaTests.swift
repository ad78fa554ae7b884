import Foundation
import HTTPCaching
import HTTPTypes
import PageTesting
import TestSupport
import Testing

@testable import Bundles
@testable import HTTPCache
@testable import HTTPTransport
@testable import Releases

/// New contents as differences from stored ones, and all the ways in which that may fail.
struct DeltaTests {
  private static let old = SeededText.make(bytes: 40_000)
  private static let new = old + "\nvar changed = 'at the end';"
  private static let path = "/b/home.js"

  private static func digest(_ text: String) throws -> SHA256Digest { try ContentDigests(of: Array(text.utf8)).sha256 }

  private static func delta(of text: String = new, from base: String = old) throws -> [UInt8] {
    let dictionary = ContentDictionary(Array(base.utf8), digest: try digest(base))
    return try #require(DictionaryZstd.encode(Array(text.utf8), with: dictionary))
  }

  /// Publishes a release with one bundle that has a SHA-256.
  private static func publish(
    _ text: String, release: String, listing deltas: [SHA256Digest: Int64] = [:], name: String = "home",
    on fixture: LoadingFixture
  ) throws {
    let digests = try ContentDigests(of: Array(text.utf8))
    var entry = Manifest.Entry(
      name: name, path: "\(name).js", size: digests.size, md5: digests.md5, sha256: digests.sha256)
    entry.deltas = deltas
    let manifest = Manifest(release: release, sequence: 1, base: "b/", bundles: [entry])
    fixture.origin.serve("/manifest.json", try JSON.encode(manifest), etag: "\"\(release)\"")
    fixture.origin.serve("/b/\(name).js", Array(text.utf8), etag: "\"\(release)\"")
  }

  /// A host that has the old release, and a server that has the new one.
  private static func updating(
    listing deltas: [SHA256Digest: Int64] = [:], _ body: (LoadingFixture) async throws -> Void
  ) async throws {
    try await LoadingFixture.running { fixture in
      try publish(old, release: "r1", on: fixture)
      #expect(try await fixture.preload().downloaded == 1)
      try publish(new, release: "r2", listing: deltas, on: fixture)
      try await body(fixture)
    }
  }

  /// Answers requests that offer the old content with these bytes as `dcz`, and others with the new content.
  private static func answerOffers(with bytes: [UInt8], coding: String = "dcz", on fixture: LoadingFixture) {
    fixture.origin.respond(path) { request in
      if request.headers[try #require(HTTPField.Name("Available-Dictionary"))] == nil {
        return OriginResponse(headers: [.contentType: "text/javascript"], body: new.utf8)
      }
      return OriginResponse(headers: [.contentEncoding: coding, .contentType: "text/javascript"], body: bytes)
    }
  }

  private static func offers(_ fixture: LoadingFixture) -> [String?] {
    fixture.origin.requests(to: path).map { request in
      HTTPField.Name("Available-Dictionary").flatMap { request.headers[$0] }
    }
  }

  // MARK: Offered dictionaries

  @Test("the stored content is offered, and the difference from it is taken")
  func offered() async throws {
    try await Self.updating { fixture in
      Self.answerOffers(with: try Self.delta(), on: fixture)
      let report = try await fixture.preload()
      #expect(report.activated && report.deltas == 1 && report.downloaded == 1)
      #expect(report.bytesDownloaded < 200)
      #expect(try await fixture.stored == ["home": Self.new])
      #expect(fixture.leftovers.isEmpty)
      let request = try #require(fixture.origin.requests(to: Self.path).last)
      #expect(request.headers[.acceptEncoding] == "dcz, zstd, br, gzip")
      #expect(Self.offers(fixture) == [nil, try Self.digest(Self.old).availableDictionary])
    }
  }

  @Test("a server without differences sends the whole content at once")
  func ignored() async throws {
    try await Self.updating { fixture in
      let report = try await fixture.preload()
      #expect(report.activated && report.deltas == 0)
      #expect(try await fixture.stored == ["home": Self.new])
      #expect(Self.offers(fixture).count == 2)
    }
  }

  /// Bytes that are no difference from the old content to the new one.
  enum Useless: String, CaseIterable {
    case empty, cut, damaged, ofAnotherBase, replayed, plain, bomb

    func bytes() throws -> [UInt8] {
      let right = try DeltaTests.delta()
      switch self {
      case .empty: return []
      case .cut: return right.dropLast(3)
      case .damaged: return right.enumerated().map { $0 == right.count - 5 ? $1 ^ 0xFF : $1 }
      case .ofAnotherBase: return try DeltaTests.delta(from: "var other;")
      // The difference from the old content to one that is neither.
      case .replayed: return try DeltaTests.delta(of: DeltaTests.old + "\nvar other = 'at the end';")
      case .plain: return Array(DeltaTests.new.utf8)
      case .bomb:
        return try #require(
          DictionaryZstd.encode(
            [UInt8](repeating: 32, count: 100 << 20),
            with: ContentDictionary(Array(DeltaTests.old.utf8), digest: try DeltaTests.digest(DeltaTests.old))))
      }
    }
  }

  @Test("after a useless difference the whole content is fetched, without an error", arguments: Useless.allCases)
  func useless(_ useless: Useless) async throws {
    try await Self.updating { fixture in
      Self.answerOffers(with: try useless.bytes(), on: fixture)
      let report = try await fixture.preload()
      #expect(report.failures.isEmpty && report.activated && report.deltas == 0)
      #expect(try await fixture.stored == ["home": Self.new])
      #expect(Self.offers(fixture) == [nil, try Self.digest(Self.old).availableDictionary, nil])
      #expect(fixture.leftovers.isEmpty)
    }
  }

  @Test("an answer to an offer that was not asked for is followed by the whole content", arguments: [206, 304, 200])
  func notAskedFor(status: Int) async throws {
    try await Self.updating { fixture in
      fixture.origin.respond(Self.path) { request in
        if request.headers[try #require(HTTPField.Name("Available-Dictionary"))] == nil {
          return OriginResponse(headers: [.contentType: "text/javascript"], body: Self.new.utf8)
        }
        return OriginResponse(
          status: .init(code: status), headers: status == 200 ? [.contentEncoding: "dcb"] : [:],
          body: status == 304 ? [] : [1])
      }
      let report = try await fixture.preload(attempts: 1)
      #expect(report.failures.isEmpty && report.activated && report.deltas == 0, "\(report.failures)")
      #expect(try await fixture.stored == ["home": Self.new])
      #expect(Self.offers(fixture) == [nil, try Self.digest(Self.old).availableDictionary, nil])
    }
  }

  @Test("a server that answers every request with a part gets few requests, with deltas too")
  func endlessParts() async throws {
    try await Self.updating(listing: [try Self.digest(Self.old): 100]) { fixture in
      // A host that asks on and on gets the content in the end.
      for path in [Self.path, try Self.publishedPath()] {
        fixture.origin.script(path, Array(repeating: .status(206), count: 50))
      }
      let before = fixture.origin.requests.count
      #expect(try await fixture.preload().failures.count == 1)
      // The manifest, the published delta, the offer, and the whole content.
      #expect(fixture.origin.requests.count - before <= 5, "\(fixture.origin.requests.count - before) requests")
    }
  }

  // MARK: Origins

  /// The next release, whose contents are on another origin.
  private static func move(
    _ fixture: LoadingFixture, to other: FaultOrigin, listing deltas: [SHA256Digest: Int64] = [:]
  ) throws {
    let digests = try ContentDigests(of: Array(new.utf8))
    var entry = Manifest.Entry(
      name: "home", path: "home.js", size: digests.size, md5: digests.md5, sha256: digests.sha256)
    entry.deltas = deltas
    let manifest = Manifest(release: "r2", sequence: 1, base: other.url(for: "/b/"), bundles: [entry])
    fixture.origin.serve("/manifest.json", try JSON.encode(manifest), etag: "\"moved\"")
    other.serve(path, Array(new.utf8))
  }

  @Test("stored bytes are offered to no other origin than the one they came from", arguments: [false, true])
  func otherOrigin(isListed: Bool) async throws {
    try await Self.updating { fixture in
      let other = try await FaultOrigin.start()
      try Self.move(fixture, to: other, listing: isListed ? [try Self.digest(Self.old): 100] : [:])
      #expect(try await fixture.preload().activated)
      #expect(other.requests.map(\.path) == [Self.path])
      #expect(other.requests.allSatisfy { $0.headers[.acceptEncoding]?.contains("dcz") == false })
      #expect(Self.offers(fixture) == [nil])
      try await other.stop()
    }
  }

  @Test("bytes that an origin listed, but did not send, are not offered to it")
  func takenOverBytes() async throws {
    try await Self.updating { fixture in
      let other = try await FaultOrigin.start()
      // The other origin lists the old bytes, which are stored, and a new page.
      let (old, new) = (try ContentDigests(of: Array(Self.old.utf8)), try ContentDigests(of: Array(Self.new.utf8)))
      let manifest = Manifest(
        release: "r2", sequence: 1, base: other.url(for: "/b/"),
        bundles: [
          .init(name: "home", path: "home.js", size: old.size, md5: old.md5, sha256: old.sha256),
          .init(name: "more", path: "more.js", size: new.size, md5: new.md5, sha256: new.sha256),
        ])
      fixture.origin.serve("/manifest.json", try JSON.encode(manifest), etag: "\"moved\"")
      other.serve("/b/more.js", Array(Self.new.utf8))
      #expect(try await fixture.preload().activated)
      #expect(other.requests.map(\.path) == ["/b/more.js"])
      #expect(other.requests.allSatisfy { $0.headers[.acceptEncoding]?.contains("dcz") == false })
      try await other.stop()
    }
  }

  @Test("a redirect to another origin is followed without the offer")
  func redirectedOffer() async throws {
    try await Self.updating { fixture in
      let other = try await FaultOrigin.start()
      other.serve("/moved.js", Array(Self.new.utf8))
      fixture.origin.always(Self.path, .redirect(to: other.url(for: "/moved.js")))
      #expect(try await fixture.preload().activated)
      #expect(Self.offers(fixture).last == (try Self.digest(Self.old).availableDictionary))
      let name = try #require(HTTPField.Name("Available-Dictionary"))
      #expect(other.requests.map { $0.headers[name] } == [nil])
      #expect(other.requests.map { $0.headers[.acceptEncoding] } == ["zstd, br, gzip"])
      try await other.stop()
    }
  }

  @Test("with the data saver, new pages wait for the first bundle and are asked for as differences from it")
  func siblings() async throws {
    try await PrefetchFixture.running { fixture in
      let names = ["first", "second", "third"]
      let entries = try names.map { name in
        let text = "\(Self.old) // \(name)"
        let digests = try ContentDigests(of: Array(text.utf8))
        fixture.origin.serve("/b/\(name).js", Array(text.utf8))
        return Manifest.Entry(
          name: name, path: "\(name).js", size: digests.size, md5: digests.md5, sha256: digests.sha256)
      }
      let manifest = Manifest(release: "r1", sequence: 1, base: "b/", bundles: entries)
      fixture.origin.serve("/manifest.json", try JSON.encode(manifest))
      fixture.saver.isOn = true
      let preloader = Preloader(
        store: fixture.loading.store, verifier: try fixture.loading.verifier(),
        downloader: try fixture.loading.downloader(),
        prefetch: Prefetcher(fixture.resources, jobs: 1).prefetch, saver: fixture.resources.saver)
      #expect(await preloader.start().report().activated)
      let name = try #require(HTTPField.Name("Available-Dictionary"))
      let offers = names.map { fixture.origin.requests(to: "/b/\($0).js").map { $0.headers[name] } }
      let first = entries[0].sha256?.availableDictionary
      #expect(offers == [[nil], [first], [first]])
    }
  }

  @Test("a difference that stops arriving is followed by another attempt")
  func interrupted() async throws {
    try await Self.updating { fixture in
      Self.answerOffers(with: try Self.delta(), on: fixture)
      fixture.origin.script(Self.path, [.resetAfter(bytes: 60)])
      let report = try await fixture.preload()
      #expect(report.activated && report.deltas == 1)
      #expect(try await fixture.stored == ["home": Self.new])
    }
  }

  @Test("the rest of a partial download is requested in place of a difference", arguments: [false, true])
  func partial(isListed: Bool) async throws {
    try await Self.updating(listing: isListed ? [try Self.digest(Self.old): 100] : [:]) { fixture in
      fixture.origin.script(Self.path, [.resetAfter(bytes: 20_000)])
      #expect(try await fixture.preload(attempts: 1).failures.count == 1)
      // The part is kept through a failure.
      fixture.origin.script(Self.path, [.resetAfter(bytes: 0)])
      #expect(try await fixture.preload(attempts: 1).failures.count == 1)
      #expect(try await fixture.preload().activated)
      let last = try #require(fixture.origin.requests(to: Self.path).last)
      #expect(last.headers[.range]?.hasPrefix("bytes=") == true)
      #expect(Self.offers(fixture).last == .some(nil))
      #expect(try await fixture.stored == ["home": Self.new])
    }
  }

  @Test("no stored bytes are offered for a content whose SHA-256 is unknown, nor for another bundle")
  func notOffered() async throws {
    try await LoadingFixture.running { fixture in
      try fixture.publish(["home": Self.old], release: "r1")
      _ = try await fixture.preload()
      try fixture.publish(["home": Self.new], release: "r2")
      _ = try await fixture.preload()
      try Self.publish(Self.new + ";", release: "r3", name: "other", on: fixture)
      #expect(try await fixture.preload().activated)
      let fields = fixture.origin.requests.map { $0.headers[.acceptEncoding] }
      #expect(!fields.contains { $0?.contains("dcz") == true })
    }
  }

  @Test("damaged stored bytes are not offered")
  func damagedBase() async throws {
    try await Self.updating { fixture in
      let digest = try Self.digest(Self.old)
      try Files.flipFirstByte(fixture.folder.file("store/blobs/\(digest.hex.prefix(2))/\(digest.hex)"))
      let process = try fixture.anotherProcess()
      #expect(try await process.preload().activated)
      #expect(Self.offers(fixture) == [nil, nil])
      #expect(try await process.stored == ["home": Self.new])
    }
  }

  // MARK: Published deltas

  private static func publishedPath() throws -> String {
    "/b/\(Manifest.deltaPath(to: try digest(new), from: try digest(old)))"
  }

  @Test("a published delta is fetched from any web server", arguments: [nil, "gzip"])
  func published(coding: String?) async throws {
    let delta = try Self.delta()
    try await Self.updating(listing: [try Self.digest(Self.old): Int64(delta.count)]) { fixture in
      let wire = coding == nil ? delta : try #require(delta.gzipped())
      var fields: HTTPFields = [:]
      fields[.contentEncoding] = coding
      fixture.origin.serve(
        try Self.publishedPath(), wire, contentType: "application/octet-stream", headers: fields)
      let report = try await fixture.preload()
      #expect(report.activated && report.deltas == 1 && report.requests == 2)
      #expect(try await fixture.stored == ["home": Self.new])
      #expect(fixture.origin.requestCount(path: Self.path) == 1)
    }
  }

  @Test("after a useless published delta one is asked for, and then the whole content", arguments: Useless.allCases)
  func uselessPublished(_ useless: Useless) async throws {
    try await Self.updating(listing: [try Self.digest(Self.old): 100]) { fixture in
      fixture.origin.serve(try Self.publishedPath(), try useless.bytes())
      Self.answerOffers(with: try useless.bytes(), on: fixture)
      let report = try await fixture.preload()
      #expect(report.failures.isEmpty && report.activated && report.deltas == 0)
      #expect(try await fixture.stored == ["home": Self.new])
      #expect(fixture.origin.requestCount(path: try Self.publishedPath()) == 1)
      #expect(Self.offers(fixture).count == 3)
    }
  }

  @Test("a published delta that is missing costs one request")
  func missing() async throws {
    try await Self.updating(listing: [try Self.digest(Self.old): 100]) { fixture in
      Self.answerOffers(with: try Self.delta(), on: fixture)
      let report = try await fixture.preload()
      #expect(report.activated && report.deltas == 1 && report.requests == 3)
      #expect(try await fixture.stored == ["home": Self.new])
    }
  }

  // MARK: Decisions

  @Test("the smallest published delta is chosen, without one the newest bytes")
  func choices() throws {
    func blob(_ text: String, size: Int64 = 100) throws -> Blob {
      let digests = try ContentDigests(of: Array(text.utf8))
      return Blob(md5: digests.md5, sha256: digests.sha256, size: size)
    }
    let (first, second, third) = (try blob("1"), try blob("2"), try blob("3"))
    let huge = try blob("4", size: ContentDictionary.sizeLimit + 1)
    let url = try #require(PageURL("http://h/d"))
    func listed(_ blob: Blob, _ size: Int64) -> ListedDelta { ListedDelta(base: blob.sha256, url: url, size: size) }
    #expect(BundleDownloader.choice(among: [], listed: [listed(first, 1)]) == nil)
    #expect(BundleDownloader.choice(among: [huge], listed: [listed(huge, 1)]) == nil)
    #expect(BundleDownloader.choice(among: [huge, first, second], listed: [])?.base == first)
    let choice = BundleDownloader.choice(
      among: [first, second], listed: [listed(first, 9), listed(second, 8), listed(third, 1)])
    #expect(choice?.base == second && choice?.listed?.size == 8)
  }

  @Test("the former contents of an entry are the newest first, each once")
  func formerContents() async throws {
    let fixture = try StoreFixture()
    for (number, text) in ["1", "2", "1", "3"].enumerated() {
      _ = try await fixture.activated(["a": text, "b": "same"], named: "r\(number)")
    }
    let last = try await fixture.activated(["a": "4", "b": "same", "c": "new"], named: "r4")
    let former = try await fixture.store.formerContents(of: last)
    let texts = ["3", "1", "2"]
    #expect(former.keys.map(\.name) == ["a"])
    #expect(
      try former[EntryName(kind: .bundle, name: "a")]?.map(\.sha256)
        == texts.map { try ContentDigests(of: Array($0.utf8)).sha256 })
  }
}
