import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import RenderHost
@testable import ServerKit

struct RequestTargetFormTests {
  @Test(
    "a target is a path or a URL",
    arguments: [
      ("/a?b", HTTPMethod.GET, RequestTargetForm.plain), ("//a", .GET, .plain), ("*", .OPTIONS, .plain),
      ("h:443", .CONNECT, .plain), ("http://other:1/a?b", .GET, .absolute(authority: "other:1", target: "/a?b")),
      ("HTTPS://other", .GET, .absolute(authority: "other", target: "/")),
      ("http://other?q", .GET, .absolute(authority: "other", target: "/?q")),
      ("http://other", .OPTIONS, .absolute(authority: "other", target: "*")),
      ("http://other/", .OPTIONS, .absolute(authority: "other", target: "/")),
      ("*", .GET, .refused), ("a", .GET, .refused), ("", .GET, .refused), ("ftp://h/a", .GET, .refused),
      ("http:///a", .GET, .refused), ("http://u@h/a", .GET, .refused), ("http://:80/", .GET, .refused),
      ("http:/a", .GET, .refused),
    ])
  func forms(_ target: String, _ method: HTTPMethod, _ form: RequestTargetForm) {
    #expect(RequestTargetForm(target, method) == form)
  }

  @Test("the host of an absolute target wins over Host")
  func hostOfTarget() throws {
    let channel = EmbeddedChannel(handler: RequestHeadHandler())
    let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "http://other/a", headers: ["Host": "h"])
    try channel.writeInbound(HTTPServerRequestPart.head(head))
    guard case .head(let seen) = try channel.readInbound(as: HTTPServerRequestPart.self) else {
      Issue.record("no head")
      return
    }
    #expect(seen.uri == "/a" && seen.headers["host"] == ["other"])
  }

  @Test("a method may contain a hyphen")
  func methodWithHyphen() throws {
    let channel = EmbeddedChannel(handler: RequestHeadHandler())
    let head = HTTPRequestHead(version: .http1_1, method: .MSEARCH, uri: "/a", headers: ["Host": "h"])
    try channel.writeInbound(HTTPServerRequestPart.head(head))
    guard case .head(let seen) = try channel.readInbound(as: HTTPServerRequestPart.self) else {
      Issue.record("no head")
      return
    }
    #expect(seen.method.rawValue == "M-SEARCH")
  }
}
