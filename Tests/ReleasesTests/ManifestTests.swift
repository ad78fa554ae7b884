import Foundation
import HTTPTransport
import Releases
import TestSupport
import Testing

struct ManifestTests {
  private static let md5 = "900150983cd24fb0d6963f7d28e17f72"
  private static let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

  private static func json(_ bundles: String, files: String = "", rest: String = "") -> [UInt8] {
    Array(
      #"{"schema": 1, "release": "r1", "sequence": 7, "base": "b/", "bundles": [\#(bundles)], "files": [\#(files)]\#(rest)}"#
        .utf8)
  }

  private static func entry(_ name: String, path: String? = nil, more: String = "") -> String {
    #"{"name": "\#(name)", "path": "\#(path ?? name + ".js")", "md5": "\#(md5)"\#(more)}"#
  }

  /// The error of reading, as the user sees it.
  private static func complaint(_ bytes: [UInt8], limits: ManifestLimits = .standard) -> String {
    do {
      _ = try Manifest(reading: bytes, limits: limits)
      return ""
    } catch {
      return "\(error)"
    }
  }

  @Test func everyFieldIsRead() throws {
    let more = #", "size": 3, "sha256": "\#(Self.sha256)", "preload": "idle", "prefetch": ["https://a/x"]"#
    let manifest = try Manifest(
      reading: Self.json(Self.entry("home", more: more), files: #"{"path": "i/a.png", "md5": "\#(Self.md5)"}"#))
    #expect(manifest.release == "r1")
    #expect(manifest.sequence == 7)
    let home = try #require(manifest.bundles.first)
    #expect(home.name == "home")
    #expect(home.size == 3)
    #expect(home.sha256?.hex == Self.sha256)
    #expect(home.preload == .idle)
    #expect(home.prefetch == ["https://a/x"])
    #expect(manifest.files.first?.name == "i/a.png")
  }

  @Test func unknownKeysAreKeptAndWrittenBack() throws {
    let bytes = Self.json(
      Self.entry("home", more: #", "owner": {"team": ["a", 1, true, null, 1.5]}"#),
      rest: #", "expires": "2027-01-01T00:00:00Z""#)
    let manifest = try Manifest(reading: bytes)
    let written = try Manifest(reading: Array(try JSONEncoder().encode(manifest)))
    #expect(written == manifest)
    #expect(written.additional["expires"] == .string("2027-01-01T00:00:00Z"))
    #expect(
      written.bundles.first?.additional["owner"]
        == .object(["team": .array([.string("a"), .integer(1), .bool(true), .null, .number(1.5)])]))
  }

  @Test(
    "a path that may lead out of its base is refused with its name",
    arguments: [
      ("../x.js", "must stay below"), ("a/../../x.js", "must stay below"), ("%2e%2e/x.js", "must stay below"),
      ("a/./x.js", "must stay below"), ("/etc/passwd", "is absolute"), (#"a\\\\b.js"#, "backslash"), ("", "is empty"),
      ("a//b.js", "empty segment"), ("http://evil/x.js", "empty segment"), ("javascript:x", "begins with a scheme"),
      ("a%2fb.js", "escaped separator"), (#"a\u0000.js"#, "control characters"),
    ])
  func escapingPath(_ path: String, _ reason: String) {
    let complaint = Self.complaint(Self.json(Self.entry("home", path: path)))
    #expect(complaint.contains(#"bundle "home""#))
    #expect(complaint.contains(reason))
  }

  @Test func everyFaultyEntryIsNamedAtOnce() {
    let complaint = Self.complaint(
      Self.json(
        [
          Self.entry("a", more: #", "size": -1"#), Self.entry("b", path: "../b.js"), #"{"name": "c", "path": "c.js"}"#,
          #"{"name": "d", "path": "d.js", "md5": "xyz"}"#, #"{"name": "e", "path": 5, "md5": "\#(Self.md5)"}"#,
          Self.entry("f", more: #", "preload": "soon""#), "7",
        ].joined(separator: ",")))
    for part in [
      #"bundle "a": its size is -1"#, #"bundle "b": its path "../b.js""#, #"bundles[2] ("c"): "md5" is missing"#,
      #"bundles[3] ("d"): "md5" cannot be used: "xyz" is not 32 hexadecimal digits"#,
      #"bundles[4] ("e"): "path" must be a text"#, #"bundles[5] ("f"): "preload""#, "bundles[6]: it must be an object",
    ] {
      #expect(complaint.contains(part), "\(part) is not in: \(complaint)")
    }
  }

  @Test func aNameOrPathListedTwiceIsRefused() {
    #expect(Self.complaint(Self.json(Self.entry("a") + "," + Self.entry("a", path: "b.js"))).contains("listed twice"))
    #expect(Self.complaint(Self.json(Self.entry("a") + "," + Self.entry("b", path: "a.js"))).contains("listed twice"))
    let asFile = Self.json(Self.entry("a"), files: #"{"path": "a.js", "md5": "\#(Self.md5)"}"#)
    #expect(Self.complaint(asFile).contains(#"file "a.js""#))
  }

  @Test(arguments: ["9223372036854775808", "18446744073709551616", "1e400", "1.5", "\"5\"", "true"])
  func aSizeThatIsNoWholeNumberIsRefusedByName(_ size: String) {
    let complaint = Self.complaint(Self.json(Self.entry("home", more: #", "size": \#(size)"#)))
    #expect(complaint.contains("home") || complaint.contains("not JSON"))
    #expect(!complaint.isEmpty)
  }

  @Test func sizesOverTheLimitsAreRefused() {
    let huge = Self.json(Self.entry("home", more: #", "size": 9223372036854775807"#))
    #expect(
      Self.complaint(huge).contains(#"bundle "home": its size is 9223372036854775807 bytes, more than the limit"#))
    let limits = ManifestLimits(fileBytes: 10, releaseBytes: 15)
    let two = Self.json(Self.entry("a", more: #", "size": 10"#) + "," + Self.entry("b", more: #", "size": 10"#))
    #expect(Self.complaint(two, limits: limits).contains("20 bytes, more than the limit of 15"))
    #expect(Self.complaint(two, limits: ManifestLimits(manifestBytes: 20)).contains("more than the limit of 20"))
    #expect(Self.complaint(two, limits: ManifestLimits(entries: 1)).contains("lists 2 bundles and files"))
  }

  @Test(
    "other text than a manifest is refused with its reason",
    arguments: [
      ("", "it is empty"), ("  ", "it is empty"), ("<!doctype html><p>404", "looks like HTML"),
      ("not found", "begins with"),
      ("{", "not JSON"), (#"{"a": 1}"#, "is not a manifest"), ("[1, 2]", "must be an object"),
      ("{\"schema\": 2, \"bundles\": []}", "schema 2"),
      ("{\"schema\": 1, \"release\": \"r\", \"bundles\": 5}", "\"bundles\" must be a list"),
      (#"{"schema": 1, "release": "r", "bundles": [], "identity": {"ignore": 5}}"#, #""ignore" must be"#),
      ("{\"release\": \"r\", \"bundles\": []}", "\"schema\" is missing"),
      ("{\"schema\": 1, \"bundles\": []}", "\"release\""),
    ])
  func otherText(_ text: String, _ reason: String) {
    #expect(Self.complaint(Array(text.utf8)).contains(reason), "\(Self.complaint(Array(text.utf8)))")
  }

  @Test("a leading byte order mark is ignored")
  func byteOrderMark() throws {
    #expect(try Manifest(reading: [0xEF, 0xBB, 0xBF] + Self.json(Self.entry("home"))).bundles.count == 1)
  }

  @Test("a base that is not a URL is refused", arguments: ["ftp://h/", "a b/", "javascript:x"])
  func base(_ base: String) {
    let text = #"{"schema": 1, "release": "r", "base": "\#(base)", "bundles": []}"#
    #expect(Self.complaint(Array(text.utf8)).contains("\"base\""))
  }

  @Test("an empty list is not a manifest")
  func emptyList() {
    #expect(Self.complaint(Array("[]".utf8)).contains("lists nothing"))
  }

  @Test func invalidUTF8IsRefused() {
    #expect(Self.complaint(Self.json(Self.entry("home")) + [0xFF]) == "the manifest is not valid UTF-8")
  }

  @Test func deepNestingIsRefusedAndDoesNotCrash() {
    #expect(Self.complaint(Array(String(repeating: "[", count: 200_000).utf8)).contains("not JSON"))
    let deep = String(repeating: #"{"a":"#, count: 100_000) + "1" + String(repeating: "}", count: 100_000)
    #expect(Self.complaint(Self.json(Self.entry("home"), rest: #", "x": \#(deep)"#)).contains("not JSON"))
  }

  @Test(arguments: [0, 60, 490, 100_000])
  func nestingIsReadUpToTheDepthLimitAndNamedBeyondIt(_ depth: Int) {
    let deep = String(repeating: "[", count: depth) + "1" + String(repeating: "]", count: depth)
    let complaint = Self.complaint(Self.json(Self.entry("home", more: #", "x": \#(deep)"#)))
    if depth <= 60 {
      #expect(complaint.isEmpty)
    } else {
      #expect(
        complaint.hasPrefix("the manifest is not JSON: expected at most 64 levels of nesting, found more at byte"))
    }
  }

  @Test func aManifestOfTooManyValuesIsRefused() {
    let many = String(repeating: "0,", count: 20_000)
    let complaint = Self.complaint(
      Self.json(Self.entry("home", more: #", "x": [\#(many)]"#)), limits: ManifestLimits(entries: 10))
    #expect(complaint.contains("expected at most 10160 values"))
  }

  @Test func aHundredThousandEntriesAreRead() throws {
    let entries = (0..<100_000).map { Self.entry("page\($0)") }.joined(separator: ",")
    #expect(try Manifest(reading: Self.json(entries)).bundles.count == 100_000)
  }

  @Test("an Eros manifest is recognised and read")
  func eros() throws {
    let text = #"""
      {"filesMd5": [{"page": "/pages/home.js", "md5": "\#(Self.md5)"}, {"page": "/images/a.png", "md5": "\#(Self.md5)"}],
       "jsVersion": "abc", "jsPath": "https://cdn/bundle.zip", "appName": "x"}
      """#
    let manifest = try Manifest(reading: Array(text.utf8))
    #expect(manifest.release == "abc")
    #expect(manifest.bundles.map(\.name) == ["pages/home"])
    #expect(manifest.bundles.map(\.path) == ["pages/home.js"])
    #expect(manifest.files.map(\.path) == ["images/a.png"])
    #expect(manifest.additional["jsPath"] == .string("https://cdn/bundle.zip"))
  }

  @Test("a weexbox manifest is recognised and read")
  func weexbox() throws {
    let manifest = try Manifest(reading: Array(#"[{"path": "www/home.js", "md5": "\#(Self.md5)"}]"#.utf8))
    #expect(manifest.bundles.map(\.path) == ["www/home.js"])
    #expect(manifest.bundles.map(\.name) == ["www/home"])
  }

  @Test func faultsInOtherDialectsAreNamedToo() {
    #expect(Self.complaint(Array(#"[{"path": "a.js", "md5": "1"}]"#.utf8)).contains(#"entry[0] ("a.js")"#))
    #expect(
      Self.complaint(Array(#"{"filesMd5": [{"page": "../a.js", "md5": "\#(Self.md5)"}]}"#.utf8)).contains(
        "must stay below"))
  }
}
