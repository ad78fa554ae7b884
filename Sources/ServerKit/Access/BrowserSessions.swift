import HTTPCaching
import HTTPTransport
import HTTPTypes
import Synchronization

/// Lets browsers in that do not know the admin's token.
///
/// A browser sends no bearer token when it opens a document or a stream of events. So who has the token asks for a ticket,
/// and puts it into a URL. The ticket is good once, for a short time; the browser that uses it gets a cookie, which scripts
/// cannot read and which the browser sends with none of the requests that other sites cause.
package final class BrowserSessions: Sendable {
  /// The times for which a ticket can be used, and a cookie counts.
  package static let ticketTime: Duration = .seconds(300)
  package static let sessionTime: Duration = .seconds(12 * 3_600)
  /// The limit of tickets, and of sessions. The oldest go first.
  package static let limit = 1_000
  /// The parameter of a URL that has a ticket.
  package static let parameter = "ticket"
  private static let cookie = "renderhost-live"

  private typealias Table = [SHA256Digest: ContinuousClock.Instant]

  /// The ends of tickets and sessions, by the digests of their secrets.
  private let state = Mutex((tickets: Table(), sessions: Table()))
  /// The digest of a ticket that is good at any time; `nil` for none.
  private let standing: SHA256Digest?

  package init() { standing = nil }

  /// - Parameter ticket: a ticket that is good at any time, for any number of browsers; ``secret()`` makes one.
  /// - Throws: ``DigestError``.
  package init(standing ticket: String) throws { standing = try SHA256Digest(of: Array(ticket.utf8)) }

  /// Makes a ticket.
  ///
  /// - Throws: ``DigestError``.
  package func ticket(at now: ContinuousClock.Instant) throws -> String {
    let secret = Self.secret()
    let digest = try SHA256Digest(of: Array(secret.utf8))
    state.withLock { Self.insert(digest, until: now + Self.ticketTime, at: now, into: &$0.tickets) }
    return secret
  }

  /// Uses a ticket up.
  ///
  /// - Returns: the secret of a session; `nil` if the ticket is unknown, was used, or is too old.
  func redeem(_ ticket: String, at now: ContinuousClock.Instant) -> String? {
    let secret = Self.secret()
    guard let old = try? SHA256Digest(of: Array(ticket.utf8)), let new = try? SHA256Digest(of: Array(secret.utf8))
    else {
      return nil
    }
    return state.withLock { state in
      guard old == standing || (state.tickets.removeValue(forKey: old).map { now < $0 } ?? false) else { return nil }
      Self.insert(new, until: now + Self.sessionTime, at: now, into: &state.sessions)
      return secret
    }
  }

  /// Returns `true` if the fields have the cookie of a session.
  func accepts(_ fields: HTTPFields, at now: ContinuousClock.Instant) -> Bool {
    for pair in fields[values: .cookie].lazy.flatMap({ $0.split(separator: ";") }).prefix(100) {
      let parts = pair.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, parts[0].trimmingSpaces == Self.cookie,
        let digest = try? SHA256Digest(of: Array(String(parts[1].trimmingSpaces).utf8))
      else { continue }
      if state.withLock({ $0.sessions[digest].map { now < $0 } ?? false }) { return true }
    }
    return false
  }

  /// The value of the field `Set-Cookie`. RFC 6265 §4.1.
  static func field(_ secret: String, isSecure: Bool) -> String {
    "\(cookie)=\(secret); Path=/; HttpOnly; SameSite=Strict; Max-Age=\(sessionTime.components.seconds)"
      + (isSecure ? "; Secure" : "")
  }

  private static func insert(
    _ digest: SHA256Digest, until end: ContinuousClock.Instant, at now: ContinuousClock.Instant, into table: inout Table
  ) {
    if table.count >= limit { table = table.filter { now < $0.value } }
    if table.count >= limit, let oldest = table.min(by: { $0.value < $1.value }) { table[oldest.key] = nil }
    table[digest] = end
  }

  /// 256 random bits.
  package static func secret() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<4).map { _ in
      let digits = String(generator.next(), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}
