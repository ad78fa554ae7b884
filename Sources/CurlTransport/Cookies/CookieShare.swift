import CCurl
import Foundation
import HTTPTransport
import HTTPTypes

/// libcurl's cookies, which the transfers of several curl threads may share.
final class CookieShare: Sendable {
  /// libcurl protects its contents with the locks below.
  nonisolated(unsafe) private let handle: UnsafeMutableRawPointer
  private let locks: ShareLocks

  /// - Throws: ``TransportError`` if libcurl cannot be loaded or set up, or was built without cookies.
  init() throws {
    let share = try CurlMailbox.handle { curl_share_init() }
    handle = share
    locks = ShareLocks()
    let context = Unmanaged.passUnretained(locks).toOpaque()
    _ = pk_share_setopt_pointer(share, CURLSHOPT_USERDATA, context)
    _ = pk_share_setopt_lock(share) { _, data, _, context in
      context.map { Unmanaged<ShareLocks>.fromOpaque($0).takeUnretainedValue().lock(data) }
    } _: { _, data, context in
      context.map { Unmanaged<ShareLocks>.fromOpaque($0).takeUnretainedValue().unlock(data) }
    }
    let code = pk_share_setopt_data(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE)
    guard code == CURLSHE_OK else {
      throw TransportError.failed(
        url: "libcurl", code: Int(code.rawValue), reason: String(cString: curl_share_strerror(code)))
    }
  }

  /// libcurl refuses this while a handle is attached, but each handle belongs to a request that keeps the jar alive.
  deinit { curl_share_cleanup(handle) }

  /// Attaches a handle until it is cleaned up; `curl_easy_reset` does not detach it.
  func attach(to easy: UnsafeMutableRawPointer) {
    _ = pk_setopt_pointer(easy, CURLOPT_SHARE, handle)
  }

  /// Returns all cookies, those of each host in the order of their first arrival; some may be expired.
  ///
  /// - Parameter easy: an attached handle.
  func cookies(through easy: UnsafeMutableRawPointer) -> [StoredCookie] {
    var list: UnsafeMutablePointer<curl_slist>?
    guard pk_getinfo_list(easy, CURLINFO_COOKIELIST, &list) == CURLE_OK else { return [] }
    defer { curl_slist_free_all(list) }
    var cookies: [StoredCookie] = []
    var next = list
    while let line = next?.pointee {
      if let data = line.data,
        let cookie = StoredCookie(line: Array(UnsafeRawBufferPointer(start: data, count: strlen(data))))
      {
        cookies.append(cookie)
      }
      next = line.next
    }
    return cookies
  }

  /// Adds cookies, and returns all cookies that libcurl has then.
  func add(_ cookies: [StoredCookie]) -> [StoredCookie] {
    withHandle { easy in
      for cookie in cookies {
        _ = pk_setopt_string(easy, CURLOPT_COOKIELIST, cookie.line.map(CChar.init(bitPattern:)) + [0])
      }
      return self.cookies(through: easy)
    } ?? []
  }

  func removeAll() {
    _ = withHandle { pk_setopt_string($0, CURLOPT_COOKIELIST, "ALL") }
  }

  /// Calls the body with a handle without a transfer, which is the only access to the cookies.
  private func withHandle<Result>(_ body: (UnsafeMutableRawPointer) -> Result) -> Result? {
    guard let easy = curl_easy_init() else { return nil }
    defer { curl_easy_cleanup(easy) }
    attach(to: easy)
    return body(easy)
  }
}

/// One lock for each kind of data that libcurl shares, since it holds several at once.
private final class ShareLocks: Sendable {
  private let locks = (0..<Int(CURL_LOCK_DATA_LAST.rawValue)).map { _ in NSLock() }

  func lock(_ data: curl_lock_data) { self[data]?.lock() }
  func unlock(_ data: curl_lock_data) { self[data]?.unlock() }

  private subscript(data: curl_lock_data) -> NSLock? {
    locks.indices.contains(Int(data.rawValue)) ? locks[Int(data.rawValue)] : nil
  }
}

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

extension TransportRequest {
  /// Adds the store's cookies, unless the request has a `Cookie` field of its own.
  ///
  /// - Returns: the store, and the URL for which it is asked and gets the response's cookies; `nil` for a request
  ///   without a store, or with a jar that libcurl can serve alone.
  mutating func addCookies() -> (store: any CookieStoring, url: PageURL)? {
    guard let store = cookies, !(store is CookieJar) || hasLongHead, let url = PageURL(self.url, ignoring: []) else {
      return nil
    }
    if head.headerFields[.cookie] == nil, let value = store.cookieHeader(for: url) {
      head.headerFields[.cookie] = value
    }
    return (store, url)
  }

  /// `true` if libcurl may have no room for a cookie of the usual 4 KiB after the request's first lines.
  ///
  /// libcurl 7.88 limits these and the cookies to 8 KiB. If the first cookie exceeds the limit, it writes `Cookie:`
  /// without a line's end, and the next field becomes its value.
  fileprivate var hasLongHead: Bool {
    // A request through a proxy contains the authority twice.
    head.method.rawValue.utf8.count + url.utf8.count + (head.authority?.utf8.count ?? 0) > 3500
  }
}
