import Foundation
import PageKit

/// Bundles that have ended workers, or had to be stopped: after some times they are not run for a while.
///
/// A value; the time is an argument.
package struct BarredBundles: Sendable {
  /// A bundle that is not run.
  package struct Entry: Hashable, Sendable, CustomStringConvertible {
    package let digest: SHA256Digest
    /// Where it was opened from last.
    package let url: String
    /// What came of it the last time.
    package let reason: KillReason
    package let strikes: Int
    package let until: ContinuousClock.Instant
    /// Seconds.
    package let duration: Double

    package var description: String {
      "\(url) is not run for \(Int(duration)) s: it had to be stopped \(strikes) times, the last time since \(reason)"
    }
  }

  /// As many as this …
  package var strikes = 3
  /// … within this time bar it for the same time.
  package var window: Duration = .seconds(600)
  /// Bundles that are remembered; the oldest is forgotten first.
  private static let limit = 1_000

  private var times: [SHA256Digest: [ContinuousClock.Instant]] = [:]
  private var entries: [SHA256Digest: Entry] = [:]

  package init() {}

  /// Notes that a bundle had to be stopped.
  mutating func strike(_ digest: SHA256Digest, url: String, _ reason: KillReason, at now: ContinuousClock.Instant) {
    var recent = (times[digest] ?? []).filter { $0 + window > now }
    recent.append(now)
    if times.count >= Self.limit, times[digest] == nil { forget() }
    times[digest] = recent
    guard recent.count >= strikes else { return }
    entries[digest] = Entry(
      digest: digest, url: url, reason: reason, strikes: recent.count, until: now + window, duration: window.seconds)
  }

  /// Nil where it may run.
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
