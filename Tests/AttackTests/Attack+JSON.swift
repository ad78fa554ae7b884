extension Attack {
  private static let texts: [(name: String, text: String)] = [
    ("500 arrays in one another", String(repeating: "[", count: 500) + String(repeating: "]", count: 500)),
    ("100,000 arrays that are not closed", String(repeating: "[", count: 100_000)),
    ("100,000 objects in one another", String(repeating: "{\"a\":", count: 100_000)),
    ("300,000 values", "[" + String(repeating: "0,", count: 300_000) + "0]"),
    ("a number of 100,000 digits", String(repeating: "9", count: 100_000)),
    ("an exponent beyond all numbers", "1e999999999"),
    ("a text that does not end", "\"" + String(repeating: "a", count: 100_000)),
    ("escapes of half a character", String(repeating: "\"\\ud800\"", count: 1)),
    ("a control character", "\"\u{1}\""),
    ("a name that is there twice", "{\"name\":\"page\",\"name\":\"../secret\"}"),
    ("a name that is no text", "{\"name\":[\"page\"]}"),
    ("a name out of the folder", "{\"name\":\"../secret.txt\"}"),
    ("a URL of a file", "{\"url\":\"file:///etc/passwd\"}"),
    ("a URL of this machine", "{\"url\":\"http://127.0.0.1/\"}"),
    ("two texts", "{} {}"), ("a comment", "{/*x*/}"), ("a comma too many", "{\"name\":\"page\",}"),
    ("nothing", ""), ("a byte order mark", "\u{FEFF}{}"), ("NaN", "NaN"), ("single quotes", "{'name':'page'}"),
    ("a time without end", "{\"name\":\"page\",\"settle\":1e300}"),
    ("a time before now", "{\"name\":\"page\",\"settle\":-1}"),
    ("a type that there is not", "{\"name\":\"page\",\"options\":{\"type\":\"x\\u0000\"}}"),
    ("a location that is another's", "{\"name\":\"nopage\",\"options\":{\"bundleUrl\":\"javascript:alert(1)\"}}"),
  ]

  /// Invalid and oversized JSON.
  static let json: [Attack] = {
    let type = ["Content-Type: application/json"]
    // Of members with the same name the first counts, a trailing comma is accepted, and times have limits.
    let taken = ["a name that is there twice", "a comma too many", "a time without end", "a time before now"]
    let opened: [Attack] = texts.map {
      request(
        "opening a page with \($0.name)", "POST /pages", type, body: $0.text,
        taken.contains($0.name) ? [201] : [400, 403, 404, 413, 422])
    }
    let fired: [Attack] = texts.map {
      request("firing at a page with \($0.name)", "POST /pages/none/fire", type, body: $0.text, [400, 404, 413])
    }
    let tapped: [Attack] = texts.map {
      request("tapping a page with \($0.name)", "POST /pages/none/tap", type, body: $0.text, [400, 404, 413])
    }
    let short = texts.filter { $0.text.utf8.count < 4_000 }
    let shown: [Attack] = short.map {
      request("a page's data are \($0.name)", "GET /render?name=nopage&data=\(encoded($0.text))", [400, 404, 414])
    }
    return opened + fired + tapped + shown
  }()
}
