extension Attack {
  private static func path(_ target: Target) -> String { target == .host ? "/bundles/page.js" : "/item" }

  /// Invalid heads.
  static func heads(_ target: Target) -> [Attack] {
    let path = path(target)
    let refused: Set<Int> = [0, 400, 408, 414, 421, 431, 501, 505]
    let lines: [(String, String, Set<Int>)] = [
      ("no method", " \(path) HTTP/1.1", refused), ("no target", "GET HTTP/1.1", refused),
      ("no version", "GET \(path)", refused), ("HTTP/0.9", "GET \(path) HTTP/0.9", refused),
      ("HTTP/2.0 in text", "GET \(path) HTTP/2.0", refused), ("HTTP/3", "GET \(path) HTTP/3", refused),
      ("HTTP/1.9999999999", "GET \(path) HTTP/1.9999999999", refused),
      ("another protocol", "GET \(path) FTP/1.1", refused),
      ("a null in the target", "GET \(path)\0 HTTP/1.1", refused),
      ("a tab in the target", "GET \(path)\tx HTTP/1.1", refused),
      ("a fragment in the target", "GET \(path)#x HTTP/1.1", refused.union([404])),
      ("a target of 100,000 bytes", "GET /\(String(repeating: "a", count: 100_000)) HTTP/1.1", refused),
      ("a method of 100,000 bytes", "\(String(repeating: "A", count: 100_000)) \(path) HTTP/1.1", refused),
      ("a method that there is not", "FOO \(path) HTTP/1.1", refused.union([404, 405])),
      ("a tunnel", "CONNECT 127.0.0.1:80 HTTP/1.1", refused.union([404, 405])),
      ("a trace", "TRACE \(path) HTTP/1.1", refused.union([200, 404, 405])),
      ("another host's URL", "GET http://evil.example/x HTTP/1.1", refused.union([404])),
      ("a URL with a name and a word", "GET http://a:b@localhost\(path) HTTP/1.1", refused.union([404])),
      ("a URL without a host", "GET http:///x HTTP/1.1", refused.union([404])),
      ("a scheme that there is not", "GET gopher://localhost/x HTTP/1.1", refused.union([404])),
    ]
    let fields: [(String, String, Set<Int>)] = [
      ("two hosts", "Host: localhost\r\nHost: evil.example", refused),
      ("no host", "X: y", refused),
      ("a field without a colon", "Host: localhost\r\nBroken", refused),
      ("a field without a name", "Host: localhost\r\n: x", refused),
      ("a space before the colon", "Host: localhost\r\nX : y", refused),
      ("a folded line", "Host: localhost\r\nX: y\r\n z", refused),
      ("a null in a value", "Host: localhost\r\nX: a\0b", refused),
      ("a carriage return in a value", "Host: localhost\r\nX: a\rb", refused),
      ("a control character in a name", "Host: localhost\r\nX\u{1}: b", refused),
      ("500 fields", "Host: localhost\r\n" + (0..<500).map { "X\($0): y" }.joined(separator: "\r\n"), refused),
      ("a field of 100,000 bytes", "Host: localhost\r\nX: " + String(repeating: "y", count: 100_000), refused),
      ("a name of 100,000 bytes", "Host: localhost\r\n" + String(repeating: "x", count: 100_000) + ": y", refused),
      ("an expectation that there is not", "Host: localhost\r\nExpect: 200-ok", refused.union([200, 417])),
      ("an upgrade to another protocol", "Host: localhost\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA", [200]),
    ]
    let ofLines: [Attack] = lines.map { name, line, expected in
      bytes("\(target): \(name)", target, "\(line)\r\nHost: localhost\r\nConnection: close\r\n\r\n", expected)
    }
    let ofFields: [Attack] =
      fields.map { name, field, expected in
        bytes("\(target): \(name)", target, "GET \(path) HTTP/1.1\r\n\(field)\r\nConnection: close\r\n\r\n", expected)
      }
    let ofBytes: [Attack] = [
      bytes(
        "\(target): the beginning of TLS", target, "\u{16}\u{3}\u{1}\u{0}\u{5}\u{1}\u{0}\u{0}\u{1}\u{0}\r\n\r\n",
        refused),
      bytes("\(target): the beginning of HTTP/2", target, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", refused),
      bytes(
        "\(target): lines end without a carriage return", target,
        "GET \(path) HTTP/1.1\nHost: localhost\nConnection: close\n\n", refused.union([200])),
      bytes("\(target): only carriage returns", target, "GET \(path) HTTP/1.1\rHost: localhost\r\r", refused),
      bytes(
        "\(target): empty lines first", target,
        String(repeating: "\r\n", count: 20) + "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        refused.union([200])),
      bytes("\(target): 100,000 empty lines", target, String(repeating: "\r\n", count: 100_000), refused),
      bytes("\(target): zeros", target, String(repeating: "\0", count: 10_000), refused),
    ]
    return ofLines + ofFields + ofBytes
  }

  /// Requests that two servers could interpret differently: bytes hidden in them must not become a request.
  static func framing(_ target: Target) -> [Attack] {
    let hidden = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
    let lengths: [(String, [String])] = [
      ("two lengths", ["Content-Length: 0", "Content-Length: \(hidden.utf8.count)"]),
      ("two lengths in one line", ["Content-Length: 0, \(hidden.utf8.count)"]),
      ("a length with a sign", ["Content-Length: +0"]), ("a negative length", ["Content-Length: -1"]),
      ("a length in hexadecimal", ["Content-Length: 0x0"]), ("a length with a space", ["Content-Length: 0 0"]),
      ("a length beyond all numbers", ["Content-Length: 99999999999999999999999"]),
      ("a length that is no number", ["Content-Length: a"]), ("an empty length", ["Content-Length:"]),
      ("a length beside chunks", ["Content-Length: 5", "Transfer-Encoding: chunked"]),
      ("chunks beside a length", ["Transfer-Encoding: chunked", "Content-Length: 5"]),
      ("chunks that are not the last coding", ["Transfer-Encoding: chunked, gzip"]),
      ("chunks twice", ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"]),
      ("chunks twice in one line", ["Transfer-Encoding: chunked, chunked"]),
      ("chunks written otherwise", ["Transfer-Encoding: xchunked"]),
      ("chunks behind a tab", ["Transfer-Encoding:\tchunked\t, identity"]),
      ("chunks with a parameter", ["Transfer-Encoding: chunked;a=b"]),
      ("chunks in quotes", ["Transfer-Encoding: \"chunked\""]),
      ("a space before the colon of chunks", ["Transfer-Encoding : chunked"]),
      ("chunks in a folded line", ["Transfer-Encoding:", " chunked"]),
      ("an identity coding", ["Transfer-Encoding: identity"]),
    ]
    let chunks: [(String, String)] = [
      ("a chunk's size that is no number", "g\r\n"), ("a chunk's size with a sign", "+1\r\na\r\n0\r\n\r\n"),
      ("a chunk's size with 0x", "0x1\r\na\r\n0\r\n\r\n"), ("a chunk of all sizes", "ffffffffffffffffff\r\na"),
      ("a chunk that is longer than it says", "1\r\nabc\r\n0\r\n\r\n"),
      ("a chunk's extension of 100,000 bytes", "1;\(String(repeating: "a", count: 100_000))\r\na\r\n0\r\n\r\n"),
      ("a chunk that ends with a line feed", "1\na\n0\n\n"), ("a chunk's size behind a space", " 1\r\na\r\n0\r\n\r\n"),
      ("trailers that are none", "0\r\nbroken\r\n\r\n"),
      ("500 trailers", "0\r\n" + (0..<500).map { "X\($0): y\r\n" }.joined() + "\r\n"),
      ("a trailer that is a length", "0\r\nContent-Length: 10\r\n\r\n"),
    ]
    let path = path(target)
    let refused: Set<Int> = [0, 400, 404, 405, 411, 413, 415, 431, 501]
    let ofLengths: [Attack] = lengths.map { name, fields in
      let head = (["POST \(path) HTTP/1.1", "Host: localhost", "Content-Type: application/json"] + fields)
        .joined(separator: "\r\n")
      return bytes("\(target): \(name)", target, head + "\r\n\r\n0\r\n\r\n" + hidden, refused, answers: 1)
    }
    // The first message of these is complete: the bytes after it are a request.
    let whole = ["a chunk's extension of 100,000 bytes", "500 trailers", "a trailer that is a length"]
    // A host that ignores the body answers before it arrives; an error in the body ends the connection then.
    let ofChunks: [Attack] = chunks.map { name, body in
      bytes(
        "\(target): \(name)", target,
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
          + body + (whole.contains(name) ? "" : hidden), refused.union([200]), answers: 2)
    }
    let last: [Attack] = [
      bytes(
        "\(target): a second request behind one that ends the connection", target,
        "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" + hidden, [200], answers: 1)
    ]
    return ofLengths + ofChunks + last
  }

  private static let targets = [
    "/item/../other", "/./item", "//item", "/item%2f..%2fother", "/%69tem", "/item?x=%0d%0aX:y",
    "/item%0d%0aX:%20y", "/item;a=b", "/item%00", "/item?\\", "*", "http://localhost/item", "http://evil.example/item",
  ]
  private static let fieldsForGateways = [
    "X-Forwarded-Host: evil.example", "X-Original-URL: /smuggled", "X-Rewrite-URL: /smuggled", "X-HTTP-Method: PUT",
    "Forwarded: host=evil.example", "Cache-Control: no-cache, no-cache, max-age=99999999999999999999",
    "Range: bytes=0-0,1-1,2-2", "If-None-Match: *", "TE: trailers, chunked", "Connection: host, content-length",
    "Max-Forwards: -1", "Via: 1.1 a, 1.1 b", "Surrogate-Capability: x=\"ESI/1.0\"", "Trailer: Content-Length",
  ]

  /// Requests that the gateway must not answer with stored responses of other requests.
  static let gatewayTargets: [Attack] = {
    let answered: Set<Int> = [200, 206, 304, 400, 404, 416, 421, 501, 508]
    let paths: [Attack] = targets.map {
      request("a target for the gateway: \($0)", "GET \($0)", to: .gateway, answered)
    }
    let fields: [Attack] = fieldsForGateways.map {
      request("a field for the gateway: \($0)", "GET /item", [$0], to: .gateway, answered)
    }
    return paths + fields
  }()
}
