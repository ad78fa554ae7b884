import HTTPTransport
import HTTPTypes
import Testing

@testable import CurlTransport

@Suite(.timeLimit(.minutes(2)))
struct RequestTargetTests {
  private let transport: CurlTransport

  init() throws { transport = try CurlTransport() }

  private func firstLine(_ target: String, _ method: HTTPRequest.Method = .get) async throws -> String {
    let server = try RawServer(answering: Array("HTTP/1.1 204 No Content\r\n\r\n".utf8))
    _ = try await transport.answer(to: .local(port: server.port, target, method))
    return String(decoding: try #require(server.requests.first).prefix { $0 != 0x0D }, as: UTF8.self)
  }

  @Test(arguments: [
    "/a/../b/./c", "/a//b", "//other.test/a", "/%7Ea?q=%20+&r", "/?", "/a?b?c#d", "/a#", "/a\\b|c^`{}\"<>[]",
    "/%zz%2e%2E/é?ü", "/a@b:1/", "*", "http://other.test/a", "a", "@other.test/", "/a;v=1,2?x=/../y",
  ])
  func aTargetIsSentByteForByteAndOnlyToTheAuthority(target: String) async throws {
    #expect(try await firstLine(target) == "GET \(target) HTTP/1.1")
  }

  @Test("the target * is sent")
  func asterisk() async throws {
    #expect(try await firstLine("*", .options) == "OPTIONS * HTTP/1.1")
  }

  @Test(arguments: ["/a b", "/a\tb", "/a HTTP/1.1"])
  func aTargetWithASpaceOrAControlCharacterIsRefused(target: String) {
    #expect(RequestTarget(of: .local(port: 80, target)) == nil)
  }

  @Test(
    "an authority with other parts of a URL is refused",
    arguments: ["a.test/b", "a.test?b", "a.test#b", "a.test\\b", "a b", ""])
  func authority(authority: String) {
    var request = TransportRequest.local(port: 80, "/")
    request.head.authority = authority
    #expect(RequestTarget(of: request) == nil)
  }
}
