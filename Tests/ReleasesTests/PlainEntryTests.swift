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
