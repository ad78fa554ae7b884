import CCurl
import HTTPTransport
import HTTPTypes

/// The connection between one transfer and its ``CookieJar``. Lives on the curl thread.
struct TransferCookies {
  private let jar: CookieJar
  private let easy: UnsafeMutableRawPointer
  private var sendsOwn: Bool
  private var hasNews = false

  /// Returns `nil` for a request without a jar.
  init?(request: TransportRequest, easy: UnsafeMutableRawPointer) {
    guard let jar = request.cookies as? CookieJar else { return nil }
    self.jar = jar
    self.easy = easy
    sendsOwn = request.head.headerFields[.cookie] != nil || request.hasLongHead
    jar.share.attach(to: easy)
    // An empty file name makes libcurl send and accept cookies.
    if !sendsOwn { _ = pk_setopt_string(easy, CURLOPT_COOKIEFILE, "") }
  }

  /// Receives a line of the head that libcurl has already read.
  mutating func receive(headLine line: UnsafeRawBufferPointer) {
    if sendsOwn {
      // libcurl would have sent a second `Cookie` field (RFC 6265 §5.4 forbids that) or a damaged one, so its cookies
      // are enabled only now, between the status line and the fields.
      sendsOwn = false
      _ = pk_setopt_string(easy, CURLOPT_COOKIEFILE, "")
      _ = pk_setopt_string(easy, CURLOPT_COOKIELIST, "RELOAD")
    }
    let name = "set-cookie:".utf8
    if line.count > name.count, zip(line, name).allSatisfy({ $0 == $1 || $0 | 0x20 == $1 }) { hasNews = true }
    let isEmpty = line.allSatisfy { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
    if isEmpty { publish() }
  }

  /// Updates the jar with the transfer's cookies: at the end of each head, and of a transfer that ends within one.
  mutating func publish() {
    guard hasNews else { return }
    hasNews = false
    jar.update(through: easy)
  }
}

/// The cookies of one request that libcurl does not keep, or should not send.
struct AddedCookies {
  private let store: any CookieStoring
  private let url: PageURL
  /// The request with the store's cookies, unless it has a `Cookie` field of its own.
  let request: TransportRequest

  /// Returns `nil` for a request without a store, or with a jar that libcurl can serve alone.
  init?(to request: TransportRequest) {
    guard let store = request.cookies, !(store is CookieJar) || request.hasLongHead,
      let url = PageURL(request.url, ignoring: [])
    else { return nil }
    self.store = store
    self.url = url
    var request = request
    if request.head.headerFields[.cookie] == nil, let value = store.cookieHeader(for: url) {
      request.head.headerFields[.cookie] = value
    }
    self.request = request
  }

  func receive(_ head: HTTPResponse) {
    if head.headerFields[.setCookie] != nil { store.receive(head.headerFields, from: url) }
  }
}

extension TransportRequest {
  /// `true` if libcurl may have no room for a cookie of the usual 4 KiB after the request's first lines.
  ///
  /// libcurl 7.88 limits these and the cookies to 8 KiB. If the first cookie exceeds the limit, it writes `Cookie:`
  /// without a line's end, and the next field becomes its value.
  fileprivate var hasLongHead: Bool {
    // A request through a proxy contains the authority twice.
    head.method.rawValue.utf8.count + url.utf8.count + (head.authority?.utf8.count ?? 0) > 3500
  }
}
