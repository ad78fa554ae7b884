import HTTPTypes
import Testing

@testable import HTTPTransport

struct RedirectDecisionTests {
  private static func decide(_ status: Int, _ location: String?, at: String = "https://h/a", visited: [String] = [])
    throws -> RedirectDecision
  {
    var response = HTTPResponse(status: .init(code: status))
    response.headerFields[.location] = location
    return RedirectDecision(
      for: response, at: try #require(PageURL(at)), visited: try visited.map { try #require(PageURL($0)) })
  }

  @Test("other statuses are not redirects", arguments: [200, 204, 206, 300, 304, 404, 500])
  func otherStatuses(_ status: Int) throws {
    #expect(try Self.decide(status, "/b") == .use)
  }

  @Test("redirects are resolved against the request's URL", arguments: [301, 302, 303, 307, 308])
  func relativeRedirects(_ status: Int) throws {
    #expect(try Self.decide(status, "b?c") == .follow(try #require(PageURL("https://h/b?c"))))
  }

  @Test("a circle of redirects is refused")
  func circle() throws {
    let here = try #require(PageURL("https://h/a"))
    #expect(try Self.decide(302, "/a") == .refuse(.loop(here)))
    #expect(
      try Self.decide(302, "/x", visited: ["https://h/x"]) == .refuse(.loop(try #require(PageURL("https://h/x")))))
  }

  @Test("the eleventh redirect is refused")
  func limit() throws {
    let visited = (0..<10).map { "https://h/\($0)" }
    #expect(try Self.decide(302, "/b", visited: visited) == .refuse(.tooMany(try #require(PageURL("https://h/a")))))
  }

  @Test("a redirect from https to http or to a file is refused")
  func downgrade() throws {
    let here = try #require(PageURL("https://h/a"))
    #expect(try Self.decide(302, "http://h/b") == .refuse(.downgrade(here, to: try #require(PageURL("http://h/b")))))
    #expect(try Self.decide(302, "file:///etc/passwd") == .refuse(.badLocation(here, "file:///etc/passwd")))
    #expect(try Self.decide(302, nil) == .refuse(.noLocation(here)))
  }
}
