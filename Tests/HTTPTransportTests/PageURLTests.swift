import HTTPTransport
import Testing

struct PageURLTests {
  @Test(arguments: [
    ("HTTP://Example.COM:80/a", "http://example.com/a"),
    ("https://example.com:443", "https://example.com/"),
    ("https://example.com:8443/a", "https://example.com:8443/a"),
    ("http://h/a/./b/../c", "http://h/a/c"),
    ("http://h/a/..", "http://h/"),
    ("http://h/../../a", "http://h/a"),
    ("http://h/%7euser/%c3%a9", "http://h/~user/%C3%A9"),
    ("http://h/a#part", "http://h/a"),
    ("http://h/a?x=1&random=0.5", "http://h/a?x=1"),
    ("http://h/a?random=0.5", "http://h/a"),
    ("http://h/a?randomise=1", "http://h/a?randomise=1"),
    ("http://[::1]:80/a", "http://[::1]/a"),
    ("file:///tmp/a/../b.json", "file:///tmp/b.json"),
  ])
  func equivalentURLsBecomeOne(_ text: String, _ normalised: String) {
    #expect(PageURL(text)?.text == normalised)
  }

  @Test(
    "text that is not an http, https or file URL is refused",
    arguments: [
      "", "home.js", "ftp://h/a", "javascript:alert(1)", "http://", "http:///a", "file://host/a", "http://user:pw@h/a",
      "http://h/a b", "http://h/\u{0}",
    ])
  func otherText(_ text: String) {
    #expect(PageURL(text) == nil)
  }

  @Test func normalisingTwiceChangesNothing() {
    for text in ["http://h/%2F%2e%2E/a", "http://h/a?b=%7e&c=%2f", "http://h//a//b", "http://h/%zz%4"] {
      guard let once = PageURL(text) else { continue }
      #expect(PageURL(once.text) == once)
    }
  }

  @Test(
    "a URL that is normalised already is read as it is without its fragment, which takes another way",
    arguments: [
      "http://h/", "https://h/a", "http://example.com/a/b.c-d_e~f", "http://127.0.0.1:8080/a", "https://h:65535/",
      "http://h:65536/", "http://h:0080/a", "http://h:99999/a", "http://h:80/a", "https://h:443/", "http://h:/a",
      "http://h", "http://H/a", "http:///a", "http://h//a//b", "http://h/.a", "http://h/a/../b", "http://h/./",
      "http:/h/a",
      "http://h/a%7e", "http://h/a?b", "httpss://h/a", "http://a..b/c", "http://-/a", "http://1/a", "http://h/a:b",
      "http://h_h/a", "https:// h/a", "http", "https", "http:", "http://h:12345678/a", "http://.../a",
    ])
  func plain(_ text: String) {
    #expect(PageURL(text)?.text == PageURL(text + "#part")?.text)
  }

  @Test(arguments: [
    ("home.js", "http://h/p/home.js"), ("/x", "http://h/x"), ("//cdn/x", "http://cdn/x"),
    ("https://o/x", "https://o/x"),
    (".", "http://h/p/"), ("?q", "http://h/p/manifest.json?q"),
  ])
  func referencesResolveAsInABrowser(_ reference: String, _ result: String) {
    #expect(PageURL("http://h/p/manifest.json")?.resolving(reference)?.text == result)
  }

  @Test func theOriginIsSchemeHostAndPort() {
    #expect(PageURL("https://example.com:443/a/b")?.origin == "https://example.com")
    #expect(PageURL("http://example.com:81/a")?.origin == "http://example.com:81")
  }

  @Test(
    "a URL is in its normal form or not",
    arguments: [
      ("http://h/a", true), ("http://127.0.0.1:8080/a/b", true), ("http://h/a?q=1", true), ("http://H/a", false),
      ("http://h:80/a", false), ("http://h/a/../b", false), ("http://h", false), ("http://h/%7Ea", false), ("a", false),
    ])
  func normal(_ text: String, _ isNormal: Bool) { #expect(PageURL.isNormal(text) == isNormal) }

  @Test(
    "a data URL is recognised by its scheme",
    arguments: [
      ("data:,a", true), ("DATA:text/plain,a", true), ("Data:", true), ("data", false), ("data/a:b", false),
      ("", false), ("datä:", false),
    ])
  func dataURL(_ text: String, _ isDataURL: Bool) { #expect(text.isDataURL == isDataURL) }
}
