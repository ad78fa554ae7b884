import Foundation
import HTTPTypes
import PageKit
import PageTesting
import Testing

@testable import RenderHost

@Suite(.timeLimit(.minutes(2)))
struct ServingRoutesTests {
  private static let home = Array(ServingFixture.home.utf8)

  @Test("the manifest lists the folder's files with digests")
  func manifest() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let answer = try await host.dated("/manifest.json")
      let manifest = try Manifest(reading: answer.body)
      #expect(answer.status == 200)
      #expect(answer["Content-Type"] == "application/json")
      #expect(manifest.base == "bundles/")
      #expect(manifest.bundles.map(\.name) == ["home"])
      #expect(manifest.bundles.first?.md5 == (try ContentDigests(of: Self.home).md5))
      #expect(manifest.files.map(\.path) == ["images/logo.svg"])
      let etag = try #require(answer["ETag"])
      #expect(try await host.get("/manifest.json", ["If-None-Match": etag]).status == 304)
      let date = try #require(answer["Last-Modified"])
      #expect(try await host.get("/manifest.json", ["If-Modified-Since": date]).status == 304)
    }
  }

  @Test("bytes saved by 304 and encodings are counted")
  func savedBytes() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let name = "renderhost_saved_bytes_total"
      let whole = try await host.get("/bundles/home.js", ["Accept-Encoding": "identity"])
      #expect(try host.count(name, ["how": "encoding"]) == 0)
      let packed = try await host.get("/bundles/home.js", ["Accept-Encoding": "gzip"])
      #expect(try host.count(name, ["how": "encoding"]) == Double(Self.home.count - packed.body.count))
      let etag = try #require(whole["ETag"])
      let known = ["If-None-Match": etag, "Accept-Encoding": "identity"]
      #expect(try await host.get("/bundles/home.js", known).status == 304)
      #expect(try host.count(name, ["how": "not_modified"]) == Double(Self.home.count))
      let part = try await host.get("/bundles/home.js", ["Range": "bytes=0-9", "Accept-Encoding": "identity"])
      #expect(part.status == 206)
      #expect(try host.count(name, ["how": "range"]) == Double(Self.home.count - 10))
      // A HEAD request gets no body in any case.
      #expect(try await host.get("/bundles/home.js", known, .head).status == 304)
      #expect(try host.count(name, ["how": "not_modified"]) == Double(Self.home.count))
    }
  }

  @Test("the checksums are those of the bytes")
  func checksums() async throws {
    struct Checksum: Decodable { let md5, sha256: String, size: Int }
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let sums = try JSONDecoder().decode([String: Checksum].self, from: Data(try await host.get("/checksums").body))
      let digests = try ContentDigests(of: Self.home)
      #expect(sums.keys.sorted() == ["home.js", "images/logo.svg"])
      #expect(sums["home.js"]?.md5 == digests.md5.hex)
      #expect(sums["home.js"]?.sha256 == digests.sha256.hex)
      #expect(sums["home.js"]?.size == Self.home.count)
    }
  }

  @Test("a bundle has the fields that caches use")
  func bundleFields() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let answer = try await host.dated("/bundles/home.js?random=1")
      let digests = try ContentDigests(of: Self.home)
      #expect(answer.body == Self.home)
      #expect(answer["ETag"] == "\"\(digests.sha256)\"")
      #expect(answer["Content-MD5"] == Data(digests.md5.bytes).base64EncodedString())
      #expect(answer["Repr-Digest"] == "sha-256=:\(Data(digests.sha256.bytes).base64EncodedString()):")
      #expect(answer["Content-Type"] == "text/javascript; charset=utf-8")
      #expect(answer["Cache-Control"] == "no-cache")
      #expect(answer["Accept-Ranges"] == "bytes")
      #expect(answer["Vary"] == "Accept-Encoding, Available-Dictionary")
      #expect(answer["Access-Control-Allow-Origin"] == "*")
      #expect(answer["Content-Encoding"] == nil)
      let dates = ["Last-Modified", "Date"].compactMap { name in
        answer[name].flatMap { HTTPDate($0, now: HTTPDate(secondsSinceEpoch: 0)) }
      }
      // The server reads its clock once a second, and later on a busy machine.
      #expect(dates.count == 2 && dates[0].secondsSinceEpoch <= dates[1].secondsSinceEpoch + 10)
      let head = try await host.get("/bundles/home.js", [:], .head)
      #expect(head.status == 200 && head.body.isEmpty)
      #expect(head["Content-Length"] == "\(Self.home.count)")
      for name in ["ETag", "Content-MD5", "Repr-Digest", "Last-Modified"] { #expect(head[name] == answer[name]) }
    }
  }

  @Test("a document of a release runs no scripts on the host's origin")
  func sandboxedDocuments() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let digest = try ContentDigests(of: Self.home).sha256
      let etag = "\"\(digest)\""
      for (path, fields, status) in [
        ("/bundles/home.js", [:], 200), ("/bundles/home.js", ["Range": "bytes=0-1"], 206),
        ("/bundles/home.js", ["If-None-Match": etag], 304), ("/bundles/home.js", ["If-Match": "\"x\""], 412),
        ("/blobs/\(digest)", [:], 200), ("/manifest.json", [:], 200), ("/bundles/home.js.md5", [:], 200),
      ] as [(String, [String: String], Int)] {
        let answer = try await host.get(path, fields)
        #expect(answer.status == status, "\(path)")
        let policy = (answer["Content-Security-Policy"] ?? "").split(separator: "; ")
        #expect(policy.first == "default-src 'none'" && policy.last == "sandbox", "\(path): \(policy)")
        #expect(!policy.contains { $0.hasPrefix("script") }, "\(path)")
        #expect(answer["X-Content-Type-Options"] == "nosniff", "\(path)")
      }
    }
  }

  @Test("a 304 has its fields and no length")
  func notModified() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let etag = try #require(try await host.get("/bundles/home.js")["ETag"])
      let answer = try await host.get("/bundles/home.js", ["If-None-Match": "\"x\", W/\(etag)"])
      #expect(answer.status == 304 && answer.body.isEmpty)
      #expect(answer["ETag"] == etag)
      #expect(answer["Vary"] == "Accept-Encoding, Available-Dictionary")
      #expect(answer["Cache-Control"] == "no-cache")
      #expect(answer["Content-Length"] == nil && answer["Content-Type"] == nil)
      #expect(try await host.get("/bundles/home.js", ["If-Match": "\"x\""]).status == 412)
    }
  }

  @Test("ranges return the bytes of their positions")
  func ranges() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let part = try await host.get("/bundles/home.js", ["Range": "bytes=3-6"])
      #expect(part.status == 206)
      #expect(part.text == "home")
      #expect(part["Content-Range"] == "bytes 3-6/\(Self.home.count)")
      #expect(part["Content-Length"] == "4")
      #expect(part["Content-MD5"] == nil)
      #expect(part["Repr-Digest"] != nil)
      #expect(try await host.get("/bundles/home.js", ["Range": "bytes=-5"]).body == Array(Self.home.suffix(5)))
      let beyond = try await host.get("/bundles/home.js", ["Range": "bytes=999999-"])
      #expect(beyond.status == 416)
      #expect(beyond["Content-Range"] == "bytes */\(Self.home.count)")
      #expect(beyond.text.hasPrefix("{\"error\":"))
      let stale = try await host.get("/bundles/home.js", ["Range": "bytes=3-6", "If-Range": "\"old\""])
      #expect(stale.status == 200 && stale.body == Self.home)
    }
  }

  @Test("each encoding has a strong ETag of its own", arguments: ["br", "zstd", "gzip"])
  func encodings(coding: String) async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let plain = try await host.get("/bundles/home.js")
      let packed = try await host.get("/bundles/home.js", ["Accept-Encoding": coding])
      #expect(packed["Content-Encoding"] == coding)
      #expect(packed.body.count < plain.body.count / 4)
      let decoder = try ContentDecoder(for: coding, url: "", limit: 1 << 20)
      #expect(try decoder.decode(packed.body) == Self.home)
      let digests = try ContentDigests(of: packed.body)
      #expect(packed["Content-MD5"] == Data(digests.md5.bytes).base64EncodedString())
      let etag = try #require(packed["ETag"])
      #expect(etag != plain["ETag"])
      #expect(try await host.get("/bundles/home.js", ["Accept-Encoding": coding, "If-None-Match": etag]).status == 304)
      #expect(try await host.get("/bundles/home.js", ["If-None-Match": etag]).status == 200)
      let part = try await host.get(
        "/bundles/home.js", ["Accept-Encoding": coding, "Range": "bytes=2-5", "If-Range": etag])
      #expect(part.status == 206 && part.body == Array(packed.body[2...5]))
    }
  }

  @Test("a request that accepts no available encoding gets a 406")
  func notAcceptable() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let answer = try await host.get("/bundles/home.js", ["Accept-Encoding": "deflate, identity;q=0"])
      #expect(answer.status == 406)
      #expect(answer["Vary"] == "Accept-Encoding, Available-Dictionary")
      #expect(try await host.get("/bundles/home.js", ["Accept-Encoding": "gzip, identity;q=0"]).status == 200)
    }
  }

  @Test("compressed or short contents are sent without encoding")
  func uncompressed() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      try host.write(String(repeating: "PNG", count: 500), "photo.png")
      try host.write("//x", "tiny.js")
      try await host.waitForRelease("tiny.js", "//x")
      for path in ["/bundles/photo.png", "/bundles/tiny.js"] {
        let answer = try await host.get(path, ["Accept-Encoding": "br, gzip, zstd"])
        #expect(answer.status == 200)
        #expect(answer["Content-Encoding"] == nil)
      }
      #expect(try await host.get("/bundles/photo.png")["Content-Type"] == "image/png")
    }
  }

  @Test("encoded variants are made once and survive a restart")
  func variants() async throws {
    let directory = try TemporaryDirectory()
    try ServingFixture.write(ServingFixture.home, to: directory.file("bundles/home.js"))
    let digests = try ContentDigests(of: Self.home)
    let file = directory.file("store/variants/\(digests.sha256.hex.prefix(2))/\(digests.sha256).gzip")
    try await ServingFixture.folder(directory) { (host: ServingFixture) async throws in
      let fields = ["Accept-Encoding": "gzip"]
      let first = try await host.get("/bundles/home.js", fields)
      #expect(FileManager.default.contents(atPath: file).map { Array($0) } == first.body)
    }
    // Another compressor's output of the same content shows which bytes are sent.
    let other = try #require(Self.home.gzipped())
    try Data(other).write(to: URL(fileURLWithPath: file))
    try await ServingFixture.folder(directory) { (host: ServingFixture) async throws in
      #expect(try await host.get("/bundles/home.js", ["Accept-Encoding": "gzip"]).body == other)
    }
    try Data(other.dropLast()).write(to: URL(fileURLWithPath: file))
    try await ServingFixture.folder(directory) { (host: ServingFixture) async throws in
      let mended = try await host.get("/bundles/home.js", ["Accept-Encoding": "gzip"]).body
      let decoder = try ContentDecoder(for: "gzip", url: "", limit: 1 << 20)
      #expect(try decoder.decode(mended) == Self.home)
      try decoder.finish()
    }
  }

  @Test("a blob is named by its digest and immutable")
  func blobs() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let digest = try ContentDigests(of: Self.home).sha256
      let answer = try await host.get("/blobs/\(digest)")
      #expect(answer.body == Self.home)
      #expect(answer["Cache-Control"] == "public, max-age=31536000, immutable")
      #expect(answer["Content-Type"] == "text/javascript; charset=utf-8")
      #expect(try await host.get("/blobs/\(digest.hex.uppercased())", [:], .head).status == 200)
      #expect(try await host.get("/blobs/\(String(repeating: "0", count: 64))").status == 404)
      #expect(try await host.get("/blobs/zz").status == 400)
    }
  }

  @Test("the MD5 of a bundle is beside it, unless a bundle has that name")
  func md5Files() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let md5 = try ContentDigests(of: Self.home).md5
      #expect(try await host.get("/bundles/home.js.md5").text == "\(md5)  home.js\n")
      try host.write("mine", "home.js.md5")
      try await host.waitForRelease("home.js.md5", "mine")
      #expect(try await host.get("/bundles/home.js.md5").text == "mine")
      #expect(try await host.get("/bundles/none.js.md5").status == 404)
    }
  }

  @Test(
    "a path outside the release is a 404",
    arguments: [
      "/bundles/none.js", "/bundles/home.js/", "/bundles/../manifest.json", "/bundles/%2e%2e/store/store.sqlite",
      "/bundles/home.js%00", "/bundles/images",
    ])
  func unknownPaths(path: String) async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let answer = try await host.get(path)
      #expect(answer.status == 404)
      #expect(answer["Content-Type"]?.hasPrefix("application/json") == true)
    }
  }

  @Test("percent-encoded paths are decoded")
  func escapedPaths() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      try host.write("// ä", "pages/a ä+b.js")
      try await host.waitForRelease("pages/a ä+b.js", "// ä")
      #expect(try await host.get("/bundles/pages/a%20%C3%A4+b.js").text == "// ä")
      #expect(try await host.get("/bundles/pages/a%20%C3%A4%2Bb.js").text == "// ä")
      #expect(try await host.get("/bundles/%FF").status == 400)
    }
  }

  @Test("a CORS preflight allows conditions and ranges")
  func preflight() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let answer = try await host.get("/bundles/home.js", ["Origin": "https://example.com"], .options)
      #expect(answer.status == 204)
      #expect(answer["Access-Control-Allow-Origin"] == "*")
      #expect(answer["Access-Control-Allow-Headers"]?.contains("If-None-Match") == true)
      #expect(try await host.get("/bundles/none.js")["Access-Control-Allow-Origin"] == "*")
    }
  }

  @Test("damaged bytes are repaired before they are sent")
  func damagedBytes() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let digest = try ContentDigests(of: Self.home).sha256
      let file = host.directory.file("store/blobs/\(digest.hex.prefix(2))/\(digest)")
      try FileManager.default.removeItem(atPath: file)
      try Data("damaged".utf8).write(to: URL(fileURLWithPath: file))
      #expect(try await host.get("/bundles/home.js").body == Self.home)
    }
  }

  @Test("a large body is sent completely")
  func largeBody() async throws {
    try await ServingFixture.folder { (host: ServingFixture) async throws in
      let text = "// " + String((0..<400_000).map { "\($0)," }.joined())
      try host.write(text, "large.js")
      try await host.waitForRelease("large.js", text)
      #expect(try await host.get("/bundles/large.js").body == Array(text.utf8))
      let part = try await host.get("/bundles/large.js", ["Range": "bytes=100000-1499999"])
      #expect(part.body == Array(Array(text.utf8)[100_000..<1_500_000]))
    }
  }
}
