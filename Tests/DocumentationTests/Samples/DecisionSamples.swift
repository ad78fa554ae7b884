import HTTPCaching

/// The samples of "RFC 9111 as values", and the examples in the documentation of `HTTPCaching`.
enum DecisionSamples {
  // MARK: The article

  static func served(_ now: HTTPDate) {
    let policy = CachePolicy(mode: .private)
    let metadata = ResponseMetadata(
      status: 200, fields: [.cacheControl: "max-age=60", .eTag: "\"v1\"", .date: now.description],
      times: ExchangeTimes(request: now, response: now), vary: VaryKey(), extent: .whole(5))
    let stored = StoredResponse(id: 1, metadata, policy: policy)
    let request = HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/news")
    let later = HTTPDate(secondsSinceEpoch: now.secondsSinceEpoch + 30)

    if case .serve(let response, let age, let why) = policy.decision(for: request, among: [stored], at: later) {
      let (head, bytes) = response.response(to: request, age: age)  // 200 with Age: 30, and 0..<5
      print(head.status, bytes ?? 0..<0, why.rawValue, why.clause ?? "")  // … it is fresh RFC 9111 §4.2
    }
  }

  static func stale(_ policy: CachePolicy, _ request: HTTPRequest, _ stored: StoredResponse, _ now: HTTPDate) {
    let tomorrow = HTTPDate(secondsSinceEpoch: now.secondsSinceEpoch + 86_400)
    if case .revalidate(_, let conditional, let why) = policy.decision(for: request, among: [stored], at: tomorrow) {
      print(conditional.headerFields[.ifNoneMatch] ?? "", why.rawValue)  // "v1" it is stale
    }
    if let why = policy.fallback(to: stored, for: request, at: tomorrow) {
      print("without a network, the stored response may be served:", why.rawValue)
    }
  }

  static func storing(
    _ policy: CachePolicy, _ response: HTTPResponse, _ request: HTTPRequest, _ count: Int64, sent: HTTPDate,
    now: HTTPDate
  ) -> StoredResponse? {
    switch policy.storage(of: response, to: request, received: now) {
    case .store(let status, let fields):
      guard let vary = VaryKey(vary: fields, request: request.headerFields) else { return nil }
      let metadata = ResponseMetadata(
        status: status, fields: fields, times: ExchangeTimes(request: sent, response: now), vary: vary,
        extent: .whole(count))
      return StoredResponse(id: 1, metadata, policy: policy)
    case .storePart: return nil  // a cache may leave parts alone
    case .refuse(let rule):
      print("not stored:", rule.rawValue, rule.clause)
      return nil
    }
  }

  static func merging(
    _ policy: CachePolicy, _ received: HTTPResponse, _ conditional: HTTPRequest, _ request: HTTPRequest,
    _ stored: StoredResponse, sent: HTTPDate, now: HTTPDate
  ) -> StoredResponse? {
    switch policy.decision(on: received, to: conditional, for: request, validating: stored, at: now) {
    case .freshen(let stored, let fields):  // a 304: the stored bytes stay
      var metadata = stored.metadata
      (metadata.fields, metadata.times) = (fields, ExchangeTimes(request: sent, response: now))
      metadata.vary = stored.varyKey(confirmedBy: fields, for: request.headerFields)
      return StoredResponse(id: stored.id, metadata, policy: policy)
    case .use: return nil  // a new response: answer with it, and ask policy.storage(of:to:received:)
    case .serveStale: return stored  // a 5xx that stale-if-error covers
    case .askAgain, .append: return nil  // a 304 or 206 that does not fit; the rest of a stored part
    }
  }

  static func modes(_ request: HTTPRequest, _ now: HTTPDate) {
    let response = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60, s-maxage=3600"])
    for mode in [CachePolicy.Mode.private, .shared] {
      let lifetime = FreshnessLifetime(of: response, policy: CachePolicy(mode: mode), received: now)
      print(lifetime.seconds, lifetime.source.rawValue)  // 60 max-age, and 3600 s-maxage
    }
    let personal = HTTPResponse(status: .ok, headerFields: [.cacheControl: "private, max-age=60"])
    print(CachePolicy(mode: .shared).storage(of: personal, to: request, received: now) == .refuse(.isPrivate))  // true
  }

  static func status(_ head: HTTPResponse) {
    let hit = CacheStatus(cache: "news", .hit, timeToLive: 30)
    let asked = CacheStatus(cache: "news", .forwarded(.stale), forwardStatus: 304, timeToLive: 60, isStored: true)
    print(hit, asked)  // news; hit; ttl=30 and news; fwd=stale; fwd-status=304; ttl=60; stored
    print(hit.added(to: head.headerFields))
  }

  // MARK: The types

  static func policy(_ now: HTTPDate) {
    let policy = CachePolicy(mode: .shared)
    let request = HTTPRequest(method: .get, scheme: "https", authority: "example.com", path: "/news")
    let response = HTTPResponse(status: .ok, headerFields: [.cacheControl: "private, max-age=60"])
    print(policy.storage(of: response, to: request, received: now) == .refuse(.isPrivate))  // true
  }

  static func decision(_ policy: CachePolicy, _ request: HTTPRequest, _ stored: [StoredResponse], _ now: HTTPDate) {
    switch policy.decision(for: request, among: stored, at: now) {
    case .serve(let response, let age, _): print("serve", response.response(to: request, age: age).head)
    case .serveStale(let response, let age, let refresh): print("serve", response.id, age, "and send", refresh)
    case .revalidate(let response, let conditional, let why): print("ask", conditional, response.id, why.rawValue)
    case .complete(let part, let rest): print("send", rest, "for the rest of", part.id)
    case .fetch(let request, let why): print("send", request, why.rawValue)
    case .gatewayTimeout: print("answer with 504")
    }
  }

  static func storage(_ policy: CachePolicy, _ response: HTTPResponse, _ request: HTTPRequest, _ now: HTTPDate) {
    switch policy.storage(of: response, to: request, received: now) {
    case .store(let status, let fields): print("store the body under", status, fields)
    case .storePart(let range, let fields): print("store the bytes", range.range, "under", fields)
    case .refuse(let rule): print("not stored:", rule.rawValue, rule.clause)
    }
  }

  static func response(
    _ policy: CachePolicy, _ response: HTTPResponse, _ conditional: HTTPRequest, _ request: HTTPRequest,
    _ stored: StoredResponse, _ now: HTTPDate
  ) {
    switch policy.decision(on: response, to: conditional, for: request, validating: stored, at: now) {
    case .use: print("answer with", response)
    case .freshen(let stored, let fields): print("answer from", stored.id, "and store it with", fields)
    case .append(let part, let fields, let total): print("append to", part.id, fields, total ?? 0)
    case .askAgain(let request): print("send", request)
    case .serveStale(let stored, let why): print("answer from", stored.id, why.rawValue)
    }
  }

  static func stored(
    _ policy: CachePolicy, _ response: HTTPResponse, _ request: HTTPRequest, _ bytes: Int64, sent: HTTPDate,
    now: HTTPDate
  ) {
    if case .store(let status, let fields) = policy.storage(of: response, to: request, received: now),
      let vary = VaryKey(vary: fields, request: request.headerFields)
    {
      let times = ExchangeTimes(request: sent, response: now)
      let metadata = ResponseMetadata(
        status: status, fields: fields, times: times, vary: vary, extent: .whole(bytes))
      let stored = StoredResponse(id: 1, metadata, policy: policy)
      print(stored.lifetime.seconds, stored.lifetime.source.rawValue)
    }
  }

  static func made(_ stored: StoredResponse, _ request: HTTPRequest, _ age: Int64, _ body: [UInt8]) {
    let (head, bytes) = stored.response(to: request, age: age)
    print(head.status, bytes.map { body[Int($0.lowerBound)..<Int($0.upperBound)] } ?? [])
  }

  static func freshness(_ stored: StoredResponse, _ now: HTTPDate) {
    let freshness = Freshness(of: stored, at: now)
    print(freshness.age, "of", freshness.lifetime, "seconds:", freshness.isFresh ? "fresh" : "stale")
  }

  static func control(_ response: HTTPResponse) {
    let control = CacheControl(response.headerFields[values: .cacheControl])
    print(control.maxAge ?? 0, control.noStore, control.staleWhileRevalidate ?? 0)
  }

  static func date(_ now: HTTPDate) {
    let date = HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT", now: now)
    print(date?.secondsSinceEpoch ?? 0)  // 784111777
  }

  static func validators(_ response: HTTPResponse, _ request: HTTPRequest) {
    let conditional = Validators(of: response.headerFields).applied(to: request)
    print(conditional.headerFields[.ifNoneMatch] ?? "", conditional.headerFields[.ifModifiedSince] ?? "")
  }

  static func cacheStatus(_ response: HTTPResponse) {
    let status = CacheStatus(cache: "news", .forwarded(.stale), forwardStatus: 304, timeToLive: 60, isStored: true)
    print(status)  // news; fwd=stale; fwd-status=304; ttl=60; stored
    print(status.added(to: response.headerFields))
  }
}
