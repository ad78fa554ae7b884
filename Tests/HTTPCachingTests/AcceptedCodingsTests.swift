import HTTPTypes
import Testing

@testable import HTTPCaching

/// RFC 9110 §12.5.3.
struct AcceptedCodingsTests {
  @Test(arguments: [
    ("gzip", "GZIP"), ("gzip", "x-gzip;q=1.000"), ("gzip, br", "br ,gzip;q=1"), ("gzip;q=0.5", "gzip;Q=0.50"),
    ("gzip", "gzip, br;q=0"), ("", " , "),
  ])
  func whoAcceptsTheSameIsTheSame(_ left: String, _ right: String) throws {
    let text = try #require(AcceptedCodings(left).normalised)
    #expect(AcceptedCodings(right).normalised == text && AcceptedCodings(text).normalised == text)
  }

  @Test(arguments: [
    ("gzip", "br"), ("gzip", "gzip, br"), ("gzip", "gzip;q=0.5"), ("gzip, *", "gzip"), ("*, br;q=0", "*"),
    ("gzip", "gzip, identity;q=0"), ("gzip", ""),
  ])
  func whoAcceptsOtherThingsIsNot(_ left: String, _ right: String) {
    #expect(AcceptedCodings(left).normalised != AcceptedCodings(right).normalised)
  }

  @Test(arguments: ["gzip;a=b", "gzip;q=2", "gzip, gzip;q=0.5", "gzip;q=1;q=0"])
  func whatIsNotUnderstoodIsComparedAsItIs(_ text: String) {
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

  @Test(arguments: [
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
  func whoAcceptsFewerGetsTheSameWhereItIsAmongThem(_ row: Row) {
    let (accepted, offered) = (AcceptedCodings(row.accepted), AcceptedCodings(row.offered))
    #expect(accepted.getsTheSame(as: offered, in: row.coding) == row.isSame, "\(row)")
  }

  @Test func whoSentNoSuchFieldIsNotCompared() {
    #expect(AcceptedCodings(nil as String?).normalised == nil)
    #expect(!AcceptedCodings(nil as String?).getsTheSame(as: AcceptedCodings("gzip"), in: nil))
    #expect(!AcceptedCodings("gzip").getsTheSame(as: AcceptedCodings(nil as String?), in: nil))
  }

  @Test(arguments: [
    ("gzip, deflate, br, zstd", ["gzip"], "gzip"), ("br;q=0.9, gzip;q=0.5", ["gzip", "br"], "gzip;q=0.5, br;q=0.9"),
    ("br", ["gzip"], "identity"), ("*", ["br", "gzip"], "br, gzip"), ("gzip;q=0, *", ["br", "gzip"], "br"),
    ("gzip, identity;q=0", ["gzip"], "gzip, identity;q=0.0"), ("*;q=0", ["gzip"], "identity;q=0.0"),
    ("gzip;a=b", ["gzip"], nil),
  ])
  func theFieldCanBeLimitedToWhatMatters(_ text: String, _ codings: [String], _ expected: String?) {
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

  @Test func whatIsStoredForThoseWhoAcceptMoreAnswersThoseWhoAcceptFewer() throws {
    let stored = try Self.stored("gzip, br", [.contentEncoding: "gzip", .eTag: "\"1\""])
    func decide(_ request: HTTPRequest) -> String {
      Self.policy.decision(for: request, among: [stored], at: Sample.time(1)).summary
    }
    #expect(decide(Self.asking("gzip")) == "serve fresh")
    #expect(decide(Self.asking("br")) == "fetch variant")
    #expect(decide(Self.asking("gzip", agent: "b")) == "fetch variant")
  }

  @Test func whoAcceptsMoreAsksByTagWhetherItIsForThemToo() throws {
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
