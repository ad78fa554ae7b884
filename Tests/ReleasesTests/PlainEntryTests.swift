import HTTPTransport
import Testing

@testable import Releases

/// The short ways of reading a manifest, beside the long ones.
struct PlainEntryTests {
  private static let md5 = "0cc175b9c0f1b6a831c399e269772661"

  @Test(
    "an entry is read without the decoder as the decoder reads it, or is left to it",
    arguments: [
      #""path": "a.js""#, #""path": "a.js", "name": "a", "size": 7"#, #""path": "a.js", "name": null"#,
      #""path": "a.js", "size": "7""#, #""path": "a.js", "size": 1e400"#, #""path": "a.js", "size": 7.0"#,
      #""path": "a.js", "preload": "idle", "prefetch": ["x", "y"], "more": {"a": [1]}"#,
      #""path": "a.js", "preload": "never""#, #""path": "a.js", "prefetch": [1]"#, #""path": 1"#, #""name": "a""#,
      #""path": "a.js", "deltas": {"9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0": 8}"#,
      #""path": "a.js", "deltas": {"00": 8}"#, #""path": "a.js", "deltas": [8]"#, #""path": "a.js", "deltas": null"#,
      #""path": "a.js", "sha256": "00""#, #""path": "a.js", "sha256": null"#,
    ])
  func entries(_ members: String) throws {
    guard let value = try? JSONValue(reading: Array("{\"md5\": \"\(Self.md5)\", \(members)}".utf8)),
      case .object(let object) = value
    else { return }
    let decoded = try? value.decoded(as: Manifest.Entry.self)
    let plain = Manifest.Entry(plain: object)
    #expect(plain == nil || plain == decoded)
    // Those of the first, which most manifests have, are not left to the decoder.
    if !members.contains("null") { #expect(plain == decoded) }
  }

  /// An array that is two levels too deep in an entry.
  private static let nested = String(repeating: "[", count: 62) + String(repeating: "]", count: 62)

  private static let manifest = """
    {"schema": 1, "release": "r1", "sequence": 7, "base": "b/", "bundles": [
      {"name": "a", "path": "a.js", "size": 7, "md5": "\(md5)"},{"path":"b/c.js","md5":"\(md5)","preload":"idle"},
      {"path": "ä.js", "md5": "\(md5)", "prefetch": ["x"], "more": {"a": [1, "]}"]}}],
    "x": {"y": "\\"]"}, "files": [{"path": "i.png", "size": 0, "md5": "\(md5.uppercased())"}], "z": 1.5}
    """

  @Test(
    "a manifest that is written plainly is read byte by byte, and as the decoder reads it",
    arguments: [
      Self.manifest, #"{"schema":1,"release":"r","bundles":[]}"#,
      #" { "schema":1, "bundles" : [ ] , "release" : "r" } "#,
      #"{"schema":1,"release":"r","files":[{"path":"f","md5":"\#(Self.md5)"}],"bundles":[]}"#,
    ])
  func plainManifests(_ text: String) throws {
    let bytes = Array(text.utf8)
    let plain = try #require(Manifest(plainly: bytes, limits: ManifestLimits.standard.json))
    #expect(plain == (try Manifest(decoding: bytes, limits: .standard)))
  }

  @Test(
    "a manifest of another form is left to the decoder",
    arguments: [
      "[]", "{}", #"{"schema":1,"bundles":[],"bundles":[{"path":"a"}],"release":"r"}"#,
      #"{"schema":1,"bundl\u0065s":[],"release":"r"}"#,
      #"{"schema":1,"bundles":[],"filesMd5":[],"release":"r"}"#, #"{"schema":1,"bundles":[],"release":"r"}x"#,
      #"{"schema":1,"bundles":[],"release":"r",}"#,
      #"{"schema":1,"bundles":[],"release":"r""#, #"{"schema":1,"bundles":{},"release":"r"}"#,
      #"{"schema":1,"bundles":[{}],"release":"r"}"#,
      #"{"schema":1,"bundles":[{"path":"a","md5":"\#(Self.md5)"},],"release":"r"}"#,
      #"{"schema":1,"bundles":[],"release":1}"#,
      #"{"bundles":[],"schema":2,"release":"r"}"#, #"{"schema":1,"bundles":[],"release":"r","x":1 2}"#,
      #"{"schema":1,"bundles":[{"path":"a","md5":"\#(Self.md5)","x":\#(Self.nested)}],"release":"r"}"#,
    ])
  func otherManifests(_ text: String) {
    #expect(Manifest(plainly: Array(text.utf8), limits: ManifestLimits.standard.json) == nil)
  }

  @Test("entries count to the values of a manifest")
  func values() throws {
    let bytes = Array(Self.manifest.utf8)
    let whole = ManifestLimits.standard.json
    #expect(Manifest(plainly: bytes, limits: JSONLimits(depth: whole.depth, values: 40)) != nil)
    #expect(Manifest(plainly: bytes, limits: JSONLimits(depth: whole.depth, values: 20)) == nil)
  }

  @Test("a manifest with any changed byte is read or refused as the decoder does", arguments: 0..<8 as Range<UInt64>)
  func changedManifests(_ seed: UInt64) {
    func reading(_ body: () throws -> Manifest) -> Result<Manifest, ManifestError> {
      do { return .success(try body()) } catch { return .failure(error as? ManifestError ?? .unrecognised) }
    }
    var state = seed &* 7_919 &+ 1
    func random(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % limit
    }
    let signs = Array(#"{}[]",:\ 0a"#.utf8)
    for _ in 0..<2_000 {
      var bytes = Array(Self.manifest.utf8)
      for _ in 0...random(2) {
        let place = random(bytes.count)
        switch random(4) {
        case 0: bytes.remove(at: place)
        case 1: bytes.insert(signs[random(signs.count)], at: place)
        case 2: bytes.replaceSubrange(place..<min(place + random(40), bytes.count), with: [])
        default: bytes[place] = signs[random(signs.count)]
        }
      }
      guard String(validating: bytes, as: UTF8.self) != nil, ManifestError.notJSONReason(bytes) == nil else { continue }
      let found = reading { try Manifest(reading: bytes) }
      let expected = reading { try Manifest(decoding: bytes, limits: .standard) }
      #expect(found == expected, "\(String(decoding: bytes, as: UTF8.self))")
    }
  }

  @Test(
    "a path becomes the URL that its parsing gives",
    arguments: [
      "a.js", "a/b.js", ".a.js", "a/.b/c.js", "..a/b..js", "a b.js", "a%20b.js", "ä.js", "a?b#c.js", "a;b=c,d@e:f.js",
      "a//b.js", "a%41.js",
      "a/../b.js", "./a.js",
    ])
  func urls(_ path: String) throws {
    let source = try #require(PageURL("http://h/app/manifest.json?v=1"))
    let md5 = try #require(MD5Digest(hex: Self.md5))
    let bundles = try Manifest(release: "r", base: "b", bundles: [.init(name: "n", path: path, md5: md5)])
      .located(at: source)
    let escaped = path.unicodeScalars.map { scalar in
      "ä ?#".unicodeScalars.contains(scalar)
        ? String(scalar).utf8.map { "%" + Hex.encode([$0]).uppercased() }.joined() : String(scalar)
    }.joined()
    #expect(bundles.map(\.url) == [try #require(PageURL("http://h/app/b/\(escaped)"))])
  }
}
