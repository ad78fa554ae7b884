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
    #expect(!key.matches([.acceptEncoding: "gzip, br;q=0.5"]))
    let agent = try Self.key("user-agent", [.userAgent: "a  b ,c"])
    #expect(agent.matches([.userAgent: " a b,  c "]))
    #expect(!agent.matches([.userAgent: "ab,c"]))
  }

  /// RFC 9110 §12.5.
  @Test(arguments: [HTTPField.Name.accept, .acceptLanguage, .acceptEncoding])
  func neitherOrderNorCaseOfPreferencesCounts(_ name: HTTPField.Name) throws {
    let key = try Self.key(name.rawName, [name: "a, B;q=0.5"])
    #expect(key.matches([name: "b;Q=0.5,A"]))
    #expect(!key.matches([name: "b;q=0.6,a"]))
    #expect(!key.matches([name: "a"]))
    #expect(try Self.key(name.rawName, [name: "a;X=1;Y=2"]).matches([name: "A;x=1;y=2"]))
  }

  @Test func orderAndCaseOfOtherFieldsCount() throws {
    let key = try Self.key("x-a, cookie", [.cookie: "a=1, b=2"])
    #expect(key.matches([.cookie: "a=1,b=2"]))
    #expect(!key.matches([.cookie: "b=2, a=1"]))
    #expect(!key.matches([.cookie: "A=1, b=2"]))
  }

  /// RFC 9111 §4.1: white space is only removed where the field allows it, and a parameter may mean its case.
  @Test(arguments: [
    ("a;x=\"1 2\"", "a;x=\"12\""), ("a;x=\"1,2\"", "a;x=\"2,1\""), ("a;x=\"1, 2\"", "a;x=\"1,2\""), ("a;x=Y", "a;x=y"),
    ("a;x=\"Y\"", "a;x=\"y\""), (#"a;x="\" 1""#, #"a;x="\"1""#), ("b, \"a", "\"a,b"), ("\u{E9}", "e\u{301}"),
  ])
  func whatStandsInQuotesCountsAsItIs(_ left: String, _ right: String) throws {
    let other = try #require(HTTPField.Name("X-A"))
    let key = try Self.key("accept", [.accept: left])
    #expect(key.matches([.accept: left]))
    #expect(!key.matches([.accept: right]))
    #expect(try !Self.key("x-a", [other: left]).matches([other: right]))
  }

  @Test func aFieldThatIsEmptyIsNotOneThatIsAbsent() throws {
    #expect(try !Self.key("accept", [.accept: ""]).matches([:]))
    #expect(try !Self.key("accept", [:]).matches([.accept: ""]))
    #expect(try Self.key("accept", [.accept: ""]).matches([.accept: " , "]))
  }

  @Test func namesAreReadFromAllLinesInAnyCase() throws {
    var vary: HTTPFields = [.vary: "ACCEPT, ,accept"]
    vary.append(HTTPField(name: .vary, value: "Origin"))
    let key = try #require(VaryKey(vary: vary, request: [.accept: "a"]))
    #expect(key.values == ["accept": "a", "origin": nil])
    #expect(VaryKey(values: key.values) == key)
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
