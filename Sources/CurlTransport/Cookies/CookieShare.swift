import CCurl
import Foundation
import HTTPTransport

/// libcurl's cookies, which the transfers of several curl threads may share.
final class CookieShare: Sendable {
  /// libcurl protects its contents with the locks below.
  private struct Handle: @unchecked Sendable {
    let share: UnsafeMutableRawPointer
  }

  private let handle: Handle
  private let locks: ShareLocks

  /// - Throws: ``TransportError`` if libcurl cannot be set up, or was built without cookies.
  init() throws {
    guard CurlMailbox.initialised, let share = curl_share_init() else {
      throw TransportError.failed(url: "libcurl", code: Int(CURLE_FAILED_INIT.rawValue), reason: "cannot be set up")
    }
    handle = Handle(share: share)
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
  deinit { curl_share_cleanup(handle.share) }

  /// Attaches a handle until it is cleaned up; `curl_easy_reset` does not detach it.
  func attach(to easy: UnsafeMutableRawPointer) {
    _ = pk_setopt_pointer(easy, CURLOPT_SHARE, handle.share)
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
