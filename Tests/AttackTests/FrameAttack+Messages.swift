/// RFC 9113 §8: requests.
extension FrameAttack {
  private static let medium = String(repeating: "a", count: 16_000)
  private static let thousand: [UInt8] = (0..<1_000).flatMap { _ in Wire.field("a", "b") }
  private static let fine: Outcome = .answered(1, 200...200)

  private static func bad(_ clause: String, _ name: String, _ fields: [UInt8]...) -> FrameAttack {
    row(clause, name, [Wire.headers(Wire.request + fields)], any: .malformed())
  }

  private static func sent(
    _ clause: String, _ name: String, _ fields: [[UInt8]], _ frames: [[UInt8]], any expected: [Outcome]
  ) -> FrameAttack {
    row(clause, name, [Wire.headers(Wire.sending + fields, 4)] + frames, any: expected)
  }

  static let messages: [FrameAttack] = [
    sent(
      "9113 §8.1", "trailers", [], [Wire.data("x", ends: false), Wire.headers([Wire.field("x", "y")])],
      any: [.answered(1, 200...499)]),
    sent(
      "9113 §8.1", "trailers that do not end the request", [],
      [Wire.data("x", ends: false), Wire.headers([Wire.field("x", "y")], 4)], any: .malformed()),
    sent(
      "9113 §8.1", "trailers with a pseudo-field", [],
      [Wire.data("x", ends: false), Wire.headers([Wire.field(":path", "/other")])], any: .malformed()),
    sent(
      "9113 §8.1", "trailers with a status", [],
      [Wire.data("x", ends: false), Wire.headers([Wire.field(":status", "200")])], any: .malformed()),
    sent(
      "9113 §8.1", "DATA behind trailers", [], [Wire.headers([Wire.field("x", "y")]), Wire.data("x")],
      any: .error(1, .streamClosed) + .malformed()),
    sent(
      "9113 §8.1", "empty trailers", [], [Wire.data("x", ends: false), Wire.headers([])], any: [.answered(1, 200...499)]
    ),
    sent(
      "9113 §8.1.1", "a body that is longer than it says", [Wire.field("content-length", "1")], [Wire.data("xyz")],
      any: .malformed()),
    sent(
      "9113 §8.1.1", "a body that is shorter than it says", [Wire.field("content-length", "9")], [Wire.data("xyz")],
      any: .malformed()),
    sent(
      "9113 §8.1.1", "a body that is said to be empty", [Wire.field("content-length", "0")], [Wire.data("xyz")],
      any: .malformed()),
    bad("9113 §8.1.1", "a length without a body", Wire.field("content-length", "5")),
    bad("9113 §8.1.1", "two lengths", Wire.field("content-length", "0"), Wire.field("content-length", "5")),
    bad("9113 §8.1.1", "a negative length", Wire.field("content-length", "-1")),
    bad("9113 §8.1.1", "a length that is no number", Wire.field("content-length", "five")),
    bad("9113 §8.1.1", "a length with a sign", Wire.field("content-length", "+0")),
    bad("9113 §8.1.1", "a length in a list", Wire.field("content-length", "0, 0")),
    bad("9113 §8.1.1", "a length of 2^63", Wire.field("content-length", "9223372036854775808")),
    bad("9113 §8.1.1", "a length of 2^64", Wire.field("content-length", "18446744073709551616")),
    bad("9113 §8.1.1", "an empty length", Wire.field("content-length", "")),
    bad("9113 §8.2", "a name in upper case", Wire.field("X-Upper", "y")),
    bad("9113 §8.2.1", "a name with a space", Wire.field("x y", "z")),
    bad("9113 §8.2.1", "a name with a line's end", Wire.field("x\r\ny", "z")),
    bad("9113 §8.2.1", "a name with a colon in it", Wire.field("x:y", "z")),
    bad("9113 §8.2.1", "a name with a null", Wire.field("x\0", "z")),
    bad("9113 §8.2.1", "a name with DEL", Wire.field("x\u{7F}", "z")),
    bad("9113 §8.2.1", "a name with a byte above 7F", Wire.field([0x78, 0xE9], [0x7A])),
    row(
      "9113 §8.2.1", "an empty name", [Wire.request(with: Wire.field("", "z"))],
      any: .malformed() + [.connection(.compression)]),
    bad("9113 §8.2.1", "a value with a null", Wire.field("x", "a\0b")),
    bad("9113 §8.2.1", "a value with a line feed", Wire.field("x", "a\nb")),
    bad("9113 §8.2.1", "a value with a carriage return", Wire.field("x", "a\rb")),
    bad("9113 §8.2.1", "a request in a value", Wire.field("x", "a\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: localhost")),
    row(
      "9113 §8.2.1", "a value that begins with a space", [Wire.request(with: Wire.field("x", " a"))],
      any: .malformed() + [fine]),
    row(
      "9113 §8.2.1", "a value that ends with a tab", [Wire.request(with: Wire.field("x", "a\t"))],
      any: .malformed() + [fine]),
    row(
      "9113 §8.2.1", "a value with bytes above 7F", [Wire.request(with: Wire.field([0x78], [0xE9, 0xFF]))],
      any: .malformed() + [fine]),
    row("9113 §8.2.1", "an empty value", [Wire.request(with: Wire.field("x", ""))], fine),
    bad("9113 §8.2.2", "a field of the connection", Wire.field("connection", "close")),
    bad("9113 §8.2.2", "the same, that names a field", Wire.field("connection", "x"), Wire.field("x", "y")),
    bad("9113 §8.2.2", "keep-alive", Wire.field("keep-alive", "timeout=5")),
    bad("9113 §8.2.2", "proxy-connection", Wire.field("proxy-connection", "close")),
    bad("9113 §8.2.2", "a transfer coding", Wire.field("transfer-encoding", "chunked")),
    sent(
      "9113 §8.2.2", "a transfer coding with its chunks", [Wire.field("transfer-encoding", "chunked")],
      [Wire.data("0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n")], any: .malformed()),
    bad("9113 §8.2.2", "an upgrade", Wire.field("upgrade", "websocket")),
    bad("9113 §8.2.2", "TE other than trailers", Wire.field("te", "gzip")),
    bad("9113 §8.2.2", "TE with trailers and more", Wire.field("te", "trailers, chunked")),
    row("9113 §8.2.2", "TE: trailers", [Wire.request(with: Wire.field("te", "trailers"))], fine),
    row(
      "9113 §8.2.3", "cookies in pieces",
      [Wire.request(with: Wire.field("cookie", "a=b"), Wire.field("cookie", "c=d"))], fine),
    row(
      "9110 §10.1.1", "an expectation that there is not", [Wire.request(with: Wire.field("expect", "200-ok"))],
      any: [fine, .answered(1, 417...417)]),
    row(
      "9110 §10.1.1", "an expectation without a body", [Wire.request(with: Wire.field("expect", "100-continue"))],
      .answered(1, 100...200)),
    row(
      "9113 §10.5.1", "a field beyond the limit of the list",
      [
        Wire.frame(1, 1, on: 1, Array(Wire.request.joined()) + Wire.field("x", medium)),
        Wire.continuation([Wire.field("y", medium)]),
      ],
      any: [
        .answered(1, 431...431), .stream(1, .protocolError), .connection(.protocolError), .connection(.enhanceYourCalm),
        .connection(.compression),
      ]),
    row(
      "9113 §10.5.1", "a thousand fields", [Wire.request(with: thousand)],
      any: [
        .answered(1, 431...431), fine, .stream(1, .protocolError), .connection(.enhanceYourCalm),
        .connection(.protocolError), .connection(.compression),
      ]),
  ]

  private static func head(_ clause: String, _ name: String, _ fields: [UInt8]...) -> FrameAttack {
    row(clause, name, [Wire.headers(fields)], any: .malformed())
  }

  static let pseudoFields: [FrameAttack] = [
    head("9113 §8.3", "no fields"),
    head(
      "9113 §8.3", "a pseudo-field behind a field", Wire.get, Wire.https, Wire.authority, Wire.field("a", "b"),
      Wire.path),
    head(
      "9113 §8.3", "a pseudo-field that there is not", Wire.get, Wire.https, Wire.authority, Wire.path,
      Wire.field(":page", "x")),
    head("9113 §8.3", "an empty pseudo-field", Wire.get, Wire.https, Wire.authority, Wire.path, Wire.field(":", "x")),
    head(
      "9113 §8.3", "a status in a request", Wire.get, Wire.https, Wire.authority, Wire.path,
      Wire.field(":status", "200")),
    head(
      "9113 §8.3", "a pseudo-field in upper case", Wire.get, Wire.https, Wire.authority, Wire.field(":Path", "/healthz")
    ),
    head("9113 §8.3.1", "no method", Wire.https, Wire.authority, Wire.path),
    head("9113 §8.3.1", "no scheme", Wire.get, Wire.authority, Wire.path),
    head("9113 §8.3.1", "no path", Wire.get, Wire.https, Wire.authority),
    head("9113 §8.3.1", "two methods", Wire.get, Wire.post, Wire.https, Wire.authority, Wire.path),
    head("9113 §8.3.1", "two schemes", Wire.get, Wire.https, Wire.https, Wire.authority, Wire.path),
    head("9113 §8.3.1", "two paths", Wire.get, Wire.https, Wire.authority, Wire.path, Wire.field(":path", "/other")),
    head("9113 §8.3.1", "two authorities", Wire.get, Wire.https, Wire.authority, Wire.authority, Wire.path),
    head("9113 §8.3.1", "an empty path", Wire.get, Wire.https, Wire.authority, Wire.field(":path", "")),
    head(
      "9113 §8.3.1", "a path that does not begin with a slash", Wire.get, Wire.https, Wire.authority,
      Wire.field(":path", "healthz")),
    head(
      "9113 §8.3.1", "a URL for a path", Wire.get, Wire.https, Wire.authority,
      Wire.field(":path", "https://localhost/healthz")),
    head("9113 §8.3.1", "a path with a space", Wire.get, Wire.https, Wire.authority, Wire.field(":path", "/health z")),
    head(
      "9113 §8.3.1", "a path with a line's end", Wire.get, Wire.https, Wire.authority,
      Wire.field(":path", "/healthz HTTP/1.1\r\nX: y")),
    head("9113 §8.3.1", "a path with a null", Wire.get, Wire.https, Wire.authority, Wire.field(":path", "/healthz\0")),
    head(
      "9113 §8.3.1", "a path with a fragment", Wire.get, Wire.https, Wire.authority, Wire.field(":path", "/healthz#x")),
    head(
      "9113 §8.3.1", "* for a method other than OPTIONS", Wire.get, Wire.https, Wire.authority, Wire.field(":path", "*")
    ),
    head(
      "9113 §8.3.1", "a method with a space", Wire.field(":method", "GET /x"), Wire.https, Wire.authority, Wire.path),
    head(
      "9113 §8.3.1", "a method with a line's end", Wire.field(":method", "GET\r\n"), Wire.https, Wire.authority,
      Wire.path),
    row(
      "9113 §8.3.1", "an empty method",
      [Wire.headers([Wire.field(":method", ""), Wire.https, Wire.authority, Wire.path])],
      any: .malformed() + [.stream(1, .cancel)]),
    row(
      "9113 §8.3.1", "a method that there is not",
      [Wire.headers([Wire.field(":method", "FOO"), Wire.https, Wire.authority, Wire.path])],
      any: .malformed() + [.answered(1, 501...501)]),
    row(
      "9113 §8.3.1", "a scheme that there is not",
      [Wire.headers([Wire.get, Wire.field(":scheme", "gopher"), Wire.authority, Wire.path])], any: .malformed() + [fine]
    ),
    head("9113 §8.3.1", "an empty scheme", Wire.get, Wire.field(":scheme", ""), Wire.authority, Wire.path),
    head(
      "9113 §8.3.1", "a name and a word in the authority", Wire.get, Wire.https,
      Wire.field(":authority", "a:b@localhost"), Wire.path),
    head(
      "9113 §8.3.1", "a path in the authority", Wire.get, Wire.https, Wire.field(":authority", "localhost/x"), Wire.path
    ),
    head(
      "9113 §8.3.1", "a line's end in the authority", Wire.get, Wire.https,
      Wire.field(":authority", "localhost\r\nX: y"), Wire.path),
    head(
      "9113 §8.3.1", "an authority and another host", Wire.get, Wire.https, Wire.authority, Wire.path,
      Wire.field("host", "evil.example")),
    row("9113 §8.3.1", "an authority and the same host", [Wire.request(with: Wire.field("host", "localhost"))], fine),
    row(
      "9113 §8.3.1", "a host without an authority",
      [Wire.headers([Wire.get, Wire.https, Wire.path, Wire.field("host", "localhost")])], fine),
    head("9113 §8.3.1", "neither a host nor an authority", Wire.get, Wire.https, Wire.path),
    head(
      "9113 §8.3.1", "two hosts", Wire.get, Wire.https, Wire.path, Wire.field("host", "localhost"),
      Wire.field("host", "evil.example")),
    row(
      "9113 §8.5", "a tunnel",
      [Wire.headers([Wire.field(":method", "CONNECT"), Wire.field(":authority", "127.0.0.1:22")], 4)],
      any: .malformed() + [.answered(1, 501...501)]),
    head(
      "9113 §8.5", "a tunnel with a path and a scheme", Wire.field(":method", "CONNECT"), Wire.https, Wire.authority,
      Wire.path),
    head("9113 §8.5", "a tunnel without an authority", Wire.field(":method", "CONNECT")),
    row(
      "8441 §4", "a web socket, which was not offered",
      [
        Wire.headers(
          [
            Wire.field(":method", "CONNECT"), Wire.field(":protocol", "websocket"), Wire.https, Wire.authority,
            Wire.path,
          ], 4)
      ], any: .malformed() + [.answered(1, 501...501)]),
    head(
      "8441 §4", "a protocol for GET", Wire.get, Wire.field(":protocol", "websocket"), Wire.https, Wire.authority,
      Wire.path),
  ]
}
