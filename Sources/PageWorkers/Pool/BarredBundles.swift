import Foundation
import PageKit

/// The caller for whom a page opens.
package struct PageCaller: Hashable, Sendable {
  /// The client's name, such as its address.
  package let client: String
  /// `true` if the caller chose what the page gets: data, options, parameters, or a URL that is not in the release.
  package let hasInput: Bool

  package init(client: String, hasInput: Bool) { (self.client, self.hasInput) = (client, hasInput) }
}

/// Bundles that ended workers or were stopped. After several times they are barred for a while: for every caller if
/// they fail with what they have themselves, and otherwise for the callers with whose input they failed.
///
/// A pure value; the time is an argument.
package struct BarredBundles: Sendable {
  /// A barred bundle.
  package struct Entry: Hashable, Sendable, CustomStringConvertible {
    package let digest: SHA256Digest
    /// The URL of its last opening.
    package let url: String
    /// The result of its last run.
    package let reason: KillReason
    package let strikes: Int
    package let until: ContinuousClock.Instant
    /// Seconds.
    package let duration: Double
    /// The client for whom it is barred; `nil` for all.
    package let client: String?

    package var description: String { text(LimitHints()) }

    /// - Parameter hints: name what its reader can change.
    package func text(_ hints: LimitHints) -> String {
      let scope = client.map { " for \($0)" } ?? ""
      return
        "\(url) is barred\(scope) for \(Int(duration)) s: it was stopped \(strikes) times, the last time because \(reason.text(hints))"
    }
  }

  private struct Strike: Sendable {
    let at: ContinuousClock.Instant
    let url: String
    let reason: KillReason
    /// The client with whose input the bundle ran; `nil` if it had none.
    let client: String?
  }

  /// This number of stops …
  package var strikes = 3
  /// … within this time bars a bundle for the same time.
  package var window: Duration = .seconds(600)
  /// The limit of remembered bundles; the oldest is removed first.
  private static let limit = 1_000
  /// The limit of remembered stops of a bundle.
  private static let strikeLimit = 100

  private var recent: [SHA256Digest: [Strike]] = [:]

  package init() {}

  /// Records that a bundle was stopped.
  ///
  /// - Parameter caller: the caller for whom it ran.
  mutating func strike(
    _ digest: SHA256Digest, url: String, _ reason: KillReason, for caller: PageCaller, at now: ContinuousClock.Instant
  ) {
    if recent.count >= Self.limit, recent[digest] == nil { forget() }
    let strike = Strike(at: now, url: url, reason: reason, client: caller.hasInput ? caller.client : nil)
    recent[digest] = (recent[digest] ?? []).filter { $0.at + window > now }.suffix(Self.strikeLimit - 1) + [strike]
  }

  /// `nil` if the bundle may run for the client.
  func entry(_ digest: SHA256Digest, for client: String, at now: ContinuousClock.Instant) -> Entry? {
    entry(digest, at: now) ?? entry(digest, of: client, at: now)
  }

  func all(at now: ContinuousClock.Instant) -> [Entry] {
    recent.flatMap { digest, strikes in
      if let entry = entry(digest, at: now) { return [entry] }
      return Set(strikes.compactMap(\.client)).compactMap { entry(digest, of: $0, at: now) }
    }.sorted { ($0.url, $0.client ?? "") < ($1.url, $1.client ?? "") }
  }

  /// Lets a bundle run again.
  mutating func pardon(_ digest: SHA256Digest) { recent[digest] = nil }

  /// - Parameter client: counts what the client's input caused too; `nil` for the stops without any input.
  private func entry(
    _ digest: SHA256Digest, of client: String? = nil, at now: ContinuousClock.Instant
  ) -> Entry? {
    let counted = (recent[digest] ?? []).filter { $0.client == nil || $0.client == client }
    guard counted.count >= strikes, let last = counted.last, last.at + window > now,
      counted[counted.count - strikes].at + window > last.at
    else { return nil }
    return Entry(
      digest: digest, url: last.url, reason: last.reason, strikes: counted.count, until: last.at + window,
      duration: window.seconds, client: client)
  }

  private mutating func forget() {
    guard let oldest = recent.min(by: { ($0.value.last?.at ?? .now) < ($1.value.last?.at ?? .now) })?.key else {
      return
    }
    pardon(oldest)
  }
}
