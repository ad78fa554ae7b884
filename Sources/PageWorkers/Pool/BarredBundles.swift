import Foundation
import PageKit

/// Bundles that ended workers or were stopped. After several times they are barred for a while.
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

    package var description: String {
      "\(url) is barred for \(Int(duration)) s: it was stopped \(strikes) times, the last time because \(reason)"
    }
  }

  /// This number of stops …
  package var strikes = 3
  /// … within this time bars a bundle for the same time.
  package var window: Duration = .seconds(600)
  /// The limit of remembered bundles; the oldest is removed first.
  private static let limit = 1_000

  private var times: [SHA256Digest: [ContinuousClock.Instant]] = [:]
  private var entries: [SHA256Digest: Entry] = [:]

  package init() {}

  /// Records that a bundle was stopped.
  mutating func strike(_ digest: SHA256Digest, url: String, _ reason: KillReason, at now: ContinuousClock.Instant) {
    var recent = (times[digest] ?? []).filter { $0 + window > now }
    recent.append(now)
    if times.count >= Self.limit, times[digest] == nil { forget() }
    times[digest] = recent
    guard recent.count >= strikes else { return }
    entries[digest] = Entry(
      digest: digest, url: url, reason: reason, strikes: recent.count, until: now + window, duration: window.seconds)
  }

  /// `nil` if the bundle may run.
  func entry(_ digest: SHA256Digest, at now: ContinuousClock.Instant) -> Entry? {
    entries[digest].flatMap { $0.until > now ? $0 : nil }
  }

  func all(at now: ContinuousClock.Instant) -> [Entry] {
    entries.values.filter { $0.until > now }.sorted { $0.url < $1.url }
  }

  /// Lets a bundle run again.
  mutating func pardon(_ digest: SHA256Digest) {
    times[digest] = nil
    entries[digest] = nil
  }

  private mutating func forget() {
    guard let oldest = times.min(by: { ($0.value.last ?? .now) < ($1.value.last ?? .now) })?.key else { return }
    pardon(oldest)
  }
}
