import HTTPTypes
import PageTesting
import Testing

@testable import HTTPTransport

struct OriginFieldsTests {
  private static let secret: HTTPFields = [.authorization: "Bearer secret"]

  @Test("the fields are sent to their origin only")
  func origin() throws {
    let fields = OriginFields(Self.secret, for: try #require(PageURL("https://h/manifest.json")))
    for (url, isSent) in [
      ("https://h/b/home.js", true), ("https://h:443/x", true), ("http://h/x", false), ("https://h:8443/x", false),
      ("https://h.evil/x", false), ("https://sub.h/x", false),
    ] {
      let sent = fields.adding(to: [:], for: try #require(PageURL(url)))[.authorization] != nil
      #expect(sent == isSent, "\(url)")
    }
  }

  @Test("descriptions do not contain the values")
  func description() throws {
    let fields = OriginFields(Self.secret, for: try #require(PageURL("https://h/")))
    #expect(!"\(fields)".contains("secret"))
    #expect(!String(reflecting: fields).contains("Bearer"))
  }

  @Test("a redirect to another origin does not get the fields")
  func redirect() async throws {
    try await LoadingFixture.running { fixture in
      let other = try await FaultOrigin.start()
      other.serve("/x", [1])
      fixture.origin.always("/hop", .redirect(to: other.url(for: "/x")))
      fixture.origin.always("/home", .redirect(to: fixture.origin.url(for: "/hop")))
      _ = try await fixture.client(Self.secret).send(.get, try fixture.url("/home"))
      #expect(fixture.origin.requests.map { $0.headers[.authorization] } == ["Bearer secret", "Bearer secret"])
      #expect(other.requests.map { $0.headers[.authorization] } == [nil])
      try await other.stop()
    }
  }
}
