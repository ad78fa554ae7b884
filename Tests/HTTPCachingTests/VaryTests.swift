import HTTPTypes
import Testing

@testable import HTTPCaching

struct VaryKeyTests {
  private static func key(_ vary: String, _ request: HTTPFields) throws -> VaryKey {
    try #require(VaryKey(vary: [.vary: vary], request: request))
  }

  @Test("the fields that Vary names must be equal")
  func namedFields() throws {
    let key = try Self.key("Accept-Language, Accept", [.acceptLanguage: "de", .userAgent: "a"])
    #expect(key.matches([.acceptLanguage: "de", .userAgent: "b"]))
    #expect(!key.matches([.acceptLanguage: "en"]))
    #expect(!key.matches([:]))
    #expect(!key.matches([.acceptLanguage: "de", .accept: "*/*"]))
  }

  @Test("whitespace and the division into lines are insignificant")
  func whitespace() throws {
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
  @Test(
    "order and case of preferences are insignificant",
    arguments: [HTTPField.Name.accept, .acceptLanguage, .acceptEncoding])
  func preferences(_ name: HTTPField.Name) throws {
    let key = try Self.key(name.rawName, [name: "a, B;q=0.5"])
    #expect(key.matches([name: "b;Q=0.5,A"]))
    #expect(!key.matches([name: "b;q=0.6,a"]))
    #expect(!key.matches([name: "a"]))
    #expect(try Self.key(name.rawName, [name: "a;X=1;Y=2"]).matches([name: "A;x=1;y=2"]))
  }

  @Test("order and case of other fields are significant")
  func otherFields() throws {
    let key = try Self.key("x-a, cookie", [.cookie: "a=1, b=2"])
    #expect(key.matches([.cookie: "a=1,b=2"]))
    #expect(!key.matches([.cookie: "b=2, a=1"]))
    #expect(!key.matches([.cookie: "A=1, b=2"]))
  }

  /// RFC 9111 §4.1: white space is only removed where the field allows it, and a parameter may mean its case.
  @Test(
    "quoted strings are compared unchanged",
    arguments: [
      ("a;x=\"1 2\"", "a;x=\"12\""), ("a;x=\"1,2\"", "a;x=\"2,1\""), ("a;x=\"1, 2\"", "a;x=\"1,2\""),
      ("a;x=Y", "a;x=y"),
      ("a;x=\"Y\"", "a;x=\"y\""), (#"a;x="\" 1""#, #"a;x="\"1""#), ("b, \"a", "\"a,b"), ("\u{E9}", "e\u{301}"),
    ])
  func quotedStrings(_ left: String, _ right: String) throws {
    let other = try #require(HTTPField.Name("X-A"))
    let key = try Self.key("accept", [.accept: left])
    #expect(key.matches([.accept: left]))
    #expect(!key.matches([.accept: right]))
    #expect(try !Self.key("x-a", [other: left]).matches([other: right]))
  }

  @Test("an empty field differs from an absent one")
  func emptyField() throws {
    #expect(try !Self.key("accept", [.accept: ""]).matches([:]))
    #expect(try !Self.key("accept", [:]).matches([.accept: ""]))
    #expect(try Self.key("accept", [.accept: ""]).matches([.accept: " , "]))
  }

  @Test("names are read from all lines and in any case")
  func names() throws {
    var vary: HTTPFields = [.vary: "ACCEPT, ,accept"]
    vary.append(HTTPField(name: .vary, value: "Origin"))
    let key = try #require(VaryKey(vary: vary, request: [.accept: "a"]))
    #expect(key.values == ["accept": "a", "origin": nil])
    #expect(VaryKey(values: key.values) == key)
  }

  @Test("without Vary every request matches")
  func noVary() throws {
    let key = try #require(VaryKey(vary: [:], request: [.accept: "a"]))
    #expect(key.matches([:]))
  }

  @Test("Vary: * matches no request")
  func star() {
    #expect(VaryKey(vary: [.vary: "*"], request: [:]) == nil)
    #expect(VaryKey(vary: [.vary: "accept, *"], request: [:]) == nil)
  }
}

// MARK: - Accepted encodings

/// RFC 9110 §12.5.3.
struct AcceptedCodingsTests {
  @Test(
    "equivalent Accept-Encoding values have the same normal form",
    arguments: [
      ("gzip", "GZIP"), ("gzip", "x-gzip;q=1.000"), ("gzip, br", "br ,gzip;q=1"), ("gzip;q=0.5", "gzip;Q=0.50"),
      ("gzip", "gzip, br;q=0"), ("", " , "),
    ])
  func equivalentCodings(_ left: String, _ right: String) throws {
    let text = try #require(AcceptedCodings(left).normalised)
    #expect(AcceptedCodings(right).normalised == text && AcceptedCodings(text).normalised == text)
  }

  @Test(
    "different Accept-Encoding values have different normal forms",
    arguments: [
      ("gzip", "br"), ("gzip", "gzip, br"), ("gzip", "gzip;q=0.5"), ("gzip, *", "gzip"), ("*, br;q=0", "*"),
      ("gzip", "gzip, identity;q=0"), ("gzip", ""),
    ])
  func differentCodings(_ left: String, _ right: String) {
    #expect(AcceptedCodings(left).normalised != AcceptedCodings(right).normalised)
  }

  @Test(
    "an Accept-Encoding that is not understood has no normal form",
    arguments: ["gzip;a=b", "gzip;q=2", "gzip, gzip;q=0.5", "gzip;q=1;q=0"])
  func unknownCodings(_ text: String) {
    #expect(AcceptedCodings(text).normalised == nil)
  }

  struct Row: Sendable {
    let accepted: String
    let offered: String
    let coding: String?
    let isSame: Bool

    init(_ accepted: String, of offered: String, in coding: String?, _ isSame: Bool) {
      (self.accepted, self.offered, self.coding, self.isSame) = (accepted, offered, coding, isSame)
    }
  }

  @Test(
    "a client that accepts fewer codings gets the same response if its coding is among them",
    arguments: [
      Row("gzip", of: "gzip, br", in: "gzip", true), Row("gzip", of: "gzip, br", in: "x-gzip", true),
      Row("gzip", of: "gzip, br", in: "br", false), Row("gzip", of: "gzip, br", in: nil, true),
      Row("identity", of: "gzip, br", in: nil, true), Row("identity", of: "gzip, br", in: "gzip", false),
      Row("", of: "gzip", in: nil, true), Row("gzip, br", of: "gzip", in: "gzip", false),
      Row("gzip, br", of: "gzip", in: nil, false), Row("gzip;q=0.5", of: "gzip, br", in: "gzip", false),
      Row("gzip, br;q=0", of: "gzip, br", in: "gzip", true), Row("gzip, identity;q=0", of: "gzip, br", in: nil, false),
      Row("gzip, identity", of: "gzip, br", in: "gzip", false), Row("gzip", of: "gzip, identity", in: nil, false),
      Row("*", of: "gzip", in: "gzip", false), Row("gzip", of: "*", in: "gzip", false),
      Row("gzip", of: "gzip, br;a=b", in: "gzip", false), Row("gzip, br", of: "gzip, br, zstd", in: "gzip, br", true),
      Row("gzip", of: "gzip, br, zstd", in: "gzip, br", false),
    ])
  func fewerCodings(_ row: Row) {
    let (accepted, offered) = (AcceptedCodings(row.accepted), AcceptedCodings(row.offered))
    #expect(accepted.getsTheSame(as: offered, in: row.coding) == row.isSame, "\(row)")
  }

  @Test("requests without Accept-Encoding are not compared by codings")
  func absentField() {
    #expect(AcceptedCodings(nil as String?).normalised == nil)
    #expect(!AcceptedCodings(nil as String?).getsTheSame(as: AcceptedCodings("gzip"), in: nil))
    #expect(!AcceptedCodings("gzip").getsTheSame(as: AcceptedCodings(nil as String?), in: nil))
  }

  @Test(
    "the field can be limited to given codings",
    arguments: [
      ("gzip, deflate, br, zstd", ["gzip"], "gzip"), ("br;q=0.9, gzip;q=0.5", ["gzip", "br"], "gzip;q=0.5, br;q=0.9"),
      ("br", ["gzip"], "identity"), ("*", ["br", "gzip"], "br, gzip"), ("gzip;q=0, *", ["br", "gzip"], "br"),
      ("gzip, identity;q=0", ["gzip"], "gzip, identity;q=0.0"), ("*;q=0", ["gzip"], "identity;q=0.0"),
      ("gzip;a=b", ["gzip"], nil),
    ])
  func limitedCodings(_ text: String, _ codings: [String], _ expected: String?) {
    #expect(AcceptedCodings(text).limited(to: codings) == expected)
  }

  // MARK: Decisions

  private static let policy = CachePolicy(mode: .shared)

  private static func stored(
    _ accepted: String, _ more: HTTPFields, _ control: String = "max-age=60", id: Int64 = 1
  ) throws -> StoredResponse {
    var fields = more
    fields[.vary] = "Accept-Encoding, User-Agent"
    let vary = try #require(VaryKey(vary: fields, request: [.acceptEncoding: accepted, .userAgent: "a"]))
    return Sample.stored(control, fields, mode: .shared, id: id, vary: vary)
  }

  private static func asking(_ accepted: String, agent: String = "a") -> HTTPRequest {
    Sample.request([.acceptEncoding: accepted, .userAgent: agent])
  }

  @Test("a response for clients that accept more codings answers clients that accept fewer")
  func storedForMore() throws {
    let stored = try Self.stored("gzip, br", [.contentEncoding: "gzip", .eTag: "\"1\""])
    func decide(_ request: HTTPRequest) -> String {
      Self.policy.decision(for: request, among: [stored], at: Sample.time(1)).summary
    }
    #expect(decide(Self.asking("gzip")) == "serve fresh")
    #expect(decide(Self.asking("br")) == "fetch variant")
    #expect(decide(Self.asking("gzip", agent: "b")) == "fetch variant")
  }

  @Test("a client that accepts more codings is answered after validation by ETag")
  func askedByTag() throws {
    let stored = try Self.stored("gzip", [.contentEncoding: "gzip", .eTag: "\"1\""])
    let decision = Self.policy.decision(for: Self.asking("gzip, br"), among: [stored], at: Sample.time(1))
    #expect(decision.summary == "revalidate variant" && decision.sent?.headerFields[.ifNoneMatch] == "\"1\"")
    #expect(decision.sent?.headerFields[.acceptEncoding] == "gzip, br")
    let dated = try Self.stored("gzip", [.contentEncoding: "gzip", .lastModified: Sample.time(0).description])
    #expect(
      Self.policy.decision(for: Self.asking("gzip, br"), among: [dated], at: Sample.time(1)).summary == "fetch variant")
    let only = Sample.request([.acceptEncoding: "gzip, br", .userAgent: "a", .cacheControl: "only-if-cached"])
    #expect(
      Self.policy.decision(for: only, among: [stored], at: Sample.time(1)).summary == "gatewayTimeout variant")
  }
}
