extension Attack {
  /// Paths that lead out of a folder.
  private static let climbs = [
    "../secret.txt", "../../secret.txt", "..%2fsecret.txt", "%2e%2e/secret.txt", "%2e%2e%2fsecret.txt",
    "..%252fsecret.txt", "..\\secret.txt", "..%5csecret.txt", "....//secret.txt", "./../secret.txt", "/../secret.txt",
    "a/../../secret.txt", "..;/secret.txt", "%c0%ae%c0%ae/secret.txt", "%ff../secret.txt", "..%00/secret.txt",
    "%00", "page.js%00.md5", "page.js/../../secret.txt", "/etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd",
    "C:\\secret.txt", "~/secret.txt", "linked.txt", ".hidden.js", "%E2%80%AE/..", "..%e3%80%82/secret.txt",
  ]

  private static let folders = ["/bundles/", "/blobs/", "/releases/", "/"]

  /// Files that are not in the release.
  static let paths: [Attack] = {
    let answered: Set<Int> = [400, 404, 421]
    let direct: [Attack] = .each(folders, climbs) { folder, climb in
      request("a path out of the folder: \(folder)\(climb)", "GET \(folder)\(climb)", answered)
    }
    let named: [Attack] = climbs.map {
      request("a bundle's name out of the folder: \($0)", "GET /render?name=\($0)", [400, 403, 404])
    }
    return direct + named
  }()

  private static let wantedRanges = [
    "bytes=0-0,0-0,0-0", "bytes=-0", "bytes=999999999999999999999-", "bytes=0-18446744073709551616", "bytes=5-1",
    "bytes=--1", "bytes=a-b", "items=0-1", "bytes=", "bytes", "bytes=0-1;q=1", "bytes=0x0-0x1", "bytes= 0 - 1 ",
    "bytes=-18446744073709551615", "bytes=" + Array(repeating: "0-0", count: 500).joined(separator: ","),
  ]
  private static let conditions = [
    "If-None-Match", "If-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range", "Accept-Encoding",
  ]
  private static let brokenValues = [
    "*", "\"", "W/", "\"a\",", String(repeating: "\"a\",", count: 1_000), "Thu, 99 Foo 99999 99:99:99 GMT",
    "gzip;q=nan", "br;q=1;q=2, *;q=-1",
  ]

  /// Ranges and conditions.
  static let ranges: [Attack] = {
    let byRange: [Attack] = wantedRanges.map {
      request("a range: \($0.prefix(30))", "GET /bundles/page.js", ["Range: \($0)"], [200, 206, 400, 416])
    }
    let byCondition: [Attack] = .each(conditions, brokenValues) { name, value in
      request(
        "\(name): \(value.prefix(30))", "GET /bundles/page.js", ["\(name): \(value)"],
        [200, 206, 304, 400, 406, 412])
    }
    return byRange + byCondition
  }()
}
