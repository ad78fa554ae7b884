import HTTPTransport
import HTTPTypes
import PageTesting
import Synchronization
import Testing

extension FaultOrigin {
  /// A request to this origin under one of this computer's names.
  func request(
    _ path: String, host: String = "127.0.0.1", own: String? = nil, cookies: (any CookieStoring)?
  ) -> TransportRequest {
    var head = HTTPRequest(method: .get, scheme: "http", authority: "\(host):\(port)", path: path)
    head.headerFields[.cookie] = own
    return TransportRequest(head, cookies: cookies)
  }

  func pageURL(_ path: String, host: String = "127.0.0.1") throws -> PageURL {
    try #require(PageURL("http://\(host):\(port)\(path)"))
  }

  /// Sets these cookies at a path, and none elsewhere.
  func set(_ cookies: [String], at path: String) {
    respond("/*") { _ in OriginResponse() }
    respond(path) { _ in OriginResponse(headers: .settingCookies(cookies)) }
  }

  /// The `Cookie` fields of every request, in order.
  var cookies: [[String]] { requests.map { $0.headers[values: .cookie] } }
}

extension HTTPFields {
  static func settingCookies(_ cookies: [String]) -> HTTPFields {
    var fields = HTTPFields()
    fields[values: .setCookie] = cookies
    return fields
  }
}

/// A store other than libcurl's: it sends a given header and records the received fields.
final class NotingCookies: CookieStoring {
  private let header: String?
  private let state = Mutex<(asked: [String], received: [[String]])>(([], []))

  init(sending header: String?) { self.header = header }

  var asked: [String] { state.withLock(\.asked) }
  var received: [[String]] { state.withLock(\.received) }

  func cookieHeader(for url: PageURL) -> String? {
    state.withLock { $0.asked.append(url.text) }
    return header
  }

  func receive(_ fields: HTTPFields, from url: PageURL) {
    state.withLock { $0.received.append([url.text] + fields[values: .setCookie]) }
  }

  func removeAll() {}
}
