import Foundation
import HTTPTransport

/// How far a preload is: totals, and the bundles that changed since the last update.
///
/// The first update a subscriber gets has every bundle; the last one has the report. In between changes are merged, so
/// that a slow subscriber sees fewer updates, never an old state.
public struct PreloadUpdate: Sendable {
  public struct Totals: Hashable, Sendable {
    public var phase: Phase = .askingServer
    /// The release's name, once it is known.
    public var release: String?
    /// Bundles and files to fetch in this run.
    public var toFetch = 0
    public var fetched = 0
    public var failed = 0
    /// In the store before the run.
    public var upToDate = 0
    /// Wire bytes so far.
    public var bytes: Int64 = 0
    /// Bytes that are here of what is to be fetched, those of former runs and finished ones among them; nothing of what
    /// has failed.
    public var bytesHere: Int64 = 0
    /// As far as the manifest, or the answers, tell sizes; without what has failed.
    public var bytesToFetch: Int64 = 0
    public var elapsed: Duration = .zero
    /// Bytes a second over the last seconds.
    public var rate: Double = 0

    package init() {}
  }

  public enum Phase: Hashable, Sendable {
    case askingServer
    case fetching
    case activating
    /// Fetching what bundles will ask for.
    case prefetching
    /// Nothing is under way; the preload goes on by itself, as ``PreloadUpdate/pause`` says.
    case waiting
    case finished
  }

  /// What a preload that goes on by itself waits for.
  public struct Pause: Hashable, Sendable {
    /// What could not be had in the last round, and why; empty where everything is here.
    public let missing: [PreloadReport.Failure]
    /// When it goes on at the latest; `nil` where it waits for the network or for a release event alone.
    public let until: Date?
  }

  public struct Bundle: Hashable, Sendable {
    public let name: String
    public let kind: PageBundle.Kind
    /// In bytes, where the manifest or the answer tells.
    public internal(set) var size: Int64?
    public var state: State
    /// While it is waited for the next try.
    public internal(set) var retry: Retry?
  }

  /// A try that has failed, and the next one.
  public struct Retry: Hashable, Sendable {
    /// The number of the next try, from 2.
    public let number: Int
    /// How many there are at the most.
    public let limit: Int
    /// How long after the failure it comes.
    public let delay: Duration
    /// The cause of the failure, without the URL.
    public let reason: String

    package init(number: Int, limit: Int, delay: Duration, reason: String) {
      (self.number, self.limit, self.delay, self.reason) = (number, limit, delay, reason)
    }
  }

  public enum State: Hashable, Sendable {
    case waiting
    /// Wire bytes that are here so far, with those of former runs.
    case fetching(Int64)
    case done
    case failed(String)
  }

  public let totals: Totals
  public let changed: [Bundle]
  /// While the phase is ``Phase/waiting``.
  public let pause: Pause?
  /// Only in the last update.
  public let report: PreloadReport?
}

/// What a preload did.
public struct PreloadReport: Hashable, Sendable {
  public struct Failure: Hashable, Sendable, Codable {
    public let name: String
    public let error: String
    /// Whether it may come right by itself, as where a server is away. Not encoded.
    public private(set) var isPassing = false

    public init(name: String, error: String, isPassing: Bool = false) {
      self.name = name
      self.error = error
      self.isPassing = isPassing
    }

    init(name: String, _ error: any Error) {
      self.init(name: name, error: "\(error)", isPassing: RetryPolicy.mayPass(error))
    }

    private enum CodingKeys: CodingKey {
      case name, error
    }
  }

  /// The release's name; nil where no manifest is known.
  public var release: String?
  public var sequence: Int64 = 0
  /// Bundles of the release.
  public var bundles = 0
  /// Files of the release.
  public var files = 0
  /// Bundles that were in the store before.
  public var upToDate = 0
  /// Bundles completed over the network in this run.
  public var downloaded = 0
  /// Those among them that continued a partial file.
  public var resumed = 0
  /// Bundles read from a folder of this machine.
  public var copied = 0
  /// The same three for files.
  public var filesUpToDate = 0
  public var filesDownloaded = 0
  public var filesCopied = 0
  /// Left for when they are opened: on demand, or idle with the data saver on.
  public var onDemand = 0
  /// Wire bytes of bodies.
  public var bytesDownloaded: Int64 = 0
  public var requests = 0
  /// Whether the source was switched to this release in this run.
  public var activated = false
  public var elapsed: Duration = .zero
  public var failures: [Failure] = []
  /// Whether it was cancelled before its end; what is complete stays, the rest goes on next time.
  public var isInterrupted = false
  /// Of those to fetch, how many were neither completed nor failed when it was interrupted.
  public var notFetched = 0
  /// Optional files that the server does not have as the manifest says; the release does not depend on them.
  public var leftOut: [Failure] = []
  /// The release that is held, so that this one was not switched to; nil where none is.
  public var held: String?
  /// Responses that bundles will ask for: stored and kept.
  public var prefetched = 0
  /// Those that the data saver did not allow.
  public var prefetchSkipped = 0
  /// URL and reason of those that could not be had; the release does not depend on them.
  public var prefetchFailures: [String] = []
  /// References that are here, or that another round would not bring.
  var settledPrefetches: Set<String> = []
  /// Whether others may come right by themselves.
  var lacksPrefetches = false

  public init() {}
}
