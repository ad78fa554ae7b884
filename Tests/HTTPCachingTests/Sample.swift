import HTTPTypes

@testable import HTTPCaching

/// Requests and stored responses to decide about; times are seconds from one start.
enum Sample {
  /// Sun, 06 Nov 1994 08:49:37 GMT.
  static let start: Int64 = 784_111_777

  static func time(_ seconds: Int64) -> HTTPDate { HTTPDate(secondsSinceEpoch: start + seconds) }

  static func request(_ fields: HTTPFields = [:], method: HTTPRequest.Method = .get) -> HTTPRequest {
    HTTPRequest(method: method, scheme: "https", authority: "example.org", path: "/a", headerFields: fields)
  }

  /// A request with `Cache-Control`, unless that is empty.
  static func asking(_ control: String, _ more: HTTPFields = [:]) -> HTTPRequest {
    var fields = more
    if !control.isEmpty { fields[.cacheControl] = control }
    return request(fields)
  }

  static func answer(_ status: Int, _ fields: HTTPFields = [:]) -> HTTPResponse {
    HTTPResponse(status: .init(code: status), headerFields: fields)
  }

  /// Came at `came`, and was made then, unless its fields say otherwise.
  static func stored(
    _ control: String = "max-age=60", _ more: HTTPFields = [.eTag: "\"v\""], mode: CachePolicy.Mode = .private,
    status: Int = 200, extent: Extent = .whole(100), came: Int64 = 0, id: Int64 = 1, vary: VaryKey = VaryKey(),
    isInvalidated: Bool = false, staleSince: HTTPDate? = nil
  ) -> StoredResponse {
    var fields = more
    if !control.isEmpty { fields[.cacheControl] = control }
    if !fields.contains(.date) { fields[.date] = time(came).description }
    return StoredResponse(
      id: id, status: status, fields: fields, times: ExchangeTimes(request: time(came), response: time(came)),
      vary: vary, extent: extent, isInvalidated: isInvalidated, staleSince: staleSince,
      policy: CachePolicy(mode: mode))
  }
}

extension CacheDecision {
  /// The case and its reason.
  var summary: String {
    switch self {
    case .serve(_, _, let reason): "serve \(reason)"
    case .serveStale: "serveStale"
    case .revalidate(_, _, let reason): "revalidate \(reason)"
    case .complete: "complete"
    case .fetch(_, let reason): "fetch \(reason)"
    case .gatewayTimeout(let reason): "gatewayTimeout \(reason)"
    }
  }

  var stored: StoredResponse? {
    switch self {
    case .serve(let stored, _, _), .serveStale(let stored, _, _), .revalidate(let stored, _, _),
      .complete(let stored, _):
      stored
    case .fetch, .gatewayTimeout: nil
    }
  }

  /// What goes to the origin.
  var sent: HTTPRequest? {
    switch self {
    case .serveStale(_, _, let request), .revalidate(_, let request, _), .complete(_, let request),
      .fetch(let request, _):
      request
    case .serve, .gatewayTimeout: nil
    }
  }
}

extension ResponseDecision {
  var summary: String {
    switch self {
    case .use: "use"
    case .freshen: "freshen"
    case .append: "append"
    case .askAgain: "askAgain"
    case .serveStale(_, let reason): "serveStale \(reason)"
    }
  }
}

/// Lets other tests have the thread once in a while: those that wait for a server must not wait for this.
func giveWay(_ round: Int) async {
  if round % 1_000 == 0 { await Task.yield() }
}
