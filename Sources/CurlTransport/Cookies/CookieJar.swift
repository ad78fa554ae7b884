import Dispatch
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
///
///     configuration.network.cookies = try CookieJar(file: "/var/lib/shop/cookies.txt")
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
  /// - Throws: ``CookieFileError`` if the file cannot be written.
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

/// A cookie file cannot be written.
public struct CookieFileError: Error, Hashable, CustomStringConvertible {
  /// The file's path.
  public let path: String
  /// The system's description of the error.
  public let reason: String

  public var description: String { "The cookies cannot be saved in \(path): \(reason)." }
}

/// Stores cookies in a file in Netscape's format, which curl and tools of browsers also read.
final class CookieFile: Sendable {
  private struct State {
    /// The cookies to write; `nil` if they were written.
    var pending: [StoredCookie]?
    var isScheduled = false
    var latest: [StoredCookie] = []
    /// The cookies in the file when it was last read or written by this process.
    var known: [StoredCookie] = []
    var failure: CookieFileError?
  }

  private let path: String
  private let queue = DispatchQueue(label: "pagekit.cookies")
  private let state = Mutex(State())

  /// The size limit of a cookie file in bytes; a larger one is ignored.
  private static let sizeLimit = 16 << 20

  init(path: String) { self.path = path }

  /// Returns the file's cookies. Other lines are ignored, and so is a file that cannot be read.
  func load(now: Int64) -> [StoredCookie] {
    let cookies = read().filter { !$0.isExpired(at: now) }
    state.withLock { ($0.latest, $0.known) = (cookies, cookies) }
    return cookies
  }

  private func read() -> [StoredCookie] {
    let attributes = try? FileManager.default.attributesOfItem(
      atPath: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
    // Opening another kind of file might block.
    guard attributes?[.type] as? FileAttributeType == .typeRegular,
      let size = attributes?[.size] as? Int, size <= Self.sizeLimit,
      let bytes = FileManager.default.contents(atPath: path)
    else { return [] }
    return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      StoredCookie(line: Array(line.last == UInt8(ascii: "\r") ? line.dropLast() : line))
    }.filter { $0.isSound && $0.isPersistent }
  }

  /// Merges this process's changes into the file's present cookies, since another process may have changed it.
  private func merged(_ cookies: [StoredCookie]) -> [StoredCookie] {
    let known = state.withLock(\.known)
    let current = read()
    guard current != known else { return cookies }
    let (ours, theirs) = (Set(cookies), Set(known))
    let changed = ours.subtracting(theirs)
    let touched = Set(changed.map(\.identity)).union(theirs.subtracting(ours).map(\.identity))
    return current.filter { !touched.contains($0.identity) } + cookies.filter { changed.contains($0) }
  }

  /// Schedules a write on the queue. Session cookies are not written.
  func save(_ cookies: [StoredCookie]) {
    let lasting = cookies.filter(\.isPersistent)
    let isUnscheduled = state.withLock { state in
      guard lasting != state.latest else { return false }
      (state.pending, state.latest) = (lasting, lasting)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if isUnscheduled { queue.async { self.writePending() } }
  }

  /// Returns when all cookies are written; repeats a failed write.
  func flush() throws(CookieFileError) {
    queue.sync { writePending() }
    if let failure = state.withLock(\.failure) { throw failure }
  }

  /// Writes the pending cookies. Runs on the queue, so that an older state never replaces a newer one.
  private func writePending() {
    let pending = state.withLock { state in
      defer { (state.pending, state.isScheduled) = (nil, false) }
      return state.pending
    }
    guard let pending else { return }
    let failure = write(pending)
    state.withLock { state in
      state.failure = failure
      if failure != nil, state.pending == nil { state.pending = pending }
    }
  }

  /// Writes a temporary file first and renames it, so that readers find either the old or the new file.
  private func write(_ ours: [StoredCookie]) -> CookieFileError? {
    let lock = open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard lock >= 0 else { return failure() }
    flock(lock, LOCK_EX)
    defer {
      flock(lock, LOCK_UN)
      close(lock)
    }
    let cookies = merged(ours)
    var text = Array("# Netscape HTTP Cookie File\n\n".utf8)
    for cookie in cookies { text += cookie.line + [UInt8(ascii: "\n")] }
    // mkstemp makes a file that only its owner can read.
    var name = Array("\(path).XXXXXX".utf8CString)
    let descriptor = mkstemp(&name)
    guard descriptor >= 0 else { return failure() }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    var error = Self.write(text, to: descriptor) && fsync(descriptor) == 0 ? nil : failure()
    close(descriptor)
    if error == nil, rename(name, path) != 0 { error = failure() }
    if error != nil { unlink(name) } else { state.withLock { $0.known = cookies } }
    return error
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    bytes.withUnsafeBytes { buffer in
      var rest = buffer[...]
      while !rest.isEmpty {
        let count = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }
  }

  private func failure() -> CookieFileError {
    CookieFileError(path: path, reason: String(cString: strerror(errno)))
  }
}
