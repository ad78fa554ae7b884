import CoreMetrics
import HTTPTransport
import HTTPTypes
import Hummingbird
import Logging

/// The rules for requests to pages, status and administration.
///
/// Every web page in a browser on the daemon's machine can reach the daemon: it may send forms to it (cross-site
/// request forgery), or let its own name resolve to this machine and read the answers (DNS rebinding). The rules refuse
/// such requests. Bundles, their checksums and their releases are open to everybody.
package struct SiteRules: Sendable {
  /// The reason why a request is refused.
  enum Refusal: Error, Hashable, Sendable, CustomStringConvertible {
    case host(String)
    case origin(String)
    case crossSite
    case contentType(String?)

    var status: HTTPResponse.Status {
      switch self {
      // RFC 9110 §15.5.20.
      case .host: .misdirectedRequest
      case .origin, .crossSite: .forbidden
      case .contentType: .unsupportedMediaType
      }
    }

    /// The name of the rule in metrics.
    var name: String {
      switch self {
      case .host: "host"
      case .origin, .crossSite: "origin"
      case .contentType: "content-type"
      }
    }

    var description: String {
      switch self {
      case .host(let name):
        "this server is not called \"\(name.prefix(100))\": ask for it by an IP address or as localhost, or name it "
          + "with --host"
      case .origin(let origin): "a page of \(origin.prefix(100)) may not ask for this"
      case .crossSite: "a page of another site may not ask for this"
      case .contentType(let type):
        "the body's Content-Type is \(type.map { "\"\($0.prefix(100))\"" } ?? "missing"), expected application/json"
      }
    }
  }

  /// Names by which clients may call this server, besides IP addresses and `localhost`; lowercased.
  let hosts: Set<String>

  init(hosts: some Sequence<String>) { self.hosts = Set(hosts.map { $0.lowercased() }) }

  /// - Parameters:
  ///   - group: the group of the route that the router has found. Paths alone do not tell: `//status` is the same route
  ///     as `/status`.
  ///   - showsToken: `true` if the request has the bearer token, which no page of another site knows.
  /// - Returns: `nil` if the request is permitted.
  func refusal(of head: HTTPRequest, to group: RouteGroup, showsToken: Bool) -> Refusal? {
    guard !group.isOpen, !showsToken else { return nil }
    let path = (head.path ?? "/").prefix { $0 != "?" }
    // Browsers always send the host.
    let authority = head.host ?? ""
    guard authority.isEmpty || Self.host(of: authority).map(accepts) ?? false else { return .host(authority) }
    let isSafe = head.method == .get || head.method == .head || head.method == .options
    // The preview of a page is sandboxed: its origin is opaque, and it only shows pictures.
    if isSafe, path == "/resources" { return nil }
    if let origin = head.headerFields[.origin], !Self.isSame(origin, authority) {
      // Chrome's developer tools, whose origin no page can have.
      let isDebugger = path.hasPrefix(Self.debuggedPath) && origin == Self.debugger
      if !isDebugger { return .origin(origin) }
    }
    if Self.isCrossSite(head), !(isSafe && Self.isNavigation(head)) { return .crossSite }
    // Administration always requires its token.
    if head.method == .post, Self.hasBody(head), group != .admin {
      let type = head.headerFields[.contentType]
      guard let type, Self.isJSON(type) else { return .contentType(type) }
    }
    return nil
  }

  /// Returns `true` if the browser says that a document of another site sends the request or leads to it.
  package static func isCrossSite(_ head: HTTPRequest) -> Bool { metadata("Site", head) == "cross-site" }

  /// Returns `true` if the browser says that a document of this server sends the request.
  package static func hasOwnOrigin(_ head: HTTPRequest) -> Bool {
    guard let origin = head.headerFields[.origin], let host = head.host else { return false }
    return isSame(origin, host)
  }

  /// The origin of a browser's developer tools.
  static let debugger = "devtools://devtools"
  /// The beginning of the paths that they ask for.
  package static let debuggedPath = "/devtools/page/"

  private func accepts(_ host: Substring) -> Bool {
    let name = host.lowercased()
    // The owner of a name can make it resolve to any address; an IP address cannot be redirected in this way.
    return name == "localhost" || hosts.contains(name) || HostAddress(name) != nil
  }

  /// RFC 9110 §7.2: the host without its port, and an IPv6 address without its brackets.
  ///
  /// - Returns: `nil` if anything but a port follows the host.
  private static func host(of authority: String) -> Substring? {
    let host: Substring
    let port: Substring
    if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
      host = authority[authority.index(after: authority.startIndex)..<end]
      port = authority[authority.index(after: end)...]
    } else {
      host = authority.prefix { $0 != ":" }
      port = authority[host.endIndex...]
    }
    let isPort = port.first == ":" && port.dropFirst().utf8.allSatisfy { (0x30...0x39).contains($0) }
    return port.isEmpty || isPort ? host : nil
  }

  /// RFC 6454 §7. The scheme is ignored, since a proxy before this server may have terminated TLS.
  private static func isSame(_ origin: String, _ authority: String) -> Bool {
    guard let start = origin.firstRange(of: "://")?.upperBound else { return false }
    return origin[start...].lowercased() == authority.lowercased()
  }

  /// Fetch Metadata: a link that a user opens in a window of its own discloses nothing to the page it was on.
  private static func isNavigation(_ head: HTTPRequest) -> Bool {
    metadata("Mode", head) == "navigate" && metadata("Dest", head) == "document"
  }

  /// W3C Fetch Metadata Request Headers.
  private static func metadata(_ name: String, _ head: HTTPRequest) -> String? {
    HTTPField.Name("Sec-Fetch-" + name).flatMap { head.headerFields[$0] }
  }

  private static func hasBody(_ head: HTTPRequest) -> Bool {
    head.headerFields[.transferEncoding] != nil || (head.headerFields[.contentLength] ?? "0") != "0"
  }

  private static func isJSON(_ type: String) -> Bool {
    let name = MediaType(type).name
    return name == "application/json" || (name.hasPrefix("application/") && name.hasSuffix("+json"))
  }
}

/// Guards the routes that are not open to everybody: refuses requests that pages of other sites cause (``SiteRules``),
/// and requires the token where other machines can reach the routes, and for administration always.
struct CallerMiddleware: RouterMiddleware {
  typealias Context = HostRequestContext

  let rules: SiteRules
  let group: RouteGroup
  /// Checks the token; `nil` if none is set.
  let authenticator: AdminAuthenticator?
  let asksToken: Bool
  /// Lets browsers in that have a cookie or a ticket in place of the token; `nil` for routes that ask for the token alone.
  let sessions: BrowserSessions?
  /// `true` if the connection uses TLS.
  let isSecure: Bool
  let metrics: HostMetrics
  /// Tells whether a request without the token shows a right of its own. These routes hold requests with the token to the
  /// rules too. `nil` for other routes.
  var grants: (@Sendable (Request) -> Bool)?

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let authorization = request.headers[.authorization]
    let showsToken = authenticator?.accepts(authorization: authorization) ?? false
    if let refusal = rules.refusal(of: request.head, to: group, showsToken: showsToken && grants == nil) {
      metrics.refusals(refusal.name).increment()
      throw HTTPError(refusal.status, message: "\(refusal)")
    }
    if group == .admin {
      guard showsToken || grants?(request) == true else {
        context.requestLogger.notice("An admin's token was refused")
        // RFC 6750 §3: a request without a token gets the challenge, one with a wrong token an error too.
        let challenge = authorization == nil ? "Bearer" : #"Bearer error="invalid_token""#
        throw HTTPError(
          .unauthorized, headers: [.wwwAuthenticate: challenge], message: "the admin's bearer token is required")
      }
      return try await next(request, context)
    }
    if asksToken, !showsToken, let sessions {
      if sessions.accepts(request.headers, at: .now) { return try await next(request, context) }
      if request.method == .get, let ticket = request.uri.queryParameters[Substring(BrowserSessions.parameter)],
        let secret = sessions.redeem(String(ticket), at: .now)
      {
        var response = try await next(request, context)
        response.headers[.setCookie] = BrowserSessions.field(secret, isSecure: isSecure)
        return response
      }
    }
    // If no token is set, no request can have it.
    guard !asksToken || showsToken || authenticator?.accepts(password: authorization) == true else {
      metrics.refusals("token").increment()
      throw HTTPError(
        .unauthorized, headers: AdminAuthenticator.challenge(with: authorization),
        message: "the admin's token is required, as a bearer token or as a password")
    }
    return try await next(request, context)
  }
}
