/// A message that two servers could read differently, and what may come of it behind the gateway.
struct Smuggling: Sendable {
  enum Outcome: Sendable {
    /// The client gets a status of the 400 class, 501 or 505, or its connection ends; the origin gets no request.
    case refused
    /// The origin gets exactly one request, with this line and this body.
    case passed(String, String)
    /// Either of both.
    case either(String, String)
  }

  let name: String
  /// The bytes. `item-0000` stands for the name of the row's own path.
  let bytes: [UInt8]
  let expected: Outcome

  /// The request that nobody has sent.
  static let hidden = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"

  private static let chunked = "Transfer-Encoding: chunked"
  private static let chunks = "3\r\nabc\r\n0\r\n\r\n"

  /// A row whose bytes are a text, behind which the hidden request comes.
  private static func refused(_ name: String, _ text: String) -> Smuggling {
    Smuggling(name: name, bytes: Array((text + hidden).utf8), expected: .refused)
  }

  private static func post(_ name: String, _ fields: String, _ body: String) -> Smuggling {
    refused(name, "POST /item-0000 HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n\r\n\(body)")
  }

  private static func get(_ name: String, _ line: String, _ fields: String = "Host: localhost") -> Smuggling {
    refused(name, "\(line)\r\n\(fields)\r\n\r\n")
  }

  /// A request in order, which is the last of its connection: what comes behind it is no request.
  private static func passed(_ name: String, _ fields: String, _ body: String, as content: String) -> Smuggling {
    let text = "POST /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(fields)\r\n\r\n\(body)\(hidden)"
    return Smuggling(name: name, bytes: Array(text.utf8), expected: .passed("POST /item-0000 HTTP/1.1", content))
  }

  private static func either(
    _ name: String, _ text: String, _ line: String = "GET /item-0000 HTTP/1.1", _ content: String = ""
  ) -> Smuggling {
    Smuggling(name: name, bytes: Array((text + hidden).utf8), expected: .either(line, content))
  }

  static let lengths: [Smuggling] = [
    post("two lengths", "Content-Length: 3\r\nContent-Length: 60", "abc"),
    post("the same length twice", "Content-Length: 3\r\nContent-Length: 3", "abc"),
    post("a list of two lengths", "Content-Length: 3, 60", "abc"),
    post("a list of the same length", "Content-Length: 3, 3", "abc"),
    post("a length and a comma", "Content-Length: 3,", "abc"),
    post("a comma and a length", "Content-Length: ,3", "abc"),
    post("a length with a plus", "Content-Length: +3", "abc"),
    post("a length with a minus", "Content-Length: -3", "abc"),
    post("a length in hexadecimal", "Content-Length: 0x3", "abc"),
    post("a length with letters behind it", "Content-Length: 3a", "abc"),
    post("a length with a space in it", "Content-Length: 3 0", "abc"),
    post("a length with a parameter", "Content-Length: 3;x", "abc"),
    post("a length with a fraction", "Content-Length: 3.0", "abc"),
    post("a length with an exponent", "Content-Length: 3e0", "abc"),
    post("a length with an underscore", "Content-Length: 0_3", "abc"),
    post("a length in quotes", "Content-Length: \"3\"", "abc"),
    post("a length in Arabic digits", "Content-Length: \u{663}", "abc"),
    post("a length in wide digits", "Content-Length: \u{FF13}", "abc"),
    post("a length behind a vertical tab", "Content-Length: \u{B}3", "abc"),
    post("a length before a form feed", "Content-Length: 3\u{C}", "abc"),
    post("a length before a null", "Content-Length: 3\0", "abc"),
    post("no length in its field", "Content-Length:", "abc"),
    post("a length of 2^63", "Content-Length: 9223372036854775808", "abc"),
    post("a length of 2^64 - 1", "Content-Length: 18446744073709551615", "abc"),
    post("a length of 2^64", "Content-Length: 18446744073709551616", "abc"),
    post("a length of 2^64 + 3", "Content-Length: 18446744073709551619", "abc"),
    post("a space before the colon of the length", "Content-Length : 3", "abc"),
    post("a tab before the colon of the length", "Content-Length\t: 3", "abc"),
    post("a length on a folded line", "Content-Length:\r\n 3", "abc"),
    post("a length behind a lone carriage return", "X: y\rContent-Length: 3", "abc"),
    passed("a length with a zero before it", "Content-Length: 03", "abc", as: "abc"),
    passed(
      "a length with 30 zeros before it", "Content-Length: \(String(repeating: "0", count: 30))3", "abc", as: "abc"),
    either(
      "a length behind spaces and tabs",
      "POST /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \t 3 \t\r\n\r\nabc",
      "POST /item-0000 HTTP/1.1", "abc"),
    passed("a length in capitals", "CONTENT-LENGTH: 3", "abc", as: "abc"),
    passed("a length of nothing", "Content-Length: 0", "", as: ""),
    passed("a length that Connection names", "Connection: content-length\r\nContent-Length: 3", "abc", as: "abc"),
  ]

  static let codings: [Smuggling] = [
    post("a length beside chunks", "Content-Length: 3\r\n\(chunked)", chunks),
    post("chunks beside a length", "\(chunked)\r\nContent-Length: 3", chunks),
    post("a length of nothing beside chunks", "Content-Length: 0\r\n\(chunked)", chunks),
    post("a length behind every other field", "\(chunked)\r\nX: y\r\nContent-Length: 60", chunks),
    post("chunks twice", "\(chunked)\r\n\(chunked)", chunks),
    post("chunks twice in a line", "Transfer-Encoding: chunked, chunked", chunks),
    post("chunks and identity", "Transfer-Encoding: chunked, identity", chunks),
    post("identity and chunks", "Transfer-Encoding: identity, chunked", chunks),
    post("identity", "Transfer-Encoding: identity", chunks),
    post("identity beside a length", "Transfer-Encoding: identity\r\nContent-Length: 3", "abc"),
    post("chunks that are not the last coding", "Transfer-Encoding: chunked, gzip", chunks),
    post("another coding without chunks", "Transfer-Encoding: gzip", chunks),
    post("another coding and chunks", "Transfer-Encoding: gzip, chunked", chunks),
    post("two lines of codings", "\(chunked)\r\nTransfer-Encoding: identity", chunks),
    post("an empty coding", "Transfer-Encoding:", chunks),
    post("an empty coding beside a length", "Transfer-Encoding:\r\nContent-Length: 3", "abc"),
    post("chunks and a comma", "Transfer-Encoding: chunked,", chunks),
    post("a comma and chunks", "Transfer-Encoding: ,chunked", chunks),
    post("chunks with a letter before", "Transfer-Encoding: xchunked", chunks),
    post("chunks with a letter behind", "Transfer-Encoding: chunkedx", chunks),
    post("chunks with a parameter", "Transfer-Encoding: chunked;q=1", chunks),
    post("chunks in quotes", "Transfer-Encoding: \"chunked\"", chunks),
    post("chunks in single quotes", "Transfer-Encoding: 'chunked'", chunks),
    post("chunks cut by a space", "Transfer-Encoding: chun ked", chunks),
    post("chunks behind a vertical tab", "Transfer-Encoding: \u{B}chunked", chunks),
    post("chunks before a vertical tab", "Transfer-Encoding: chunked\u{B}", chunks),
    post("chunks before a null", "Transfer-Encoding: chunked\0", chunks),
    post("chunks with the sign of Kelvin", "Transfer-Encoding: chun\u{212A}ed", chunks),
    post("a space before the colon of chunks", "Transfer-Encoding : chunked", chunks),
    post("a tab before the colon of chunks", "Transfer-Encoding\t: chunked", chunks),
    post("a space before the name of the coding", " Transfer-Encoding: chunked\r\nContent-Length: 3", "abc"),
    post("chunks on a folded line", "Transfer-Encoding:\r\n chunked", chunks),
    post("chunks behind a folded line", "X: y\r\n \(chunked)\r\nContent-Length: 3", "abc"),
    post("a null in the coding's name", "Transfer\0-Encoding: chunked\r\nContent-Length: 3", "abc"),
    post("a coding behind a lone carriage return", "X: y\r\(chunked)\r\nContent-Length: 3", "abc"),
    post("a coding behind a lone line feed, beside a length", "X: y\n\(chunked)\r\nContent-Length: 3", "abc"),
    post("a coding without a colon", "Transfer-Encoding chunked\r\nContent-Length: 3", "abc"),
    post("a coding with an equals sign", "Transfer-Encoding=chunked\r\nContent-Length: 3", "abc"),
    refused("chunks in HTTP/1.0", "POST /item-0000 HTTP/1.0\r\nHost: localhost\r\n\(chunked)\r\n\r\n\(chunks)"),
    refused(
      "chunks beside a length in HTTP/1.0",
      "POST /item-0000 HTTP/1.0\r\nHost: localhost\r\n\(chunked)\r\nContent-Length: 3\r\n\r\n\(chunks)"),
    passed("chunks in capitals", "TRANSFER-ENCODING: CHUNKED", chunks, as: "abc"),
    either(
      "chunks behind spaces and tabs",
      "POST /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: \t chunked \t\r\n\r\n\(chunks)",
      "POST /item-0000 HTTP/1.1", "abc"),
    passed("chunks that Connection names", "Connection: transfer-encoding\r\n\(chunked)", chunks, as: "abc"),
  ]

  private static func body(_ name: String, _ chunks: String) -> Smuggling { post(name, chunked, chunks) }
  private static func whole(_ name: String, _ chunks: String, _ content: String = "abc") -> Smuggling {
    passed(name, chunked, chunks, as: content)
  }

  static let chunkForms: [Smuggling] = [
    body("a chunk's size that is no number", "g\r\nabc\r\n0\r\n\r\n"),
    body("a chunk's size with a plus", "+3\r\nabc\r\n0\r\n\r\n"),
    body("a chunk's size with a minus", "-3\r\nabc\r\n0\r\n\r\n"),
    body("a chunk's size with 0x", "0x3\r\nabc\r\n0\r\n\r\n"),
    body("a chunk's size above 2^64", "10000000000000003\r\nabc\r\n0\r\n\r\n"),
    body("a chunk's size of 2^63", "8000000000000000\r\nabc\r\n0\r\n\r\n"),
    body("a chunk's size behind a space", " 3\r\nabc\r\n0\r\n\r\n"),
    body("a chunk's size before a space", "3 \r\nabc\r\n0\r\n\r\n"),
    body("a chunk's size before a tab", "3\t\r\nabc\r\n0\r\n\r\n"),
    body("a chunk without a size", "\r\nabc\r\n0\r\n\r\n"),
    body("a chunk's size in quotes", "\"3\"\r\nabc\r\n0\r\n\r\n"),
    body("a chunk's size with an underscore", "0_3\r\nabc\r\n0\r\n\r\n"),
    body("a chunk's size before a null", "3\0\r\nabc\r\n0\r\n\r\n"),
    body("a chunk that is longer than it says", "3\r\nabcd\r\n0\r\n\r\n"),
    body("a chunk that is shorter than it says", "5\r\nabc\r\n0\r\n\r\n"),
    body("a chunk's line that ends with a line feed", "3\nabc\r\n0\r\n\r\n"),
    body("a chunk that ends with a line feed", "3\r\nabc\n0\r\n\r\n"),
    body("a chunk that ends with a carriage return", "3\r\nabc\r0\r\n\r\n"),
    body("a chunk that ends with nothing", "3\r\nabc0\r\n\r\n"),
    body("two letters for the end of a chunk", "3\r\nabcXX0\r\n\r\n"),
    body("a line feed in an extension", "3;a\nb\r\nabc\r\n0\r\n\r\n"),
    body("a carriage return in an extension", "3;a\rb\r\nabc\r\n0\r\n\r\n"),
    body("a null in an extension", "3;a\0b\r\nabc\r\n0\r\n\r\n"),
    body("a negative end", "3\r\nabc\r\n-0\r\n\r\n"),
    body("a trailer without a colon", "3\r\nabc\r\n0\r\nbroken\r\n\r\n"),
    body("a trailer with a space before its colon", "3\r\nabc\r\n0\r\nX : y\r\n\r\n"),
    body("a trailer on a folded line", "3\r\nabc\r\n0\r\nX: y\r\n z\r\n\r\n"),
    body("a carriage return in a trailer", "3\r\nabc\r\n0\r\nX: y\rz\r\n\r\n"),
    body("a null in a trailer", "3\r\nabc\r\n0\r\nX: \0\r\n\r\n"),
    whole("a chunk's size with zeros before it", "0003\r\nabc\r\n0\r\n\r\n"),
    whole("a chunk's size in capitals", "A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
    whole("two chunks", "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"),
    whole("chunks of nothing", "0\r\n\r\n", ""),
    whole("an end of several zeros", "3\r\nabc\r\n000\r\n\r\n"),
    whole("an extension", "3;a=\"b\"\r\nabc\r\n0\r\n\r\n"),
    whole("an extension with a request in it", "3;a=\"GET /smuggled HTTP/1.1\"\r\nabc\r\n0\r\n\r\n"),
    whole("a chunk with a request in it", "2B\r\n\(hidden)\r\n0\r\n\r\n", hidden),
  ]

  static let heads: [Smuggling] = [
    get("a null in a name", "GET /item-0000 HTTP/1.1", "Host: localhost\r\nX\0: y"),
    get("a folded line", "GET /item-0000 HTTP/1.1", "Host: localhost\r\nX: y\r\n z"),
    get("a name in parentheses", "GET /item-0000 HTTP/1.1", "Host: localhost\r\n(X): y"),
    get("a name with a slash", "GET /item-0000 HTTP/1.1", "Host: localhost\r\nX/y: z"),
    get("a name with DEL", "GET /item-0000 HTTP/1.1", "Host: localhost\r\nX\u{7F}: z"),
    get("a name above 7F", "GET /item-0000 HTTP/1.1", "Host: localhost\r\nX\u{E9}: z"),
    get("an empty name", "GET /item-0000 HTTP/1.1", "Host: localhost\r\n: y"),
    get("a line without a colon", "GET /item-0000 HTTP/1.1", "Host: localhost\r\nGET /smuggled HTTP/1.1"),
    get("a space before the first name", "GET /item-0000 HTTP/1.1", " Host: localhost"),
    get("a lone carriage return in a value", "GET /item-0000 HTTP/1.1", "Host: localhost\r\nX: y\rGET /smuggled"),
    get("a null in a value", "GET /item-0000 HTTP/1.1", "Host: localhost\r\nX: \0"),
    get("two hosts", "GET /item-0000 HTTP/1.1", "Host: localhost\r\nHost: evil.example"),
    get("the same host twice", "GET /item-0000 HTTP/1.1", "Host: localhost\r\nHost: localhost"),
    get("a host with a comma", "GET /item-0000 HTTP/1.1", "Host: localhost, evil.example"),
    get("a host with a space", "GET /item-0000 HTTP/1.1", "Host: localhost evil.example"),
    get("a host with a path", "GET /item-0000 HTTP/1.1", "Host: localhost/x"),
    get("a host with a name and a word", "GET /item-0000 HTTP/1.1", "Host: a:b@localhost"),
    get(
      "a host with letters for its port", "GET /item-0000 HTTP/1.1", "Host: localhost:x\r\nConnection: close"),
    get("a space before the colon of the host", "GET /item-0000 HTTP/1.1", "Host : localhost"),
    get("no host", "GET /item-0000 HTTP/1.1", "X: y"),
    get("a null in the target", "GET /item-0000\0 HTTP/1.1"),
    get("a control character in the target", "GET /item-0000\u{1} HTTP/1.1"),
    get("a space in the target", "GET /item-0000 /smuggled HTTP/1.1"),
    get("a tab for a space", "GET\t/item-0000 HTTP/1.1"),
    get("a carriage return in the target", "GET /item-0000\rX HTTP/1.1"),
    get("a fragment in the target", "GET /item-0000#x HTTP/1.1", "Host: localhost\r\nConnection: close"),
    get("no version", "GET /item-0000"),
    get("a version of two digits", "GET /item-0000 HTTP/1.10"),
    get("a version with a zero before it", "GET /item-0000 HTTP/01.1"),
    get("a version in small letters", "GET /item-0000 http/1.1"),
    get("HTTP/2.0 in text", "GET /item-0000 HTTP/2.0"),
    get("a method with a colon", "GET: /item-0000 HTTP/1.1"),
    get("a method in small letters", "get /item-0000 HTTP/1.1"),
    get("a method that there is not", "SMUGGLE /item-0000 HTTP/1.1"),
    get("a space before the method", " GET /item-0000 HTTP/1.1"),
    get("a target without a slash", "GET item-0000 HTTP/1.1", "Host: localhost\r\nConnection: close"),
    get(
      "a URL with a name and a word", "GET http://a@localhost/item-0000 HTTP/1.1",
      "Host: localhost\r\nConnection: close"),
    get("a tunnel", "CONNECT item-0000:80 HTTP/1.1", "Host: item-0000:80\r\nConnection: close"),
    get("* for GET", "GET * HTTP/1.1", "Host: localhost\r\nConnection: close"),
    refused("the beginning of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    refused("only carriage returns", "GET /item-0000 HTTP/1.1\rHost: localhost\r\r"),
    either("a space behind the version", "GET /item-0000 HTTP/1.1 \r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    either("two spaces before the version", "GET /item-0000  HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    either("two spaces before the target", "GET  /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    either("only line feeds", "GET /item-0000 HTTP/1.1\nHost: localhost\nConnection: close\n\n"),
    either("an empty line first", "\r\nGET /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    either("a line feed first", "\nGET /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    either(
      "an escaped line's end in the target",
      "GET /item-0000%0d%0aX:y HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
      "GET /item-0000%0d%0aX:y HTTP/1.1"),
    either(
      "a URL for a target", "GET http://localhost/item-0000 HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    ),
    either("HTTP/1.0 without a host", "GET /item-0000 HTTP/1.0\r\n\r\n"),
    either(
      "HTTP/1.0 that stays", "GET /item-0000 HTTP/1.0\r\nHost: localhost\r\nConnection: close, keep-alive\r\n\r\n"),
    either(
      "GET with a body",
      "GET /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc",
      "GET /item-0000 HTTP/1.1", "abc"),
    either(
      "GET with chunks",
      "GET /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(chunked)\r\n\r\n\(chunks)",
      "GET /item-0000 HTTP/1.1", "abc"),
    either(
      "DELETE with a body",
      "DELETE /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc",
      "DELETE /item-0000 HTTP/1.1", "abc"),
    either(
      "a body behind an expectation",
      "POST /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
      "POST /item-0000 HTTP/1.1", "abc"),
    either(
      "an expectation that there is not",
      "POST /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 200-ok\r\nContent-Length: 3\r\n\r\nabc",
      "POST /item-0000 HTTP/1.1", "abc"),
    either(
      "an upgrade to HTTP/2 with a body",
      "POST /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\nContent-Length: 3\r\n\r\nabc",
      "POST /item-0000 HTTP/1.1", "abc"),
    either(
      "an upgrade that another server would take",
      "GET /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"),
    either(
      "fields of the host that Connection names",
      "GET /item-0000 HTTP/1.1\r\nConnection: close, host\r\nHost: localhost\r\n\r\n"),
    either(
      "a trailer that is a length",
      "POST /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(chunked)\r\n\r\n3\r\nabc\r\n0\r\nContent-Length: 60\r\n\r\n",
      "POST /item-0000 HTTP/1.1", "abc"),
    either(
      "a trailer that is a coding",
      "POST /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(chunked)\r\n\r\n3\r\nabc\r\n0\r\n\(chunked)\r\n\r\n",
      "POST /item-0000 HTTP/1.1", "abc"),
    either(
      "a trailer that is a host",
      "POST /item-0000 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(chunked)\r\n\r\n3\r\nabc\r\n0\r\nHost: evil.example\r\n\r\n",
      "POST /item-0000 HTTP/1.1", "abc"),
  ]

  static let text = lengths + codings + chunkForms + heads
}

// MARK: - HTTP/2 to a server of HTTP/1

extension Smuggling {
  private static let path = Wire.field(":path", "/item-0000")
  private static let base = [Wire.https, Wire.authority, path]

  private static func frames(_ name: String, _ fields: [[UInt8]], data: String? = nil, _ expected: Outcome) -> Smuggling
  {
    let head = Wire.headers(fields, data == nil ? 5 : 4)
    return Smuggling(name: name, bytes: head + (data.map { Wire.data($0) } ?? []), expected: expected)
  }

  private static func get(_ name: String, with fields: [UInt8]...) -> Smuggling {
    frames(name, [Wire.get] + base + fields, .refused)
  }

  private static func post(_ name: String, _ data: String, with fields: [UInt8]...) -> Smuggling {
    frames(name, [Wire.post] + base + fields, data: data, .refused)
  }

  private static let line = "x\r\nHost: localhost\r\n\r\n\(hidden)"

  /// Frames behind the client's preface, on one stream.
  static let frames: [Smuggling] = [
    get("HTTP/2: a request in a value", with: Wire.field("x", line)),
    get("HTTP/2: a request in a value behind a line feed", with: Wire.field("x", "y\n\n\(hidden)")),
    get("HTTP/2: a request in a name", with: Wire.field("x: y\r\n\r\n\(hidden)", "z")),
    get("HTTP/2: a field in a name", with: Wire.field("x: y\r\ntransfer-encoding", "chunked")),
    get("HTTP/2: a colon in a name", with: Wire.field("transfer-encoding: chunked, x", "y")),
    get("HTTP/2: a null in a value", with: Wire.field("x", "y\0z")),
    get("HTTP/2: a request in a cookie", with: Wire.field("cookie", "a=b\r\n\r\n\(hidden)")),
    get("HTTP/2: a coding", with: Wire.field("transfer-encoding", "chunked")),
    get("HTTP/2: an upgrade", with: Wire.field("upgrade", "h2c"), Wire.field("connection", "upgrade")),
    get("HTTP/2: a length without a body", with: Wire.field("content-length", "60")),
    get("HTTP/2: another host", with: Wire.field("host", "evil.example")),
    get("HTTP/2: a second path", with: Wire.field(":path", "/smuggled")),
    frames(
      "HTTP/2: a request in the path",
      [Wire.get, Wire.https, Wire.authority, Wire.field(":path", "/item-0000 HTTP/1.1\r\n\(line)")], .refused),
    frames(
      "HTTP/2: a space in the path",
      [Wire.get, Wire.https, Wire.authority, Wire.field(":path", "/item-0000 HTTP/1.1 x")], .refused),
    frames(
      "HTTP/2: a path without a slash", [Wire.get, Wire.https, Wire.authority, Wire.field(":path", "item-0000")],
      .refused),
    frames(
      "HTTP/2: a URL for a path",
      [Wire.get, Wire.https, Wire.authority, Wire.field(":path", "http://evil.example/item-0000")], .refused),
    frames(
      "HTTP/2: a request in the method",
      [Wire.field(":method", "GET /smuggled HTTP/1.1\r\nX:"), Wire.https, Wire.authority, path], .refused),
    frames(
      "HTTP/2: a space in the method", [Wire.field(":method", "GET /x"), Wire.https, Wire.authority, path], .refused),
    frames(
      "HTTP/2: a request in the authority", [Wire.get, Wire.https, Wire.field(":authority", line), path], .refused),
    frames(
      "HTTP/2: a name and a word in the authority",
      [Wire.get, Wire.https, Wire.field(":authority", "a:b@localhost"), path], .refused),
    frames(
      "HTTP/2: a request in the scheme",
      [Wire.get, Wire.field(":scheme", "https://localhost/\(line)"), Wire.authority, path],
      .either("GET /item-0000 HTTP/1.1", "")),
    post("HTTP/2: a coding and chunks", "0\r\n\r\n\(hidden)", with: Wire.field("transfer-encoding", "chunked")),
    post("HTTP/2: a body that is longer than it says", "abc\(hidden)", with: Wire.field("content-length", "3")),
    post("HTTP/2: a body that is shorter than it says", "abc", with: Wire.field("content-length", "60")),
    // The head alone is a request: it may be on its way before the body comes, which no origin gets.
    frames(
      "HTTP/2: a body that is said to be empty", [Wire.post] + base + [Wire.field("content-length", "0")], data: hidden,
      .either("POST /item-0000 HTTP/1.1", "")),
    post("HTTP/2: two lengths", "abc", with: Wire.field("content-length", "3"), Wire.field("content-length", "60")),
    post("HTTP/2: a length with a plus", "abc", with: Wire.field("content-length", "+3")),
    post("HTTP/2: a list of lengths", "abc", with: Wire.field("content-length", "3, 3")),
    post("HTTP/2: a length that is no number", "abc", with: Wire.field("content-length", "3a")),
    post("HTTP/2: a length of 2^63", "abc", with: Wire.field("content-length", "9223372036854775808")),
    frames(
      "HTTP/2: a body with chunks in it", [Wire.post] + base, data: "0\r\n\r\n\(hidden)",
      .passed("POST /item-0000 HTTP/1.1", "0\r\n\r\n\(hidden)")),
    frames(
      "HTTP/2: a body with its length", [Wire.post] + base + [Wire.field("content-length", "3")], data: "abc",
      .passed("POST /item-0000 HTTP/1.1", "abc")),
    frames(
      "HTTP/2: an expectation", [Wire.post] + base + [Wire.field("expect", "100-continue")], data: "abc",
      .either("POST /item-0000 HTTP/1.1", "abc")),
    Smuggling(
      name: "HTTP/2: a length in trailers",
      bytes: Wire.headers([Wire.post] + base, 4) + Wire.data("abc", ends: false)
        + Wire.headers([Wire.field("content-length", "60")]), expected: .either("POST /item-0000 HTTP/1.1", "abc")),
    Smuggling(
      name: "HTTP/2: a request in trailers",
      bytes: Wire.headers([Wire.post] + base, 4) + Wire.data("abc", ends: false)
        + Wire.headers([Wire.field("x", "y\r\n\r\n\(hidden)")]), expected: .refused),
    Smuggling(
      name: "HTTP/2: a coding in trailers",
      bytes: Wire.headers([Wire.post] + base, 4) + Wire.data("abc", ends: false)
        + Wire.headers([Wire.field("transfer-encoding", "chunked")]),
      expected: .either("POST /item-0000 HTTP/1.1", "abc")),
  ]
}
