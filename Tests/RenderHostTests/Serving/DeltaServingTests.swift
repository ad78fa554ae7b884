import Foundation
import HTTPTypes
import PageKit
import PageTesting
import TestSupport
import Testing

@testable import RenderHost

/// Contents as differences from those of former releases. RFC 9842.
@Suite(.timeLimit(.minutes(2)))
struct DeltaServingTests {
  private static let texts = (0..<8).map { "\(SeededText.make(bytes: 30_000))\nvar version = \($0);" }

  /// Serves versions one after the other.
  private static func serving(
    _ versions: [String], in directory: TemporaryDirectory? = nil,
    _ body: @escaping @Sendable (ServingFixture) async throws -> Void
  ) async throws {
    let directory = try directory ?? TemporaryDirectory()
    try ServingFixture.write(versions[0], to: directory.file("bundles/home.js"))
    try ServingFixture.write(ServingFixture.picture, to: directory.file("bundles/images/logo.svg"))
    try await ServingFixture.folder(directory) { (host: ServingFixture) async throws in
      try await host.waitForRelease("home.js", versions[0])
      for version in versions.dropFirst() {
        try host.write(version, "home.js")
        try await host.waitForRelease("home.js", version)
      }
      try await body(host)
    }
  }

  private static func digest(_ text: String) throws -> SHA256Digest { try ContentDigests(of: Array(text.utf8)).sha256 }

  private static func offer(_ text: String, accepting codings: String = "dcz, br") throws -> [String: String] {
    ["Accept-Encoding": codings, "Available-Dictionary": try digest(text).availableDictionary]
  }

  private static func decode(_ answer: ServingFixture.Answer, from text: String) throws -> String {
    let dictionary = ContentDictionary(Array(text.utf8), digest: try digest(text))
    let decoder = try ContentDecoder(
      for: try #require(answer["Content-Encoding"]), url: "", limit: 1 << 20, dictionary: dictionary)
    let bytes = try decoder.decode(answer.body)
    try decoder.finish()
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test("a client that has the former content gets the difference from it")
  func difference() async throws {
    try await Self.serving(Array(Self.texts[..<2])) { (host: ServingFixture) async throws in
      let answer = try await host.get("/bundles/home.js", try Self.offer(Self.texts[0]))
      #expect(answer["Content-Encoding"] == "dcz")
      #expect(answer["Vary"] == "Accept-Encoding, Available-Dictionary")
      #expect(answer.body.count < 150)
      #expect(try Self.decode(answer, from: Self.texts[0]) == Self.texts[1])
      let whole = try await host.get("/bundles/home.js", ["Accept-Encoding": "br"])
      #expect(whole["Vary"] == "Accept-Encoding, Available-Dictionary")
      #expect(whole["ETag"] != answer["ETag"])
      let saved = Double(Self.texts[1].utf8.count - answer.body.count)
      #expect(try host.count("renderhost_saved_bytes_total", ["how": "delta"]) == saved)
      // The tag of the difference validates it.
      let tag = try #require(answer["ETag"])
      let again = try Self.offer(Self.texts[0]).merging(["If-None-Match": tag]) { $1 }
      #expect(try await host.get("/bundles/home.js", again).status == 304)
    }
  }

  @Test(
    "a client gets a full content if it does not accept differences",
    arguments: ["br", "br, dcz;q=0", "*", "dcb, br"])
  func notAccepted(codings: String) async throws {
    try await Self.serving(Array(Self.texts[..<2])) { (host: ServingFixture) async throws in
      let answer = try await host.get("/bundles/home.js", try Self.offer(Self.texts[0], accepting: codings))
      #expect(answer["Content-Encoding"] == "br")
    }
  }

  @Test("an unknown dictionary gets a full content, and so does the content itself")
  func unknownDictionary() async throws {
    try await Self.serving(Array(Self.texts[..<2])) { (host: ServingFixture) async throws in
      for text in ["something else", Self.texts[1], ServingFixture.picture] {
        let answer = try await host.get("/bundles/home.js", try Self.offer(text))
        #expect(answer["Content-Encoding"] == "br")
      }
      let garbage = ["Accept-Encoding": "dcz, br", "Available-Dictionary": ":garbage:"]
      #expect(try await host.get("/bundles/home.js", garbage)["Content-Encoding"] == "br")
      #expect(try await host.get("/images/logo.svg", try Self.offer(Self.texts[0])).status == 404)
      #expect(
        try await host.get("/manifest.json", try Self.offer(Self.texts[0]))["Vary"] == "Accept-Encoding")
    }
  }

  @Test("each of the last five releases is a base, and older ones are not")
  func fiveReleases() async throws {
    try await Self.serving(Self.texts) { (host: ServingFixture) async throws in
      let newest = Self.texts[7]
      for age in 1...5 {
        let answer = try await host.get("/bundles/home.js", try Self.offer(Self.texts[7 - age]))
        #expect(answer["Content-Encoding"] == "dcz", "\(age)")
        #expect(try Self.decode(answer, from: Self.texts[7 - age]) == newest)
      }
      for age in 6...7 {
        let answer = try await host.get("/bundles/home.js", try Self.offer(Self.texts[7 - age]))
        #expect(answer["Content-Encoding"] == "br", "\(age)")
      }
    }
  }

  @Test("a host that was restarted has its differences")
  func restarted() async throws {
    let directory = try TemporaryDirectory()
    try await Self.serving(Array(Self.texts[..<2]), in: directory) { (_: ServingFixture) async throws in }
    try await Self.serving([Self.texts[1]], in: directory) { (host: ServingFixture) async throws in
      let answer = try await host.get("/bundles/home.js", try Self.offer(Self.texts[0]))
      #expect(answer["Content-Encoding"] == "dcz")
      #expect(try Self.decode(answer, from: Self.texts[0]) == Self.texts[1])
    }
  }

  @Test("a client without a former content gets the difference from the release's first bundle, once it is made")
  func siblings() async throws {
    let directory = try TemporaryDirectory()
    let page = Self.texts[0] + "\nvar page = 'another';"
    try ServingFixture.write(page, to: directory.file("bundles/other.js"))
    try await Self.serving([Self.texts[0]], in: directory) { (host: ServingFixture) async throws in
      let deadline = ContinuousClock.now + .seconds(60)
      var answer = try await host.get("/bundles/other.js", try Self.offer(Self.texts[0]))
      while answer["Content-Encoding"] != "dcz", ContinuousClock.now < deadline {
        #expect(answer["Content-Encoding"] == "br")
        try await Task.sleep(for: .milliseconds(20))
        answer = try await host.get("/bundles/other.js", try Self.offer(Self.texts[0]))
      }
      #expect(try Self.decode(answer, from: Self.texts[0]) == page)
      #expect(answer.body.count < 150)
    }
  }

  @Test("a difference that saves nothing is not sent")
  func useless() async throws {
    let (old, new) = ("var a = 'nothing in common';", "(function () { return 42 })()")
    try await Self.serving([old, new]) { (host: ServingFixture) async throws in
      let answer = try await host.get("/bundles/home.js", try Self.offer(old, accepting: "dcz"))
      #expect(answer["Content-Encoding"] == nil)
      #expect(answer.text == new)
    }
  }

  @Test("the URL of bytes with their path makes them a dictionary of that path")
  func dictionaries() async throws {
    try await Self.serving(Array(Self.texts[..<2])) { (host: ServingFixture) async throws in
      let (old, new) = (try Self.digest(Self.texts[0]), try Self.digest(Self.texts[1]))
      let first = try await host.get("/blobs/\(old)/home.js")
      #expect(first["Use-As-Dictionary"] == "match=\"/blobs/*/home.js\"")
      #expect(first["Cache-Control"]?.contains("immutable") == true)
      #expect(first.text == Self.texts[0])
      let second = try await host.get("/blobs/\(new)/home.js", try Self.offer(Self.texts[0]))
      #expect(try Self.decode(second, from: Self.texts[0]) == Self.texts[1])
      #expect(second["Use-As-Dictionary"] == "match=\"/blobs/*/home.js\"")
      #expect(try await host.get("/blobs/\(new)")["Use-As-Dictionary"] == nil)
      #expect(try await host.get("/bundles/home.js")["Use-As-Dictionary"] == nil)
      #expect(try await host.get("/blobs/\(new)/other.js").status == 404)
      #expect(try await host.get("/blobs/\(new)/home.js/more").status == 404)
    }
  }

  @Test("equal bytes have a URL for each of their paths")
  func equalBytes() async throws {
    let directory = try TemporaryDirectory()
    try ServingFixture.write(Self.texts[0], to: directory.file("bundles/copy.js"))
    try await Self.serving([Self.texts[0]], in: directory) { (host: ServingFixture) async throws in
      let digest = try Self.digest(Self.texts[0])
      for path in ["home.js", "copy.js"] {
        let answer = try await host.get("/blobs/\(digest)/\(path)")
        #expect(answer.status == 200 && answer["Use-As-Dictionary"] == "match=\"/blobs/*/\(path)\"")
      }
    }
  }

  @Test(
    "a path with characters of the patterns' syntax is no pattern",
    arguments: [("a/b c.js", "a/b%20c.js"), ("a*.js", nil), ("a:b.js", nil), ("(a).js", nil), ("ü.js", "%C3%BC.js")])
  func patterns(path: String, pattern: String?) {
    #expect(path.pathPattern == pattern)
  }

  @Test("a host that follows another fetches and makes differences")
  func following() async throws {
    try await Self.serving(Array(Self.texts[..<1])) { (host: ServingFixture) async throws in
      let directory = try TemporaryDirectory()
      let manifest = try #require(PageURL("http://127.0.0.1:\(host.port)/manifest.json"))
      let follow: (inout Settings) -> Void = { ($0.manifest, $0.follow) = (manifest, .milliseconds(100)) }
      try await ServingFixture.running(directory, follow) { (follower: ServingFixture) async throws in
        try await follower.waitForRelease("home.js", Self.texts[0])
        try host.write(Self.texts[1], "home.js")
        try await follower.waitForRelease("home.js", Self.texts[1])
        #expect(try host.count("renderhost_saved_bytes_total", ["how": "delta"]) > 0)
        let answer = try await follower.get("/bundles/home.js", try Self.offer(Self.texts[0]))
        #expect(try Self.decode(answer, from: Self.texts[0]) == Self.texts[1])
      }
    }
  }
}
