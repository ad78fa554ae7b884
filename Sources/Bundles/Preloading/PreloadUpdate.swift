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

/// The result of a preload.
public struct PreloadReport: Hashable, Sendable {
  /// An entry that could not be fetched, or `manifest` for a failure of the whole preload.
  public struct Failure: Hashable, Sendable, Codable {
    /// The entry's name.
    public let name: String
    /// The reason, in a sentence.
    public let error: String
    /// `true` if a later attempt may succeed without any change here, for example if the server was unreachable. Not
    /// encoded.
    public private(set) var isPassing = false

    package init(name: String, error: String, isPassing: Bool = false) {
      self.name = name
      self.error = error
      self.isPassing = isPassing
    }

    init(name: String, _ error: any Error) {
      self.init(name: name, error: error.sentence, isPassing: RetryPolicy.mayPass(error))
    }

    private enum CodingKeys: CodingKey {
      case name, error
    }
  }

  /// The release's name; `nil` if no manifest is known.
  public var release: String?
  /// The release's sequence.
  package var sequence: Int64 = 0
  /// The number of bundles in the release.
  public var bundles = 0
  /// The number of files in the release.
  public var files = 0
  /// The number of bundles that were stored before, or that another process has stored meanwhile.
  public var upToDate = 0
  /// The number of bundles that were downloaded.
  public var downloaded = 0
  /// The number of downloaded bundles that continued a partial download.
  package var resumed = 0
  /// The number of downloaded bundles and files that arrived as the difference from older ones.
  package var deltas = 0
  /// The number of bundles that were read from a folder of this machine.
  package var copied = 0
  /// The number of files that were stored before, or that another process has stored meanwhile.
  public var filesUpToDate = 0
  /// The number of files that were downloaded.
  public var filesDownloaded = 0
  /// The number of files that were read from a folder of this machine.
  package var filesCopied = 0
  /// The number of entries that are fetched when they are opened: those on demand, and idle ones that the data saver
  /// did not allow.
  package var onDemand = 0
  /// The wire bytes of all response bodies.
  public var bytesDownloaded: Int64 = 0
  /// The number of requests that were sent.
  package var requests = 0
  /// `true` if the release became the current one in this run.
  public var activated = false
  /// The time that the preload took, without pauses.
  public var elapsed: Duration = .zero
  /// The entries that could not be fetched, with the reasons.
  public var failures: [Failure] = []
  /// `true` if the preload was cancelled before its end. Complete downloads stay, partial ones are continued next time.
  public var isInterrupted = false
  /// The number of entries that were neither fetched nor failed when the preload was cancelled.
  package var notFetched = 0
  /// The optional files whose bytes on the server differ from the manifest's digests; the release is complete without
  /// them.
  public var leftOut: [Failure] = []
  /// The name of the held release that stays current in place of this one; `nil` if none is held.
  public var held: String?
  /// The reason for which nothing of the release was fetched: it is bad on this device. `nil` for any other.
  public var bad: String?
  /// The name of the release that stays current, since the publisher's status holds this one back; `nil` if it does not.
  package var withheld: String?
  /// The names of the bundles that the publisher has disabled, sorted.
  package var disabled: [String] = []
  /// The number of prefetched responses that were stored and kept.
  package var prefetched = 0
  /// The number of responses that the data saver did not allow to prefetch.
  package var prefetchSkipped = 0
  /// The URL and reason of each response that could not be prefetched; the release is complete without them.
  public var prefetchFailures: [String] = []
  /// The references that are stored, or that another round would not fetch either.
  var settledPrefetches: Set<String> = []
  /// `true` if other references may be fetched by a later attempt.
  var lacksPrefetches = false

  package init() {}
}
