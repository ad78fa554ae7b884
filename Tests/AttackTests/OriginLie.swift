/// An answer that an origin should not give, or answers that contradict each other, and what a client sees of them.
struct OriginLie: Sendable {
  /// Why there is no answer.
  enum Failure: Sendable {
    case malformed
    /// The connection ends before the head does.
    case closed
    case tooLarge
    case undecodable

    /// The words of the gateway's 502.
    var gateway: String {
      switch self {
      case .malformed: "is not valid HTTP"
      case .closed: "has closed the connection"
      case .tooLarge: "exceeds the limit"
      case .undecodable: "has not answered"
      }
    }

    /// The words of the loader's error.
    var loader: String {
      switch self {
      case .malformed: "the answer is not valid HTTP"
      case .closed: "the connection ended after 0 bytes"
      case .tooLarge: "more than the limit"
      case .undecodable: "data"
      }
    }
  }

  /// The part of an answer that a client sees.
  enum Seen: Sendable, Equatable {
    case failed(Failure)
    /// The head comes, and the body ends too early, so that the client notices it.
    case cut
    case whole(Int, String)
  }

  /// The answers to the requests in turn, and the requests that reach the origin.
  struct Outcome: Sendable {
    let seen: [Seen]
    let requests: Int

    static func each(_ seen: Seen..., requests: Int) -> Outcome { Outcome(seen: seen, requests: requests) }
    private static func twice(_ seen: Seen, requests: Int) -> Outcome {
      Outcome(seen: [seen, seen], requests: requests)
    }

    /// No answer, twice.
    static func refused(_ failure: Failure) -> Outcome { twice(.failed(failure), requests: 2) }
    static let malformed = refused(.malformed)
    static let closed = refused(.closed)
    /// Half an answer, twice: nothing is stored.
    static let cut = twice(.cut, requests: 2)
    /// The same answer twice, from the origin.
    static func passed(_ status: Int = 200, _ body: String = "abc") -> Outcome {
      twice(.whole(status, body), requests: 2)
    }
    /// The same answer twice, from the store at the second time.
    static func kept(_ status: Int = 200, _ body: String = "abc") -> Outcome {
      twice(.whole(status, body), requests: 1)
    }
  }

  let name: String
  var method = "GET"
  /// The fields of each request.
  var fields: [String] = []
  /// The bytes with which the origin answers the requests in turn; the last ones answer all others. Then it closes the
  /// connection.
  let answers: [[UInt8]]
  let gateway: Outcome
  /// Behind the loader of `bundlectl fetch`, a private cache.
  let loader: Outcome

  static let fresh = "Cache-Control: max-age=600"

  static func raw(
    _ name: String, _ text: String, _ gateway: Outcome, loader: Outcome? = nil, method: String = "GET",
    fields: [String] = []
  ) -> OriginLie {
    steps(name, [text], gateway, loader: loader, method: method, fields: fields)
  }

  static func steps(
    _ name: String, _ texts: [String], _ gateway: Outcome, loader: Outcome? = nil, method: String = "GET",
    fields: [String] = []
  ) -> OriginLie {
    OriginLie(
      name: name, method: method, fields: fields, answers: texts.map { Array($0.utf8) }, gateway: gateway,
      loader: loader ?? gateway)
  }

  /// A 200 that is fresh, with these lines of its head and these bytes behind it.
  static func fields(
    _ name: String, _ lines: String, _ body: String, _ gateway: Outcome, loader: Outcome? = nil
  ) -> OriginLie {
    raw(name, "HTTP/1.1 200 OK\r\n\(fresh)\r\n\(lines)\r\n\r\n\(body)", gateway, loader: loader)
  }

  /// A 200 with `abc`, and these lines of its head.
  static func whole(
    _ name: String, _ lines: String, _ gateway: Outcome, loader: Outcome? = nil, fields: [String] = []
  ) -> OriginLie {
    raw(
      name, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\(lines)\r\n\r\nabc", gateway, loader: loader, fields: fields)
  }

  static let all =
    lengths + codings + chunks + statusLines + heads + closings + control + ages + variants + others + parts
    + validations + encodings + digests
}

// MARK: - Framing. RFC 9112

extension OriginLie {
  static let lengths: [OriginLie] = [
    fields("a body longer than its length", "Content-Length: 3", "abcdef", .kept()),
    fields("a body shorter than its length", "Content-Length: 9", "abc", .cut),
    fields("a body behind the length of nothing", "Content-Length: 0", "abc", .kept(200, "")),
    fields("a second answer behind the first", "Content-Length: 3", "abcHTTP/1.1 500 No\r\n\r\n", .kept()),
    fields("no length, and an end", "X: y", "abc", .kept()),
    fields("two lengths", "Content-Length: 3\r\nContent-Length: 4", "abcd", .malformed),
    fields("the same length twice", "Content-Length: 3\r\nContent-Length: 3", "abc", .kept()),
    fields("a list of two lengths", "Content-Length: 3, 4", "abcd", .malformed),
    fields("a list of the same length", "Content-Length: 3, 3", "abc", .kept()),
    fields("a list of a length and nothing", "Content-Length: 3,", "abc", .malformed),
    fields("a length with a plus", "Content-Length: +3", "abc", .malformed),
    fields("a negative length", "Content-Length: -3", "abc", .malformed),
    fields("a length in hexadecimal", "Content-Length: 0x3", "abc", .malformed),
    fields("letters behind a length", "Content-Length: 3a", "abc", .malformed),
    fields("a fraction of a length", "Content-Length: 3.0", "abc", .malformed),
    fields("a length with an exponent", "Content-Length: 3e0", "abc", .malformed),
    fields("a length with an underscore", "Content-Length: 0_3", "abc", .malformed),
    fields("a length in quotes", "Content-Length: \"3\"", "abc", .malformed),
    fields("a length with a parameter", "Content-Length: 3;q=1", "abc", .malformed),
    fields("a space in a length", "Content-Length: 3 0", "abc", .malformed),
    fields("an empty length", "Content-Length:", "abc", .malformed),
    fields("zeros before a length", "Content-Length: 0003", "abc", .kept()),
    fields("a length of 2^63 - 1", "Content-Length: 9223372036854775807", "abc", .refused(.tooLarge)),
    fields("a length of 2^63", "Content-Length: 9223372036854775808", "abc", .malformed),
    fields("a length of 2^64 + 3", "Content-Length: 18446744073709551619", "abc", .malformed),
    fields("a length in Arabic digits", "Content-Length: \u{663}", "abc", .malformed),
    fields("a vertical tab before a length", "Content-Length: \u{B}3", "abc", .malformed),
    fields("a space before the length's colon", "Content-Length : 3", "abc", .malformed),
    fields("a length on a folded line", "Content-Length:\r\n 3", "abc", .malformed),
    fields("a length behind a lone carriage return", "X: y\rContent-Length: 1", "abc", .kept()),
    fields("a length with another name", "Content_Length: 1", "abc", .kept()),
    raw(
      "a body behind the head of HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", .passed(200, ""),
      method: "HEAD"),
    raw(
      "a body without a length in HTTP/1.0", "HTTP/1.0 200 OK\r\n\(fresh)\r\n\r\nabc", .kept()),
  ]

  private static let chunked = "Transfer-Encoding: chunked"
  private static let three = "3\r\nabc\r\n0\r\n\r\n"

  static let codings: [OriginLie] = [
    fields("a length beside chunks", "Content-Length: 3\r\n\(chunked)", three, .malformed),
    fields("chunks twice", "\(chunked)\r\n\(chunked)", three, .malformed),
    fields("chunks twice in a line", "Transfer-Encoding: chunked, chunked", three, .malformed),
    fields("another coding before chunks", "Transfer-Encoding: gzip, chunked", three, .malformed),
    fields("another coding behind chunks", "Transfer-Encoding: chunked, gzip", three, .malformed),
    fields("another coding alone", "Transfer-Encoding: deflate", "abc", .malformed),
    fields("an empty coding", "Transfer-Encoding:", "abc", .malformed),
    fields("chunks and a comma", "Transfer-Encoding: chunked,", three, .malformed),
    fields("chunks with a letter before", "Transfer-Encoding: xchunked", three, .malformed),
    fields("chunks with a parameter", "Transfer-Encoding: chunked;q=1", three, .malformed),
    fields("chunks in quotes", "Transfer-Encoding: \"chunked\"", three, .malformed),
    fields("chunks behind a vertical tab", "Transfer-Encoding: \u{B}chunked", three, .malformed),
    fields("chunks with the sign of Kelvin", "Transfer-Encoding: chun\u{212A}ed", three, .malformed),
    fields("a space before the coding's colon", "Transfer-Encoding : chunked", three, .malformed),
    fields("chunks on a folded line", "Transfer-Encoding:\r\n chunked", three, .malformed),
    fields("chunks and identity", "Transfer-Encoding: chunked, identity", three, .malformed),
    fields("a coding that changes nothing", "Transfer-Encoding: identity", "abc", .kept()),
    fields("a coding that there is not", "Transfer-Encoding: other", "abc", .kept()),
    fields("chunks in capitals", "TRANSFER-ENCODING: CHUNKED", three, .kept()),
    fields("chunks that Connection names", "Connection: transfer-encoding\r\n\(chunked)", three, .kept()),
    fields("a coding behind a lone carriage return", "X: y\r\(chunked)\r\nContent-Length: 3", "abc", .kept()),
    raw("chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\n\(fresh)\r\n\(chunked)\r\n\r\n\(three)", .malformed),
    raw(
      "chunks of a 204", "HTTP/1.1 204 No Content\r\n\(fresh)\r\n\(chunked)\r\n\r\n\(three)", .kept(204, "")),
    raw(
      "chunks behind the head of HEAD", "HTTP/1.1 200 OK\r\n\(chunked)\r\n\r\n\(three)", .passed(200, ""),
      method: "HEAD"),
  ]

  private static func body(_ name: String, _ body: String, _ outcome: Outcome) -> OriginLie {
    fields(name, chunked, body, outcome)
  }

  private static let megabyte = String(repeating: "x", count: 1 << 20)

  static let chunks: [OriginLie] = [
    body("a chunk's size that is no number", "g\r\nabc\r\n0\r\n\r\n", .cut),
    body("a chunk's size with a plus", "+3\r\nabc\r\n0\r\n\r\n", .cut),
    body("a chunk's size with a minus", "-3\r\nabc\r\n0\r\n\r\n", .cut),
    body("a chunk's size in quotes", "\"3\"\r\nabc\r\n0\r\n\r\n", .cut),
    body("a chunk's size behind a space", " 3\r\nabc\r\n0\r\n\r\n", .cut),
    body("a chunk without a size", "\r\nabc\r\n0\r\n\r\n", .cut),
    body("a chunk's size above 2^64", "10000000000000003\r\nabc\r\n0\r\n\r\n", .cut),
    body("a chunk's size of 2^63", "8000000000000000\r\nabc\r\n0\r\n\r\n", .cut),
    body("a chunk's size of 2^63 - 1", "7fffffffffffffff\r\nabc\r\n0\r\n\r\n", .cut),
    body("a chunk's size with 0x", "0x3\r\nabc\r\n0\r\n\r\n", .cut),
    body("a chunk's size before a space", "3 \r\nabc\r\n0\r\n\r\n", .kept()),
    body("a chunk's size with zeros before it", "0000003\r\nabc\r\n0\r\n\r\n", .kept()),
    body("a chunk's size in capitals", "A\r\n0123456789\r\n0\r\n\r\n", .kept(200, "0123456789")),
    body("a chunk longer than its size", "3\r\nabcd\r\n0\r\n\r\n", .cut),
    body("a chunk shorter than its size", "5\r\nabc\r\n0\r\n\r\n", .cut),
    body("a chunk that ends with nothing", "3\r\nabc0\r\n\r\n", .cut),
    body("a chunk that ends with two letters", "3\r\nabcXX0\r\n\r\n", .cut),
    body("a chunk that ends with a carriage return", "3\r\nabc\r0\r\n\r\n", .cut),
    body("an extension of 1 MB", "3;\(megabyte)\r\nabc\r\n0\r\n\r\n", .kept()),
    body("10,000 extensions", "3\(String(repeating: ";a=b", count: 10_000))\r\nabc\r\n0\r\n\r\n", .kept()),
    body("a null in an extension", "3;a\0b\r\nabc\r\n0\r\n\r\n", .kept()),
    body("an answer in an extension", "3;\"HTTP/1.1 500 No\"\r\nabc\r\n0\r\n\r\n", .kept()),
    body(
      "100,000 chunks of one byte", "\(String(repeating: "1\r\na\r\n", count: 100_000))0\r\n\r\n",
      .kept(200, String(repeating: "a", count: 100_000))),
    body("an end of several zeros", "3\r\nabc\r\n000\r\n\r\n", .kept()),
    body("an end with an extension", "3\r\nabc\r\n0;a=b\r\n\r\n", .kept()),
    body("an end alone", "0\r\n\r\n", .kept(200, "")),
    body("bytes behind the end", "3\r\nabc\r\n0\r\n\r\nHTTP/1.1 500 No\r\n\r\n", .kept()),
    body("a trailer that is a length", "3\r\nabc\r\n0\r\nContent-Length: 60\r\n\r\n", .kept()),
    body("a trailer that is a coding", "3\r\nabc\r\n0\r\n\(chunked)\r\n\r\n", .kept()),
    body("a trailer that forbids storing", "3\r\nabc\r\n0\r\nCache-Control: no-store\r\n\r\n", .kept()),
    body("a trailer that sets a cookie", "3\r\nabc\r\n0\r\nSet-Cookie: a=b\r\n\r\n", .kept()),
    body("a trailer that is another status", "3\r\nabc\r\n0\r\n:status: 500\r\n\r\n", .kept()),
    body("a trailer without a colon", "3\r\nabc\r\n0\r\nbroken\r\n\r\n", .cut),
    body("a trailer on a folded line", "3\r\nabc\r\n0\r\nX: y\r\n z\r\n\r\n", .kept()),
    body("trailers of 300 KB", "3\r\nabc\r\n0\r\n\(String(repeating: "X: y\r\n", count: 50_000))\r\n", .cut),
    body("trailers that do not end", "3\r\nabc\r\n0\r\nX: y\r\n", .cut),
  ]

  static let closings: [OriginLie] = [
    raw("nothing", "", .closed),
    raw("an end in the protocol's name", "HTT", .closed),
    raw("an end in the status line", "HTTP/1.1 20", .closed),
    raw("an end behind the status line", "HTTP/1.1 200 OK\r\n", .closed),
    raw("an end in a field's name", "HTTP/1.1 200 OK\r\nCache-Con", .closed),
    raw("an end in a field's value", "HTTP/1.1 200 OK\r\nCache-Control: max-age=600, no-st", .closed),
    raw("an end behind a field", "HTTP/1.1 200 OK\r\n\(fresh)\r\n", .closed),
    raw("an end in the empty line", "HTTP/1.1 200 OK\r\n\(fresh)\r\nContent-Length: 0\r\n\r", .closed),
    raw("an end behind 103", "HTTP/1.1 103 Early Hints\r\n\r\n", .closed),
    fields("an end behind the head", "Content-Length: 3", "", .cut),
    fields("an end before the first chunk", chunked, "", .cut),
    fields("an end in a chunk's size", chunked, "1", .cut),
    fields("an end behind a chunk's size", chunked, "3\r\n", .cut),
    fields("an end in a chunk", chunked, "3\r\nab", .cut),
    fields("an end behind a chunk's bytes", chunked, "3\r\nabc", .cut),
    fields("an end behind a chunk", chunked, "3\r\nabc\r\n", .cut),
    fields("an end in the last chunk's line", chunked, "3\r\nabc\r\n0", .cut),
    fields("an end before the last empty line", chunked, "3\r\nabc\r\n0\r\n", .cut),
  ]

  private static func line(_ name: String, _ line: String, _ outcome: Outcome) -> OriginLie {
    raw(name, "\(line)\r\n\(fresh)\r\nContent-Length: 3\r\n\r\nabc", outcome)
  }

  static let statusLines: [OriginLie] = [
    line("a status of three zeros", "HTTP/1.1 000 No", .malformed),
    line("a status below 100", "HTTP/1.1 099 No", .malformed),
    line("a status of two digits", "HTTP/1.1 20 OK", .malformed),
    line("a status of four digits", "HTTP/1.1 2000 OK", .malformed),
    line("a status with letters", "HTTP/1.1 2x0 OK", .malformed),
    line("a status of letters", "HTTP/1.1 OK", .malformed),
    line("a negative status", "HTTP/1.1 -20 OK", .malformed),
    line("a status with a plus", "HTTP/1.1 +20 OK", .malformed),
    line("a status in hexadecimal", "HTTP/1.1 0xC8 OK", .malformed),
    line("no status", "HTTP/1.1", .malformed),
    line("a status above 599", "HTTP/1.1 600 No", .passed(600)),
    line("the largest status", "HTTP/1.1 999 No", .passed(999)),
    line("an unknown status that is fresh", "HTTP/1.1 299 Odd", .kept(299)),
    line("no reason", "HTTP/1.1 200", .kept()),
    line("a reason of 50 KB", "HTTP/1.1 200 \(String(repeating: "x", count: 50_000))", .kept()),
    line("a reason of 1 MB", "HTTP/1.1 200 \(megabyte)", .malformed),
    line("control characters in the reason", "HTTP/1.1 200 O\u{1}\u{7F}K", .kept()),
    line("a null in the reason", "HTTP/1.1 200 O\0K", .malformed),
    line("a carriage return in the reason", "HTTP/1.1 200 OK\rSet-Cookie: a=b", .kept()),
    line("a second status in the reason", "HTTP/1.1 200 HTTP/1.1 500 No", .kept()),
    line("a tab before the status", "HTTP/1.1\t200 OK", .malformed),
    line("two spaces before the status", "HTTP/1.1  200 OK", .kept()),
    line("no space before the status", "HTTP/1.1200 OK", .malformed),
    line("HTTP/0.9", "HTTP/0.9 200 OK", .malformed),
    line("HTTP/3.7", "HTTP/3.7 200 OK", .malformed),
    // libcurl 7.88 takes it for the version of the connection.
    line("HTTP/2 in text", "HTTP/2 200", .kept()),
    line("a version of two digits", "HTTP/1.10 200 OK", .malformed),
    line("a version without a point", "HTTP/1 200 OK", .malformed),
    line("a protocol in small letters", "http/1.1 200 OK", .malformed),
    line("another protocol", "RTSP/1.0 200 OK", .malformed),
    line("a protocol's name with more letters", "HTTPS/1.1 200 OK", .malformed),
    line("an empty line first", "\r\nHTTP/1.1 200 OK", .malformed),
    line("a space before the status line", " HTTP/1.1 200 OK", .malformed),
    line("a byte order mark before the status line", "\u{FEFF}HTTP/1.1 200 OK", .malformed),
    raw("a body alone", "<html>abc</html>", .malformed),
    raw("the beginning of TLS", "\u{16}\u{3}\u{3}\u{0}\u{2}\r\n\r\n", .malformed),
    raw("lines that end without a carriage return", "HTTP/1.1 200 OK\n\(fresh)\nContent-Length: 3\n\nabc", .kept()),
    raw(
      "a switch to another protocol",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc",
      .malformed),
    raw(
      "a body of a 1xx", "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n", .malformed),
    raw(
      "an early hint, and then the answer",
      "HTTP/1.1 103 Early Hints\r\nCache-Control: no-store\r\n\r\nHTTP/1.1 200 OK\r\n\(fresh)\r\nContent-Length: 3\r\n\r\nabc",
      .kept()),
    raw(
      "10,000 early hints",
      String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", count: 10_000)
        + "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", .malformed),
    raw("a body of a 204", "HTTP/1.1 204 No Content\r\n\(fresh)\r\nContent-Length: 3\r\n\r\nabc", .kept(204, "")),
    raw("a body of a 205", "HTTP/1.1 205 Reset\r\n\(fresh)\r\nContent-Length: 3\r\n\r\nabc", .kept(205, "abc")),
  ]

  private static func many(_ count: Int, _ line: (Int) -> String) -> String {
    (0..<count).map(line).joined(separator: "\r\n")
  }

  static let heads: [OriginLie] = [
    fields("a null in a value", "X: a\0b\r\nContent-Length: 3", "abc", .malformed),
    fields("a null in a name", "X\0: a\r\nContent-Length: 3", "abc", .malformed),
    fields("a line without a colon", "broken\r\nContent-Length: 3", "abc", .malformed),
    fields("an empty name", ": a\r\nContent-Length: 3", "abc", .kept()),
    fields("a space in a name", "X Y: a\r\nContent-Length: 3", "abc", .kept()),
    fields("a name in parentheses", "(X): a\r\nContent-Length: 3", "abc", .kept()),
    fields("a name beyond ASCII", "X\u{E9}: a\r\nContent-Length: 3", "abc", .kept()),
    fields("a control character in a value", "X: a\u{1}b\r\nContent-Length: 3", "abc", .kept()),
    fields("a lone carriage return in a value", "X: a\rSet-Cookie: c=d\r\nContent-Length: 3", "abc", .kept()),
    fields("a folded line", "X: a\r\n\t b\r\nContent-Length: 3", "abc", .kept()),
    raw(
      "a folded line before the first field", "HTTP/1.1 200 OK\r\n X: a\r\n\(fresh)\r\nContent-Length: 3\r\n\r\nabc",
      .malformed),
    raw(
      "a directive on a folded line",
      "HTTP/1.1 200 OK\r\nCache-Control: max-age=600,\r\n no-store\r\nContent-Length: 3\r\n\r\nabc", .passed()),
    raw(
      "a directive behind a lone carriage return",
      "HTTP/1.1 200 OK\r\n\(fresh),\rno-store\r\nContent-Length: 3\r\n\r\nabc", .passed()),
    raw(
      "a directive behind a space before the colon",
      "HTTP/1.1 200 OK\r\n\(fresh)\r\nCache-Control : no-store\r\nContent-Length: 3\r\n\r\nabc", .passed()),
    fields("a field of 90 KB", "X: \(String(repeating: "a", count: 90_000))\r\nContent-Length: 3", "abc", .kept()),
    fields("a field of 1 MB", "X: \(megabyte)\r\nContent-Length: 3", "abc", .malformed),
    fields("a name of 1 MB", "\(megabyte): x\r\nContent-Length: 3", "abc", .malformed),
    fields("5,000 fields", "\(many(5_000) { "X\($0): y" })\r\nContent-Length: 3", "abc", .kept()),
    fields("100,000 fields", "\(many(100_000) { "X\($0): y" })\r\nContent-Length: 3", "abc", .malformed),
    fields("the same field 20,000 times", "\(many(20_000) { _ in "X: y" })\r\nContent-Length: 3", "abc", .kept()),
    fields(
      "10,000 links to preload", "\(many(10_000) { "Link: </a\($0)>; rel=preload" })\r\nContent-Length: 3", "abc",
      .malformed),
    fields(
      "2,000 links to preload, which nobody follows",
      "\(many(2_000) { "Link: </a\($0)>; rel=preload" })\r\nContent-Length: 3", "abc", .kept()),
    fields("a pseudo-field of HTTP/2", ":status: 500\r\nContent-Length: 3", "abc", .kept()),
    fields(
      "a connection of fields that matter", "Connection: cache-control, content-length\r\nContent-Length: 3",
      "abc", .kept()),
    fields("an upgrade that was not asked for", "Upgrade: h2c, websocket\r\nContent-Length: 3", "abc", .kept()),
    fields(
      "a connection that is said to stay",
      "Connection: keep-alive\r\nKeep-Alive: timeout=-1, max=x\r\nContent-Length: 3",
      "abc", .kept()),
    fields(
      "trailers that are announced and do not come", "Trailer: content-length, x\r\nContent-Length: 3", "abc",
      .kept()),
  ]
}
