import HTTPTypes
import Testing

@testable import HTTPCaching

/// Answers that are kept as something else than they came as.
struct StoredKindsTests {
  private static func decide(
    _ response: HTTPResponse, to request: HTTPRequest, mode: CachePolicy.Mode = .private
  ) -> StorageDecision {
    CachePolicy(mode: mode).storage(of: response, to: request, received: Sample.time(0))
  }

  /// RFC 9110 §9.3.3: the answer to a POST that says what a GET would give, and for how long.
  @Test(
    arguments: [
      ("max-age=60", "/a", 200, true), ("max-age=60", "https://example.org/a", 200, true),
      ("max-age=60", "/b", 200, false), ("max-age=60", nil, 200, false), ("max-age=60", "/a", 201, false),
      ("max-age=60, no-store", "/a", 200, false),
      // Leave to keep it is no lifetime.
      ("public", "/a", 200, false), ("private", "/a", 200, false), ("", "/a", 200, false),
      ("s-maxage=60", "/a", 200, false),
    ] as [(String, String?, Int, Bool)])
  func theAnswerToAPostIsKeptWhereItStandsForAGet(
    _ control: String, _ location: String?, _ status: Int, _ isKept: Bool
  ) {
    var fields: HTTPFields = [.cacheControl: control]
    fields[.contentLocation] = location
    let decision = Self.decide(Sample.answer(status, fields), to: Sample.request(method: .post))
    if case .refuse = decision { #expect(!isKept) } else { #expect(isKept) }
    let put = Self.decide(Sample.answer(status, fields), to: Sample.request(method: .put))
    #expect(put == .refuse(.method))
  }

  @Test func aSharedLifetimeKeepsTheAnswerToAPostInASharedCache() {
    let fields: HTTPFields = [.cacheControl: "s-maxage=60", .contentLocation: "/a"]
    let decision = Self.decide(Sample.answer(200, fields), to: Sample.request(method: .post), mode: .shared)
    guard case .store = decision else {
      Issue.record("\(decision)")
      return
    }
  }

  /// RFC 9111 §3.3.
  @Test(
    arguments: [
      ("bytes 0-49/100", "100"), ("bytes 50-99/*", nil),
    ] as [(String, String?)])
  func aPartIsKeptAsAPartOfA200(_ range: String, _ length: String?) {
    let response = Sample.answer(206, [.contentRange: range, .contentLength: "50", .eTag: "\"v\""])
    let decision = Self.decide(response, to: Sample.request([.range: "bytes=0-"]))
    guard case .storePart(let part, let fields) = decision else {
      Issue.record("\(decision)")
      return
    }
    #expect(part.description == range)
    #expect(fields[.contentRange] == nil && fields[.contentLength] == length && fields[.eTag] == "\"v\"")
  }

  @Test(arguments: [nil, "bytes 0-49", "bytes */100", "lines 0-49/100", "bytes 0-+49/100"] as [String?])
  func aPartThatDoesNotSayWhereItBelongsIsNotKept(_ range: String?) {
    var fields: HTTPFields = [.cacheControl: "max-age=60"]
    fields[.contentRange] = range
    let request = Sample.request([.range: "bytes=0-"])
    #expect(Self.decide(Sample.answer(206, fields), to: request) == .refuse(.notUnderstood))
  }

  @Test func severalContentRangesAreNotKept() {
    var fields: HTTPFields = [.contentRange: "bytes 0-49/100"]
    fields.append(HTTPField(name: .contentRange, value: "bytes 50-99/100"))
    let request = Sample.request([.range: "bytes=0-"])
    #expect(Self.decide(Sample.answer(206, fields), to: request) == .refuse(.notUnderstood))
  }

  @Test func aPartThatNobodyAskedForIsNotKept() {
    let response = Sample.answer(206, [.contentRange: "bytes 0-49/100"])
    #expect(Self.decide(response, to: Sample.request()) == .refuse(.notUnderstood))
  }

  /// RFC 9110 §6.6.1.
  @Test func whatComesWithoutADateGetsThatOfItsArrival() {
    guard case .store(_, let fields) = Self.decide(Sample.answer(200), to: Sample.request()) else {
      Issue.record("not stored")
      return
    }
    #expect(fields[.date] == Sample.time(0).description)
  }
}
