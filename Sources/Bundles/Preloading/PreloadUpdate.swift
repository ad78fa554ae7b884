import Foundation
import HTTPTransport

/// The progress of a preload.
///
/// The last update contains the report. Changes in between are merged: a slow subscriber gets fewer updates, and each one
/// has the latest state.
public struct PreloadUpdate: Sendable {
  /// The totals of a preload's current round.
  public struct Totals: Hashable, Sendable {
    /// The present activity.
    package var phase: Phase = .askingServer
    /// The release's name, once it is known.
    public var release: String?
    /// The number of contents to fetch; entries with equal bytes count once.
    public var toFetch = 0
    /// The number of contents that were fetched and stored.
    public var fetched = 0
    /// The number of contents that could not be fetched.
    public var failed = 0
    /// The number of bundles and files that were stored before.
    public var upToDate = 0
    /// The wire bytes received so far.
    public var bytes: Int64 = 0
    /// The bytes already present of the contents to fetch, including those of earlier runs and of finished contents,
    /// without those of failed ones.
    public var bytesHere: Int64 = 0
    /// The bytes of all contents to fetch, as far as the manifest or the responses give sizes, without failed ones.
    public var bytesToFetch: Int64 = 0
    /// The time since the preload began.
    public var elapsed: Duration = .zero
    /// The wire bytes per second over the last 3 seconds.
    public var rate: Double = 0

    package init() {}
  }

  /// The activity of a preload.
  package enum Phase: Hashable, Sendable {
    /// Asking the server for its manifest.
    case askingServer
    /// Downloading bundles and files.
    case fetching
    /// Making the release the current one.
    case activating
    /// Downloading the responses that bundles list for prefetching.
    case prefetching
    /// Pausing until the next round, as ``PreloadUpdate/pause`` says.
    case waiting
    /// Finished.
    case finished
  }

  /// A pause between the rounds of a preload.
  public struct Pause: Hashable, Sendable {
    /// The failures of the last round; empty if everything is stored.
    public let missing: [PreloadReport.Failure]
    /// The latest time at which the preload continues; `nil` if it waits only for the network or for a release event.
    public let until: Date?
  }

  /// The progress of one content, under the name of its first entry.
  package struct Bundle: Hashable, Sendable {
    /// The name in the manifest.
    package let name: String
    /// The kind: a page's script or another file.
    package let kind: PageBundle.Kind
    /// The size in bytes, if the manifest or the response gives it.
    package internal(set) var size: Int64?
    /// The progress of the download.
    package var state: State
    /// The next attempt, while the download waits for it.
    package internal(set) var retry: Retry?
  }

  /// A failed attempt, and the next one.
  package struct Retry: Hashable, Sendable {
    /// The number of the next attempt, from 2.
    package let number: Int
    /// The largest number of attempts.
    package let limit: Int
    /// The time between the failure and the next attempt.
    package let delay: Duration
    /// The cause of the failure, without the URL.
    package let reason: String

    package init(number: Int, limit: Int, delay: Duration, reason: String) {
      (self.number, self.limit, self.delay, self.reason) = (number, limit, delay, reason)
    }
  }

  /// The progress of a download.
  package enum State: Hashable, Sendable {
    /// Not started.
    case waiting
    /// Under way, with the wire bytes so far, including those of earlier runs.
    case fetching(Int64)
    /// Stored.
    case done
    /// Failed, with the reason.
    case failed(String)
  }

  /// The totals.
  public let totals: Totals
  /// The bundles that changed since the subscriber's last update; all of them in the first one.
  package let changed: [Bundle]
  /// The pause between two rounds, otherwise `nil`.
  public let pause: Pause?
  /// The report in the last update, otherwise `nil`.
  public let report: PreloadReport?
}
