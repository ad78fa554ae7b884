import Foundation
import HTTPTransport
import HTTPTypes
import Synchronization

/// Cookies as libcurl keeps them, for the transfers of one or more ``CurlTransport``.
///
/// Which cookies are taken, replaced and sent is libcurl's decision: RFC 6265 with the public suffix list, the
/// prefixes `__Host-` and `__Secure-`, and secure cookies that others cannot overlay. What a transfer brings is in
/// the jar before its head is handed out.
///
/// Cookies without an end of their own live as long as the jar. Each jar is on its own; a file must not belong to
/// two of them at the same time, or the last one to write it wins.
public final class CookieJar: CookieStoring {
  let share: CookieShare
  private let file: CookieFile?
  /// What `share` has, for those who ask without libcurl. It is taken from there under this lock, so that an
  /// older state never replaces a newer one.
  private let mirror = Mutex<[StoredCookie]>([])

  /// - Parameter file: where cookies are kept beyond the jar's life, in Netscape's format; nil for in memory alone.
  ///   It need not exist. What cannot be read in it is passed over, and is gone when it is written the next time.
  /// - Throws: ``TransportError`` where libcurl cannot be set up.
  public init(file: String? = nil) throws {
    share = try CookieShare()
    self.file = file.map(CookieFile.init(path:))
    let cookies = self.file.map { share.add($0.load(now: Self.now)) }
    mirror.withLock { $0 = cookies ?? [] }
  }

  public func cookieHeader(for url: PageURL) -> String? { cookieHeader(for: url, now: Self.now) }

  /// - Parameter now: in seconds since 1970.
  func cookieHeader(for url: PageURL, now: Int64) -> String? {
    guard let target = CookieTarget(url) else { return nil }
    return mirror.withLock(\.self).header(for: target, now: now)
  }

  /// Does nothing: libcurl takes in what its own transfers bring, and has no way to check a field (RFC 6265 §5.3)
  /// that came otherwise.
  public func receive(_ fields: HTTPFields, from url: PageURL) {}

  /// Forgets everything, the file's cookies too. Transfers under way may bring new ones.
  public func removeAll() {
    mirror.withLock { cookies in
      share.removeAll()
      cookies = []
      file?.save([])
    }
  }

  /// Returns when everything the jar has got so far is in its file. That happens soon by itself; this is for who
  /// cannot wait, because the process ends or another jar shall read the file.
  ///
  /// - Throws: ``CookieFileError`` where the file cannot be written.
  public func flush() throws(CookieFileError) { try file?.flush() }

  /// A transfer has brought cookies.
  ///
  /// - Parameter easy: its handle.
  func update(through easy: UnsafeMutableRawPointer) {
    mirror.withLock { cookies in
      cookies = share.cookies(through: easy)
      file?.save(cookies)
    }
  }

  private static var now: Int64 { Int64(Date().timeIntervalSince1970) }
}
