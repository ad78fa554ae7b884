import CurlTransport
import HTTPTransport
import HTTPTypes
import PageTesting
import Testing

/// The bytes of requests on the wire.
@Suite(.timeLimit(.minutes(2)))
struct RequestTests {
  private let transport: CurlTransport

  init() throws { transport = try CurlTransport() }

  /// The request as received by an origin that answers with an empty 200.
  private func received(
    _ path: String = "/a", _ method: HTTPRequest.Method = .get, fields: HTTPFields = [:], body: [UInt8] = []
  ) async throws -> OriginRequest {
    try await FaultOrigin.running { origin in
      origin.respond("/*") { _ in OriginResponse() }
      _ = try await transport.answer(to: origin.request(path, method, fields: fields, body: body))
      return try #require(origin.requests.first)
    }
  }

  @Test(arguments: [HTTPRequest.Method.get, .put, .delete, .patch, .options, .post])
  func everyMethodArrivesAsItIs(method: HTTPRequest.Method) async throws {
    let request = try await received("/a", method)
    #expect(request.method == method)
    #expect(request.body.isEmpty)
  }

  @Test(arguments: [HTTPRequest.Method.put, .delete, .patch, .post])
  func everyMethodTakesABody(method: HTTPRequest.Method) async throws {
    let request = try await received("/a", method, body: Array("content".utf8))
    #expect(request.method == method)
    #expect(request.text == "content")
  }

  @Test(arguments: [1, 100_000, 1 << 20])
  func aPostedBodyArrivesByteForByte(size: Int) async throws {
    let body = SeededContent.bytes(size)
    let request = try await received("/a", .post, body: body)
    #expect(request.headers[.contentLength] == String(size))
    expectSame(request.body, body)
  }

  @Test("a posted body gets no Content-Type and no Expect")
  func postedBody() async throws {
    let request = try await received("/a", .post, body: SeededContent.bytes(1 << 20))
    #expect(request.headers[.contentType] == nil)
    #expect(request.headers[.expect] == nil)
  }

  @Test(
    "a signature is of fields that are sent",
    arguments: [(.get, 0), (.put, 10), (.put, 3 << 20), (.delete, 0)] as [(HTTPRequest.Method, Int)])
  func signature(_ method: HTTPRequest.Method, _ size: Int) async throws {
    let received = try await FaultOrigin.running { (origin: FaultOrigin) async throws in
      origin.respond("/*") { _ in OriginResponse() }
      var request = origin.request("/a", method, fields: [.contentType: "text/plain"], body: SeededContent.bytes(size))
      request = try request.signed(by: RequestSigning(accessKey: "id", secretKey: "s", sessionToken: "t", region: "r"))
      _ = try await transport.answer(to: request)
      return try #require(origin.requests.first)
    }
    let parts = try #require(received.headers[.authorization]).split { " =,".contains($0) }
    #expect(
      parts.contains("id/\(try #require(received.headers[try .named("x-amz-date")]).prefix(8))/r/s3/aws4_request"))
    let position = try #require(parts.firstIndex(of: "SignedHeaders"))
    let signed = Set(parts[position + 1].split(separator: ";").map(String.init))
    let sent = Set(received.headers.map(\.name.canonicalName) + ["host"])
    #expect(signed.isSubset(of: sent), "\(signed.subtracting(sent)) is signed and not sent")
    #expect(
      signed.isSuperset(of: ["host", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token", "content-type"]))
  }

  @Test("fields with similar names add no Content-Type and no Expect")
  func similarNames() async throws {
    let fields: HTTPFields = [
      try .named("Content-Type-Hint"): "x", try .named("Expectation"): "x",
    ]
    let request = try await received("/a", .post, fields: fields, body: SeededContent.bytes(2 << 20))
    #expect(request.headers[.contentType] == nil)
    #expect(request.headers[.expect] == nil)
  }

  @Test func aPostedBodyKeepsTheContentTypeItHas() async throws {
    let request = try await received("/a", .post, fields: [.contentType: "application/json"], body: [0x7B, 0x7D])
    #expect(request.headers[values: .contentType] == ["application/json"])
  }

  @Test("a repeated field is sent twice in its order")
  func repeatedField() async throws {
    let name = try HTTPField.Name.named("X-Tag")
    var fields: HTTPFields = [:]
    fields[values: name] = ["b", "a"]
    #expect(try await received(fields: fields).headers[values: name] == ["b", "a"])
  }

  /// RFC 6265 §5.4. HTTPFields splits cookies.
  @Test func cookiesAreSentInOneField() async throws {
    #expect(try await received(fields: [.cookie: "a=1; b=2"]).headers[values: .cookie] == ["a=1; b=2"])
    var fields: HTTPFields = [:]
    fields[.cookie] = "a=1; b=2"
    #expect(try await received(fields: fields).headers[values: .cookie] == ["a=1; b=2"])
  }

  @Test func anEmptyFieldIsSent() async throws {
    let name = try HTTPField.Name.named("X-Empty")
    #expect(try await received(fields: [name: ""]).headers[values: name] == [""])
  }

  @Test func theConfiguredUserAgentIsSent() async throws {
    let named = try CurlTransport(CurlTransport.Configuration(userAgent: "Shop/1.2"))
    try await FaultOrigin.running { origin in
      _ = try await named.answer(to: origin.request("/a"))
      #expect(origin.requests.map { $0.headers[values: .userAgent] } == [["Shop/1.2"]])
    }
  }

  @Test("a request's own User-Agent takes precedence")
  func ownUserAgent() async throws {
    let request = try await received(fields: [.userAgent: "Page/7"])
    #expect(request.headers[values: .userAgent] == ["Page/7"])
  }

  @Test(arguments: ["/a/../b/./c", "/a//b", "/%7Ea?q=%20+&r", "/?"])
  func aPathIsSentAsItIsWritten(path: String) async throws {
    #expect(try await received(path).path == path)
  }

  @Test func theHostFieldNamesThePort() async throws {
    try await FaultOrigin.running { origin in
      _ = try await transport.answer(to: origin.request("/a"))
      #expect(origin.requests.first?.headers[try .named("Host")] == "127.0.0.1:\(origin.port)")
    }
  }

  @Test("a request leaves no options to the next one")
  func independentRequests() async throws {
    try await FaultOrigin.running { origin in
      origin.respond("/*") { _ in OriginResponse() }
      let name = try HTTPField.Name.named("X-Secret")
      _ = try await transport.answer(to: origin.request("/a", .post, fields: [name: "1"], body: [1, 2, 3]))
      _ = try await transport.answer(to: origin.request("/b"))
      let second = try #require(origin.requests.last)
      #expect(second.method == .get)
      #expect(second.body.isEmpty)
      #expect(second.headers[name] == nil)
    }
  }
}
