import Foundation
import HTTPTransport
import HTTPTypes
import Synchronization

/// libcurl's cookies, for the transfers of one or more ``CurlTransport``.
///
/// libcurl decides which cookies are accepted, replaced and sent: by RFC 6265 with the public suffix list, the prefixes
/// `__Host-` and `__Secure-`, and the protection of secure cookies. A response's cookies are in the jar before its head
/// is returned.
///
/// Session cookies live as long as the jar. Each jar has its own cookies; a file should belong to one jar at a time.
public final class CookieJar: CookieStoring {
  let share: CookieShare
  private let file: CookieFile?
  /// A copy of the cookies in `share`, for callers without a libcurl handle. It is updated under this lock, so that an
  /// older state never replaces a newer one.
  private let mirror = Mutex<[StoredCookie]>([])

  /// Makes a jar.
  ///
  /// - Parameter file: the path of a file in Netscape's format, in which the cookies outlive the jar; `nil` to keep
  ///   them only in memory. The file need not exist. Lines that are not cookies are ignored, and are lost at the next
  ///   write.
  /// - Throws: ``TransportError`` if libcurl cannot be set up.
  public init(file: String? = nil) throws {
    share = try CookieShare()
    self.file = file.map(CookieFile.init(path:))
    let cookies = self.file.map { share.add($0.load(now: Self.now)) }
    mirror.withLock { $0 = cookies ?? [] }
  }

  /// Returns the value of `Cookie` that libcurl would send to the URL now; `nil` for none. Safe from any thread,
  /// without I/O.
  public func cookieHeader(for url: PageURL) -> String? { cookieHeader(for: url, now: Self.now) }

  /// - Parameter now: the time in seconds since 1970.
  func cookieHeader(for url: PageURL, now: Int64) -> String? {
    guard let target = CookieTarget(url) else { return nil }
    return mirror.withLock(\.self).header(for: target, now: now)
  }

  /// Does nothing: libcurl stores the cookies of its own transfers, and cannot check a field (RFC 6265 §5.3) from
  /// another source.
  public func receive(_ fields: HTTPFields, from url: PageURL) {}

  /// Removes all cookies, also from the file. Transfers under way may add new ones.
  public func removeAll() {
    mirror.withLock { cookies in
      share.removeAll()
      cookies = []
      file?.save([])
    }
  }

  /// Returns when all cookies are in the file. The jar also writes them by itself after a short time; this is for a
  /// process that is about to end, or before another jar reads the file.
  ///
  /// - Throws: an error with the path and the reason if the file cannot be written.
  public func flush() throws { try file?.flush() }

  /// Takes over the cookies of a transfer.
  ///
  /// - Parameter easy: the transfer's handle.
  func update(through easy: UnsafeMutableRawPointer) {
    mirror.withLock { cookies in
      cookies = share.cookies(through: easy)
      file?.save(cookies)
    }
  }

  private static var now: Int64 { Int64(Date().timeIntervalSince1970) }
}
