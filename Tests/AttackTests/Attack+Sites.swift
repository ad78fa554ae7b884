extension Attack {
  /// Addresses of this machine and of its networks, and schemes other than those of the web.
  private static let urls = [
    "http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/",
    "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://0.0.0.0/", "http://localhost/", "http://localhost./",
    "http://LOCALHOST/", "http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.0.1/", "http://169.254.169.254/",
    "http://[fe80::1]/", "http://[fc00::1]/", "http://100.64.0.1/", "http://[64:ff9b::7f00:1]/",
    "http://user:word@127.0.0.1/", "http://example.com@127.0.0.1/", "http://127.0.0.1%2f@example.com/",
    "file:///etc/passwd", "file://localhost/etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "javascript:1",
    "dict://127.0.0.1:11211/", "unix:/run/x.sock", "http://", "//127.0.0.1/", "\\\\127.0.0.1\\x", "http:///x",
    "http://127.0.0.1:0/", "http://127.0.0.1:99999/", "http://%31%32%37.0.0.1/", "http://①②⑦.0.0.1/",
    "http://127.0.0.1\t/", "http://[::1", "http://a..b/", "data:text/html,x",
  ]

  /// Requests that only this machine may send.
  static let addresses: [Attack] = {
    let refused: Set<Int> = [400, 403, 404]
    let resources: [Attack] = urls.map {
      request(
        "a resource of another place: \($0)", "GET /resources?url=\(encoded($0))",
        $0.hasPrefix("data:") ? [200, 400] : refused)
    }
    let pages: [Attack] = urls.map {
      request("a page of another place: \($0)", "GET /render?url=\(encoded($0))", refused)
    }
    return resources + pages
  }()

  private static let hosts = [
    "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:80", "127.0.0.1@evil.example",
    "[::1].evil.example", "localhost:80:80", "localhost/", "localhost:x", "lo calhost", "localhost,evil.example",
    "0x7f.1.evil",
  ]
  private static let own = ["GET /status", "GET /metrics", "GET /pages/barred", "POST /pages", "GET /render?name=page"]
  private static let opening = "{\"name\":\"page\"}"

  private static let foreign = [
    "https://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1.evil.example", "file://",
  ]
  private static let changes = [
    "POST /pages", "POST /pages/1/fire", "POST /pages/1/tap", "POST /pages/1/refresh", "POST /pages/1/reload",
    "DELETE /pages/1",
  ]
  private static let types = [
    "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/jsonx",
  ]

  /// Foreign names and pages of other sites.
  static let sites: [Attack] = {
    let named: [Attack] = .each(own, hosts) { line, host in
      let fields = ["Host: \(host)", "Content-Type: application/json"]
      let body = line.hasPrefix("POST") ? opening : nil
      return request("\(line) for the host “\(host)”", line, fields, body: body, [400, 403, 421])
    }
    let changed: [Attack] = .each(foreign, changes) { origin, line in
      request(
        "\(line) from \(origin)", line, ["Origin: \(origin)", "Content-Type: application/json"], body: opening, [403])
    }
    let typed: [Attack] = .each(types, Array(changes.prefix(4))) { type, line in
      request("\(line) as “\(type)”", line, ["Content-Type: \(type)"], body: opening, [415])
    }
    let fetched: [Attack] = ["GET /status", "GET /render?name=page", "POST /pages"].map {
      request(
        "\($0) fetched by another site", $0, ["Sec-Fetch-Site: cross-site", "Content-Type: application/json"],
        body: $0.hasPrefix("POST") ? opening : nil, [403])
    }
    return named + changed + typed + fetched
  }()

  private static let orders = [
    "POST /admin/relaunch", "POST /admin/cache/clear", "POST /admin/gateway/purge", "GET /admin/settings",
    "POST /admin/release/halt", "POST /admin/release/resume",
    "GET /admin/", "GET //admin/settings", "GET /admin%2fsettings", "GET /ADMIN/settings",
  ]
  private static let tokens: [[String]] = [
    [], ["Authorization: Bearer"], ["Authorization: Bearer "], ["Authorization: Bearer wrong"],
    ["Authorization: Basic c2VjcmV0OnNlY3JldA=="], ["Authorization: bearer\ta-secret-of-16-bytes"],
    ["Authorization: Bearer a-secret-of-16-bytes", "Authorization: Bearer wrong"], ["Cookie: token=secret"],
  ]

  /// Requests that require the token.
  static let administration: [Attack] = .each(orders, tokens) { line, fields in
    let body = line.hasPrefix("POST") ? "{}" : nil
    return request(
      "\(line) with \(fields)", line, fields + ["Content-Type: application/json"], body: body,
      [400, 401, 403, 404, 415])
  }
}
