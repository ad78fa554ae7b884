import Foundation
import PageTesting
import Synchronization
import TestServers
import TestSupport
import Testing

/// Origins that lie, as clients behind the gateway and behind the client's loader see them.
@Suite(.timeLimit(.minutes(5)))
struct OriginLieTests {
  @Test(
    "a lie of an origin reaches the gateway's clients as an error, cut, or as it is, and is kept only if it is true")
  func gateway() async throws {
    let rows = OriginLie.all
    try await LyingOrigin.running(rows.map(\.answers)) { origin, server in
      let folder = try TemporaryDirectory()
      let flags = [
        "--gateway", "127.0.0.1:0", "--origin", "http://127.0.0.1:\(server.port)", "--connections-per-address", "1000",
      ]
      try await Daemon.running(nil, folder, flags, isReady: false) { daemon in
        let port = try #require(Int(try await daemon.gateway().split(separator: ":").last ?? ""))
        let found = try await Self.observed(rows) { index, row in
          let client = try RawClient(port: port)
          let lines = ["\(row.method) \(LyingOrigin.path(index)) HTTP/1.1", "Host: localhost", "Connection: close"]
          client.send((lines + row.fields).joined(separator: "\r\n") + "\r\n\r\n")
          return ObservedAnswer(try await client.bytesToEnd(), isHead: row.method == "HEAD")
        } whenFailed: {
          Issue.record("\($0)")
        }
        for (index, row) in rows.enumerated() {
          let place = "\(row.name): \(found[index].map(\.shown)), \(origin.lines(index))"
          #expect(zip(row.gateway.seen, found[index]).allSatisfy { $1.is($0) }, "\(place)")
          #expect(origin.lines(index).count == row.gateway.requests, "\(place)")
        }
        // The gateway is unchanged.
        #expect(try await daemon.get("/healthz").status == 200)
      }
    }
    print("\(rows.count) lies of origins were tried")
    #expect(rows.count >= 250)
    #expect(Set(rows.map(\.name)).count == rows.count)
  }

  @Test("a lie of an origin is an error of the loader, or is taken as it is, and is kept only if it is true")
  func loader() async throws {
    let rows = OriginLie.all
    try await LyingOrigin.running(rows.map(\.answers)) { origin, server in
      let folder = try TemporaryDirectory()
      var found: [Int: [FetchedAnswer]] = [:]
      for round in 0..<3 {
        let asked = rows.indices.filter { rows[$0].loader.seen.count > round }
        // Each row has a host of its own: bytes that one row leaves on a connection are not read as another's answer.
        let requests = asked.map { index in
          FetchedAnswer.Request(
            id: index, url: "http://row-\(index).localhost:\(server.port)\(LyingOrigin.path(index))",
            method: rows[index].method, fields: rows[index].fields)
        }
        for (index, answer) in try await FetchedAnswer.all(of: requests, store: folder.file("store")) {
          found[index, default: []].append(answer)
        }
      }
      for (index, row) in rows.enumerated() {
        let answers = found[index] ?? []
        let place = "\(row.name): \(answers), \(origin.lines(index))"
        #expect(answers.count == row.loader.seen.count, "\(place)")
        #expect(zip(row.loader.seen, answers).allSatisfy { $1.is($0) }, "\(place)")
        #expect(origin.lines(index).count == row.loader.requests, "\(place)")
      }
    }
  }

  @Test("a redirect of an origin is followed as browsers do, and no further than it may")
  func redirects() async throws {
    let rows = RedirectLie.all
    try await LyingOrigin.running(rows.map(\.answers)) { origin, server in
      let folder = try TemporaryDirectory()
      let requests = rows.enumerated().map { index, row in
        FetchedAnswer.Request(
          id: index, url: "http://127.0.0.1:\(server.port)\(LyingOrigin.path(index))/a/b", method: row.method,
          fields: row.fields, body: row.body)
      }
      let found = try await FetchedAnswer.all(of: requests, store: folder.file("store"))
      for (index, row) in rows.enumerated() {
        guard let answer = found[index] else {
          Issue.record("\(row.name): no answer")
          continue
        }
        let lines = origin.lines(index).map { $0.replacing(LyingOrigin.path(index), with: "ROW") }
        let place = "\(row.name): \(answer), \(lines)"
        switch row.expected {
        case .followed(let asked):
          #expect(answer.status == 200 && answer.body == "abc", "\(place)")
          #expect(Array(lines.dropFirst()) == asked, "\(place)")
        case .refused(let words, let count):
          #expect(answer.error?.contains(words) == true, "\(place)")
          #expect(lines.count == count, "\(place)")
        case .taken(let status):
          #expect(answer.status == status && lines.count == 1, "\(place)")
        }
        let last = String(decoding: origin.requests(index).last ?? [], as: UTF8.self)
        if let text = row.sent { #expect(last.contains(text), "\(place): \(last)") }
        if let text = row.kept { #expect(!last.contains(text), "\(place): \(last)") }
      }
    }
    print("\(rows.count) redirects were tried")
    #expect(Set(rows.map(\.name)).count == rows.count)
  }

  /// Sends each row's requests in turn, sixteen rows at a time.
  private static func observed(
    _ rows: [OriginLie], _ send: @escaping @Sendable (Int, OriginLie) async throws -> ObservedAnswer,
    whenFailed: @escaping @Sendable (String) -> Void
  ) async throws -> [[ObservedAnswer]] {
    try await withThrowingTaskGroup(of: (Int, [ObservedAnswer]).self) { group in
      var answers = [[ObservedAnswer]](repeating: [], count: rows.count)
      for (index, row) in rows.enumerated() {
        if index >= 16, let (index, found) = try await group.next() { answers[index] = found }
        group.addTask {
          var found: [ObservedAnswer] = []
          do {
            for _ in row.gateway.seen { found.append(try await send(index, row)) }
          } catch { whenFailed("\(row.name): \(error)") }
          return (index, found)
        }
      }
      for try await (index, found) in group { answers[index] = found }
      return answers
    }
  }
}

/// An origin with a path for each row, which answers the requests of a row in turn.
final class LyingOrigin: Sendable {
  private let answers: [[[UInt8]]]
  private let received: Mutex<[Int: [[UInt8]]]> = .init([:])

  private init(_ answers: [[[UInt8]]]) { self.answers = answers }

  static func path(_ index: Int) -> String { "/row-\(1000 + index)" }

  static func running(
    _ answers: [[[UInt8]]], _ body: (LyingOrigin, RawOrigin) async throws -> Void
  ) async throws {
    let origin = LyingOrigin(answers)
    try await RawOrigin.running({ origin.answer($0) }) { try await body(origin, $0) }
  }

  /// The requests of a row.
  func requests(_ index: Int) -> [[UInt8]] { received.withLock { $0[index] ?? [] } }

  /// The first lines of the requests of a row, without the version.
  func lines(_ index: Int) -> [String] {
    requests(index).map {
      String(decoding: $0.prefix { $0 != 0x0D }, as: UTF8.self).replacing(" HTTP/1.1", with: "")
    }
  }

  private func answer(_ bytes: [UInt8]) -> (bytes: [UInt8], closes: Bool)? {
    guard let border = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let head = String(decoding: bytes[..<border.lowerBound], as: UTF8.self)
    let length = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
    let size = length?.split(separator: " ").last.flatMap { Int($0) } ?? 0
    guard bytes.count >= border.upperBound + size else { return nil }
    guard let mark = head.firstRange(of: "/row-"), let index = Int(head[mark.upperBound...].prefix(4)),
      answers.indices.contains(index - 1000)
    else { return (Array("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".utf8), true) }
    let row = answers[index - 1000]
    let number = received.withLock { received in
      received[index - 1000, default: []].append(bytes)
      return received[index - 1000]?.count ?? 1
    }
    let found = row[min(number, row.count) - 1]
    guard found.count < 10_000, found.contains(UInt8(ascii: "{")) else { return (found, true) }
    // Redirects name their own place.
    let host = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("host:") }?.dropFirst(5) ?? ""
    let port = host.split(separator: ":").last ?? ""
    return (
      found.replacing("{row}".utf8, with: Self.path(index - 1000).utf8).replacing("{port}".utf8, with: port.utf8), true
    )
  }
}

/// An answer as a strict client reads it.
struct ObservedAnswer: Sendable {
  var status = 0
  var body: [UInt8] = []
  /// `true` if the body has ended as its head says, and nothing came behind it.
  var isWhole = false

  init(_ bytes: [UInt8], isHead: Bool) {
    var rest = bytes[...]
    var head = ""
    repeat {
      guard let border = rest.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
      head = String(decoding: rest[..<border.lowerBound], as: UTF8.self)
      rest = rest[border.upperBound...]
      status = Int(head.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0
    } while 100..<200 ~= status
    let lines = head.lowercased().split(separator: "\r\n")
    if isHead || [204, 304].contains(status) {
      isWhole = rest.isEmpty
    } else if lines.contains("transfer-encoding: chunked") {
      readChunks(rest)
    } else if let line = lines.first(where: { $0.hasPrefix("content-length:") }) {
      body = Array(rest)
      isWhole = Int(line.dropFirst("content-length:".count).trimmingCharacters(in: .whitespaces)) == rest.count
    } else {
      (body, isWhole) = (Array(rest), true)
    }
  }

  private mutating func readChunks(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    while let border = rest.firstRange(of: Array("\r\n".utf8)),
      let size = Int(String(decoding: rest[..<border.lowerBound], as: UTF8.self), radix: 16)
    {
      rest = rest[border.upperBound...]
      if size == 0 {
        isWhole = rest.ends(with: Array("\r\n".utf8))
        return
      }
      body += rest.prefix(size)
      guard rest.count >= size + 2 else { return }
      rest = rest.dropFirst(size + 2)
    }
  }

  var shown: String { "\(status) \(isWhole ? "whole" : "cut") \(String(decoding: body.prefix(200), as: UTF8.self))" }

  func `is`(_ expected: OriginLie.Seen) -> Bool {
    switch expected {
    case .failed(let failure):
      status == 502 && isWhole && String(decoding: body, as: UTF8.self).contains(failure.gateway)
    case .cut: status == 200 && !isWhole
    case .whole(let status, let text):
      self.status == status && isWhole && String(decoding: body, as: UTF8.self) == text
    }
  }
}

/// An answer of `bundlectl fetch --stdin`.
struct FetchedAnswer: Sendable, CustomStringConvertible {
  struct Request: Encodable {
    let id: Int
    let url: String
    let method: String
    let headers: [[String]]
    let body: String

    init(id: Int, url: String, method: String, fields: [String], body: String = "") {
      (self.id, self.url, self.method, self.body) = (id, url, method, body)
      headers = fields.map { field in
        let parts = field.split(separator: ":", maxSplits: 1)
        return [String(parts[0]), parts[1].trimmingCharacters(in: .whitespaces)]
      }
    }
  }

  private struct Line: Decodable {
    let id: Int
    let status: Int?
    let body, bodyEncoding, error: String?
  }

  let status: Int?
  let body: String
  let error: String?

  private init(_ line: Line) {
    (status, error) = (line.status, line.error)
    let text = line.body ?? ""
    body =
      line.bodyEncoding == "base64"
      ? String(decoding: Data(base64Encoded: text) ?? Data(), as: UTF8.self) : text
  }

  var description: String { error ?? "\(status ?? 0) \(body.prefix(200))" }

  static func all(of requests: [Request], store: String) async throws -> [Int: FetchedAnswer] {
    let lines = try requests.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) + "\n" }.joined()
    let program = try RunningProgram(
      RunningProgram.built("bundlectl"), ["fetch", "--stdin", "--store", store, "--max-size", "\(4 << 20)"],
      input: .text(lines))
    let result = await program.result()
    #expect(result.status == 0, "\(result.error)")
    var answers: [Int: FetchedAnswer] = [:]
    for text in result.output.split(separator: "\n") {
      let line = try JSONDecoder().decode(Line.self, from: Data(text.utf8))
      answers[line.id] = FetchedAnswer(line)
    }
    return answers
  }

  func `is`(_ expected: OriginLie.Seen) -> Bool {
    switch expected {
    case .failed(let failure): error?.contains(failure.loader) == true
    case .cut: error != nil
    case .whole(let status, let text): error == nil && self.status == status && body == text
    }
  }
}

/// A redirect, or what resembles one, and where the loader goes.
struct RedirectLie: Sendable {
  enum Expected: Sendable {
    /// The requests that follow the first one; the last one is answered with `abc`.
    case followed([String])
    /// The words of the error, and the number of requests.
    case refused(String, Int)
    /// The answer itself, with its status.
    case taken(Int)
  }

  let name: String
  var method = "GET"
  var fields: [String] = []
  var body = ""
  let answers: [[UInt8]]
  let expected: Expected
  /// Text that the last request has.
  var sent: String?
  /// Text that the last request does not have.
  var kept: String?

  private static let end = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"

  private static func answer(_ location: String, _ status: String = "302 Found", _ more: String = "") -> String {
    "HTTP/1.1 \(status)\r\nLocation: \(location)\r\n\(more)Content-Length: 0\r\n\r\n"
  }

  /// A redirect of `ROW/a/b` to this location.
  private static func to(_ name: String, _ location: String, _ expected: Expected) -> RedirectLie {
    RedirectLie(name: name, answers: [answer(location), end].map { Array($0.utf8) }, expected: expected)
  }

  private static func goes(_ name: String, _ location: String, _ path: String) -> RedirectLie {
    to(name, location, .followed(["GET ROW\(path)"]))
  }

  private static func stays(_ name: String, _ location: String, _ words: String = "no http or https URL") -> RedirectLie
  {
    to(name, location, .refused(words, 1))
  }

  private static func sends(
    _ method: String, _ status: String, as other: String, _ text: String? = nil, _ kept: String? = nil
  ) -> RedirectLie {
    RedirectLie(
      name: "\(method) and \(status)", method: method, body: method == "HEAD" ? "" : "content",
      answers: [answer("c", status), end].map { Array($0.utf8) }, expected: .followed(["\(other) ROW/a/c"]), sent: text,
      kept: kept)
  }

  private static func taken(_ name: String, _ text: String, _ status: Int) -> RedirectLie {
    RedirectLie(name: name, answers: [Array(text.utf8)], expected: .taken(status))
  }

  /// A redirect to `ROW/a/c` that sets a cookie.
  private static func cookie(_ name: String, _ value: String, isSent: Bool = false) -> RedirectLie {
    RedirectLie(
      name: "a cookie \(name)",
      answers: [answer("c", "302 Found", "Set-Cookie: \(value)\r\n"), end].map { Array($0.utf8) },
      expected: .followed(["GET ROW/a/c"]), sent: isSent ? "ookie: " : nil, kept: isSent ? nil : "ookie: ")
  }

  static let all: [RedirectLie] = [
    goes("to a file beside", "c", "/a/c"), goes("to a file beside, with a dot", "./c", "/a/c"),
    goes("to the folder above", "../c", "/c"), goes("above the root", "../../../../../..{row}/c", "/c"),
    goes("to a path", "{row}/c", "/c"), goes("to a host without a scheme", "//127.0.0.1:{port}{row}/c", "/c"),
    goes("to a scheme in capitals", "HTTP://127.0.0.1:{port}{row}/c", "/c"),
    goes("to a host of another form", "http://127.1:{port}{row}/c", "/c"),
    RedirectLie(
      name: "to another host, with a password", fields: ["Authorization: Basic YTpi", "Cookie: a=b"],
      answers: [answer("http://localhost:{port}{row}/c"), end].map { Array($0.utf8) },
      expected: .followed(["GET ROW/c"]),
      kept: "YTpi"),
    RedirectLie(
      name: "to another file, with a password", fields: ["Authorization: Basic YTpi"],
      answers: [answer("{row}/c"), end].map { Array($0.utf8) }, expected: .followed(["GET ROW/c"]), sent: "YTpi"),
    goes("to a query", "?q", "/a/b?q"), goes("to a fragment of another file", "c#f", "/a/c"),
    goes("with a space", "c d", "/a/c%20d"), goes("beyond ASCII, by the Fetch standard", "\u{E9}", "/a/%C3%83%C2%A9"),
    goes("with an escaped null", "%00", "/a/%00"), goes("with an escaped line's end", "./c%0d%0aX:y", "/a/c%0D%0AX:y"),
    goes("with an escape that is none", "c%zz", "/a/c%25zz"),
    goes("with dots in escapes", "%2e%2e/c", "/c"), goes("with a backslash", "c\\d", "/a/c%5Cd"),
    goes("to a place of 60 KB", String(repeating: "x", count: 60_000), "/a/\(String(repeating: "x", count: 60_000))"),
    stays("to a place of 1 MB", String(repeating: "x", count: 1 << 20), "not valid HTTP"),
    stays("to itself", "b", "round in a circle"), stays("to a fragment of itself", "#f", "round in a circle"),
    stays("to itself by dots", "./../a/b", "round in a circle"),
    stays("to nowhere", "", "no http or https URL"),
    stays("to a file of the machine", "file:///etc/passwd"),
    stays("to a file of the machine, without a host", "file:/etc/passwd"),
    stays("to a file of the machine, in capitals", "FILE:///etc/passwd"),
    stays("to another protocol", "ftp://127.0.0.1/"), stays("to a script", "javascript:alert(1)"),
    stays("to data", "data:text/plain,abc"), stays("to a socket", "unix:/run/x.sock"),
    stays("to a protocol that there is not", "x-y.z+1://127.0.0.1/"),
    stays("with a name and a word", "http://a:b@127.0.0.1/"), stays("with a name", "http://a@127.0.0.1/"),
    stays("without a host", "http:///c"), stays("without anything but a scheme", "http:"),
    stays("to a host that does not end", "http://[::1"),
    stays("to a port beyond all ports", "http://127.0.0.1:99999/", "not a URL"),
    stays("to a port of letters", "http://127.0.0.1:x/"), stays("to port 0", "http://127.0.0.1:0/", "cannot connect"),
    stays("to a port where nobody listens", "http://127.0.0.1:1/", "cannot connect"),
    stays("two slashes and a null in the host", "//a%00b/", "not a URL"),
    RedirectLie(
      name: "to two places", answers: [answer("c", "302 Found", "Location: d\r\n"), end].map { Array($0.utf8) },
      expected: .refused("no http or https URL", 1)),
    RedirectLie(
      name: "there and back", answers: [answer("c"), answer("b")].map { Array($0.utf8) },
      expected: .refused("round in a circle", 2)),
    RedirectLie(
      name: "further and further", answers: [Array(answer("x/y").utf8)],
      expected: .refused("more than 10 redirects", 11)),
    RedirectLie(
      name: "to half an answer",
      answers: [answer("c"), "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"].map { Array($0.utf8) },
      expected: .refused("the connection ended", 2)),
    RedirectLie(
      name: "of half an answer",
      answers: ["HTTP/1.1 302 Found\r\nLocation: c\r\nContent-Length: 9\r\n\r\nabc", end].map { Array($0.utf8) },
      expected: .followed(["GET ROW/a/c"])),
    RedirectLie(
      name: "to an answer that is no HTTP", answers: [answer("c"), "garbage"].map { Array($0.utf8) },
      expected: .refused("not valid HTTP", 2)),
    sends("POST", "301 Moved", as: "GET", nil, "content"), sends("POST", "302 Found", as: "GET", nil, "content"),
    sends("POST", "303 See Other", as: "GET", nil, "content"), sends("PUT", "303 See Other", as: "GET", nil, "content"),
    sends("PUT", "302 Found", as: "PUT", "content"), sends("POST", "307 Temporary", as: "POST", "content"),
    sends("POST", "308 Permanent", as: "POST", "content"),
    taken("a redirect without a place", "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n", 302),
    taken("a choice with a place", answer("c", "300 Choose"), 300),
    taken("a proxy to use", answer("c", "305 Use Proxy"), 305),
    taken("a status that is used no more", answer("c", "306 Switch Proxy"), 306),
    taken("something created elsewhere", answer("c", "201 Created"), 201),
    taken("an error with a place", answer("c", "404 No"), 404),
    RedirectLie(
      name: "not modified, with a place", answers: [Array(answer("c", "304 Not Modified").utf8)],
      expected: .refused("not valid HTTP", 1)),
    cookie("of this host", "a=b", isSent: true), cookie("of another host", "a=b; Domain=example.com"),
    cookie("of all hosts", "a=b; Domain=com"), cookie("of another path", "a=b; Path=/elsewhere"),
    cookie("that is over", "a=b; Max-Age=0"),
    cookie("that was over long ago", "a=b; Expires=Sat, 01 Jan 2000 00:00:00 GMT"),
    cookie("of the host alone that is not secure", "__Host-a=b; Path=/"),
    cookie("that is secure by its name alone", "__Secure-a=b"),
    cookie("of 10,000 bytes", "a=\(String(repeating: "b", count: 10_000))"),
    cookie("with a control character", "a=b\u{1}c"),
  ]
}
