import HTTPCaching
import HTTPTransport
import HTTPTypes
import Testing

@testable import HTTPCache

/// Every behaviour against everything that may be stored.
struct LoadBehaviorTableTests {
  static let policy = CachePolicy(mode: .private)
  static let now = HTTPDate(secondsSinceEpoch: 1_800_000_000)

  enum Stored: CaseIterable, Sendable {
    case nothing, fresh, staleWithValidator, staleWithout, invalidated, neither

    var responses: [StoredResponse] {
      switch self {
      case .nothing: []
      case .fresh: [make(60, etag: "\"1\"")]
      case .staleWithValidator: [make(5, etag: "\"1\"")]
      case .staleWithout: [make(5, etag: nil)]
      case .invalidated: [make(60, etag: "\"1\"", isInvalidated: true)]
      case .neither: [make(nil, etag: nil)]
      }
    }

    private func make(_ maxAge: Int?, etag: String?, isInvalidated: Bool = false) -> StoredResponse {
      var fields: HTTPFields = [.date: HTTPDate(secondsSinceEpoch: 1_799_999_990).description]
      fields[.cacheControl] = maxAge.map { "max-age=\($0)" }
      fields[.eTag] = etag
      let time = HTTPDate(secondsSinceEpoch: 1_799_999_990)
      return StoredResponse(
        id: 1, status: 200, fields: fields, times: ExchangeTimes(request: time, response: time), vary: VaryKey(),
        extent: .whole(3), isInvalidated: isInvalidated, policy: LoadBehaviorTableTests.policy)
    }
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    /// For each of `Stored`: S serve, R revalidate, F fetch, X refuse.
    let online: String
    let offline: String
    /// The same for after a failure: S serve, X nothing.
    let failed: String

    init(_ name: String, _ online: String, offline: String? = nil, failed: String = "XXXXXX") {
      self.name = name
      self.online = online
      self.offline = offline ?? online
      self.failed = failed
    }

    var testDescription: String { name }
  }

  static let rows: [Row] = [
    Row("automatic", "FSRFRF", offline: "FSSSSS", failed: "XSSSSS"),
    Row("picture", "FSRFRF", offline: "FSSSSS", failed: "XSSSSS"),
    Row("protocolCache", "FSRFRF", failed: "XSSSXX"),
    Row("cacheFirst", "FSSSSS"),
    Row("networkFirst", "FRRFRF", failed: "XSSSSS"),
    Row("cacheThenNetwork", "FSSSSS"),
    Row("staleWhileRevalidate", "FSSSSS"),
    Row("networkOnly", "FFFFFF"),
    Row("cacheOnly", "XSSSSS"),
    Row("useProtocolCachePolicy", "FSRFRF", failed: "XSSSXX"),
    Row("reloadIgnoringLocalCacheData", "FFFFFF"),
    Row("reloadIgnoringLocalAndRemoteCacheData", "FFFFFF"),
    Row("reloadIgnoringCacheData", "FFFFFF"),
    Row("returnCacheDataElseLoad", "FSSSSS"),
    Row("returnCacheDataDontLoad", "XSSSSS"),
    Row("reloadRevalidatingCacheData", "FRRFRF"),
  ]

  private func request(_ method: HTTPRequest.Method = .get) -> HTTPRequest {
    HTTPRequest(method: method, scheme: "https", authority: "example.com", path: "/a")
  }

  private func decision(_ behavior: LoadBehavior, _ stored: [StoredResponse], isOnline: Bool) -> CacheDecision {
    behavior.decision(
      for: request(), among: stored, at: Self.now, policy: Self.policy, lifetime: .server, isOnline: isOnline)
  }

  private func letter(_ decision: CacheDecision) -> Character {
    switch decision {
    case .serve: "S"
    case .serveStale: "W"
    case .revalidate: "R"
    case .complete: "C"
    case .fetch: "F"
    case .gatewayTimeout: "X"
    }
  }

  @Test func everyNameIsInTheTable() { #expect(Self.rows.map(\.name) == LoadBehavior.named.map(\.name)) }

  @Test(arguments: rows)
  func everyBehaviourDecidesAsTheTableSays(_ row: Row) throws {
    let behavior = try #require(LoadBehavior(named: row.name))
    let online = Stored.allCases.map { letter(decision(behavior, $0.responses, isOnline: true)) }
    let offline = Stored.allCases.map { letter(decision(behavior, $0.responses, isOnline: false)) }
    #expect(String(online) == row.online)
    #expect(String(offline) == row.offline)
  }

  @Test(arguments: rows)
  func afterAFailureEveryBehaviourAnswersAsTheTableSays(_ row: Row) throws {
    let behavior = try #require(LoadBehavior(named: row.name))
    let found = Stored.allCases.map { stored -> Character in
      behavior.responseAfterFailure(
        to: request(), among: stored.responses, at: Self.now, policy: Self.policy, lifetime: .server) == nil
        ? "X" : "S"
    }
    #expect(String(found) == row.failed)
    let posted = behavior.responseAfterFailure(
      to: request(.post), among: Stored.fresh.responses, at: Self.now, policy: Self.policy, lifetime: .server)
    #expect(posted == nil)
  }

  @Test func onlyOneBehaviourTellsCachesOnTheWayNotToAnswer() {
    for (name, behavior) in LoadBehavior.named {
      guard case .fetch(let request, _) = decision(behavior, [], isOnline: true) else { continue }
      let isTold = request.headerFields[.cacheControl] == "no-cache"
      #expect(isTold == (name == "reloadIgnoringLocalAndRemoteCacheData"), "\(name)")
    }
  }

  @Test func whatNeverChangesIsNotAskedAboutWhileItIsFresh() {
    let time = HTTPDate(secondsSinceEpoch: 1_799_999_990)
    func stored(_ maxAge: Int, isInvalidated: Bool = false) -> [StoredResponse] {
      let fields: HTTPFields = [.cacheControl: "max-age=\(maxAge), immutable", .eTag: "\"1\""]
      return [
        StoredResponse(
          id: 1, status: 200, fields: fields, times: ExchangeTimes(request: time, response: time), vary: VaryKey(),
          extent: .whole(3), isInvalidated: isInvalidated, policy: Self.policy)
      ]
    }
    let behavior = LoadBehavior.reloadRevalidatingCacheData
    #expect(letter(decision(behavior, stored(60), isOnline: true)) == "S")
    #expect(letter(decision(behavior, stored(5), isOnline: true)) == "R")
    #expect(letter(decision(behavior, stored(60, isInvalidated: true), isOnline: true)) == "R")
    #expect(letter(decision(.networkOnly, stored(60), isOnline: true)) == "F")
  }

  @Test(arguments: LoadBehavior.named.map(\.behavior))
  func aPostIsNeverAnsweredFromWhatIsStored(_ behavior: LoadBehavior) {
    let decision = behavior.decision(
      for: request(.post), among: Stored.fresh.responses, at: Self.now, policy: Self.policy, lifetime: .server,
      isOnline: false)
    #expect(letter(decision) == (behavior.network == .never ? "X" : "F"))
  }
}
