import Foundation
import HTTPTransport
import Releases
import Testing

struct PageBundleTests {
  private static func located(_ base: String, at url: String, path: String = "home.js") throws -> [String] {
    let md5 = try #require(MD5Digest(hex: String(repeating: "0", count: 32)))
    let manifest = Manifest(release: "r", base: base, bundles: [.init(name: "home", path: path, md5: md5)])
    return try manifest.located(at: try #require(PageURL(url))).map(\.url.text)
  }

  @Test(arguments: [
    ("", "http://h/p/manifest.json", "http://h/p/home.js"),
    ("bundles/", "http://h/p/manifest.json", "http://h/p/bundles/home.js"),
    ("bundles", "http://h/p/manifest.json", "http://h/p/bundles/home.js"),
    ("/b/", "http://h/p/manifest.json?v=2", "http://h/b/home.js"),
    ("https://cdn.example.com/x/", "http://h/manifest.json", "https://cdn.example.com/x/home.js"),
    ("bundles/", "file:///srv/app/manifest.json", "file:///srv/app/bundles/home.js"),
  ])
  func bundlesLieBelowTheBase(_ base: String, _ url: String, _ expected: String) throws {
    #expect(try Self.located(base, at: url) == [expected])
  }

  @Test("a path is a name, not a reference")
  func escapedPath() throws {
    #expect(try Self.located("", at: "http://h/m", path: "a b?c#d.js") == ["http://h/a%20b%3Fc%23d.js"])
    #expect(try Self.located("", at: "http://h/m", path: "50%.js") == ["http://h/50%25.js"])
    #expect(try Self.located("", at: "http://h/m", path: "ü.js") == ["http://h/%C3%BC.js"])
  }

  @Test("a server's manifest must not name files of this machine")
  func localBase() {
    #expect(throws: ManifestError.self) { try Self.located("file:///etc/", at: "http://h/manifest.json") }
  }

  @Test func eachKnownPartOfTheExpectedContentMustMatch() throws {
    let found = try ContentDigests(of: Array("abc".utf8))
    let other = try ContentDigests(of: Array("abd".utf8))
    #expect(ExpectedContent(md5: nil).mismatch(with: found) == nil)
    #expect(ExpectedContent(md5: found.md5, sha256: found.sha256, size: 3).mismatch(with: found) == nil)
    #expect(ExpectedContent(md5: other.md5).mismatch(with: found)?.contains("MD5 \(other.md5)") == true)
    #expect(ExpectedContent(md5: found.md5, sha256: other.sha256).mismatch(with: found)?.contains("SHA-256") == true)
    #expect(ExpectedContent(md5: found.md5, size: 4).mismatch(with: found)?.contains("4 bytes") == true)
  }
}
