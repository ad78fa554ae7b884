import HTTPCaching
import HTTPTypes
import Testing

struct VaryKeyTests {
  private static func key(_ vary: String, _ request: HTTPFields) throws -> VaryKey {
    try #require(VaryKey(vary: [.vary: vary], request: request))
  }

  @Test func theNamedFieldsMustBeTheSame() throws {
    let key = try Self.key("Accept-Language, Accept", [.acceptLanguage: "de", .userAgent: "a"])
    #expect(key.matches([.acceptLanguage: "de", .userAgent: "b"]))
    #expect(!key.matches([.acceptLanguage: "en"]))
    #expect(!key.matches([:]))
    #expect(!key.matches([.acceptLanguage: "de", .accept: "*/*"]))
  }

  @Test func whiteSpaceAndLinesDoNotCount() throws {
    var lines = HTTPFields()
    lines.append(HTTPField(name: .acceptEncoding, value: "gzip"))
    lines.append(HTTPField(name: .acceptEncoding, value: "br ;q=1"))
    let key = try Self.key("accept-encoding", lines)
    #expect(key.matches([.acceptEncoding: "gzip,  br  ;q=1"]))
    #expect(!key.matches([.acceptEncoding: "br ;q=1, gzip"]))
  }

  @Test func withoutVaryEveryRequestMatches() throws {
    let key = try #require(VaryKey(vary: [:], request: [.accept: "a"]))
    #expect(key.matches([:]))
  }

  @Test func aStarMatchesNothing() {
    #expect(VaryKey(vary: [.vary: "*"], request: [:]) == nil)
    #expect(VaryKey(vary: [.vary: "accept, *"], request: [:]) == nil)
  }
}
