import CacheGateway
import Fleet
import Foundation
import ServerKit

/// The status that the dashboard shows and `GET /status` answers. Times are RFC 3339, durations seconds.
struct HostStatus: Codable, Sendable {
  var version = HostVersion.current
  var started: Date
  /// `true` if it serves bundles and runs pages; `false` for a gateway alone.
  var servesBundles = true
  /// The release that is served; `nil` before there is one.
  var release: Release?
  var bundles: [Bundle] = []
  var pages: [Page] = []
  var workers: [Worker] = []
  /// The origins behind the gateway; `nil` without one.
  var origins: [OriginStatus]?
  /// The fleet that the host belongs to; `nil` for a host of its own.
  var fleet: FleetStatus?
  /// The latest failures, newest first; at most ``failureLimit``.
  var failures: [FailureLog.Failure] = []
  /// The certificate of new connections; `nil` without TLS. The route fills it in, as what follows.
  var certificate: CertificateValidity?
  var checks: [HealthCheck.Outcome] = []
  var traffic = Traffic()

  static let failureLimit = FailureLog.limit * failureKinds.count
  /// The kinds of failures that are shown.
  static let failureKinds: [FailureLog.Kind] = [.page, .worker, .release, .origin]

  struct Release: Codable, Sendable {
    var name: String
    var sequence: Int?
    /// The folder or the URL it came from.
    var source: String
    var activated: Date?
    /// The time of the last successful request to the server, or look at the folder.
    var verified: Date?
    /// The reports of installs about it; `nil` if none are taken.
    var reports: Reports?
    /// The reason why the gate keeps a newer one from being served; `nil` if it does not.
    var refused: String?

    struct Reports: Codable, Sendable {
      /// The installs on which it is good, and on which it is bad.
      var good, bad: Int
      /// `true` if hosts are kept from switching to it.
      var isHalted: Bool
    }
  }

  struct Bundle: Codable, Sendable {
    enum State: String, Codable, Sendable {
      /// `missing`: it is fetched when it is requested.
      case ready, barred, missing
    }

    var name: String
    var url: String?
    /// In bytes.
    var size: Int64
    /// Bytes of the smallest encoding that was made since the start.
    var compressed: Int64?
    var state: State
    /// The reason why the host is not ready.
    var reason: String?
    /// The number of times its pages were opened or shown since the start.
    var opens: Int
  }

  struct Page: Codable, Sendable {
    var id: String
    var url: String
    /// `loading`, `evaluating`, `live`, `reopened`, …
    var phase: String
    /// The place of its worker.
    var worker: Int?
    var opened: Date
    var elements: Int?
    /// The seconds until its script had run.
    var entry: Double?
    /// The path of its preview on this host: HTML that is shown in a frame without scripts.
    var preview: String?
    /// The path at which it is used in a browser.
    var live: String?
    /// The path of a small picture of it, another one when the page may look different; `nil` if the host draws no pages.
    var picture: String?
    var error: String?
  }

  struct Worker: Codable, Sendable {
    /// The worker's place: the lowest free number when the worker was started, from 1.
    var slot: Int
    var pid: Int32?
    /// `starting`, `ready`, `busy`, `ending`
    var state: String
    var pages: Int
    /// Its resident memory in bytes, and the limit of it.
    var memory: Int64?
    var memoryLimit: Int64?
    var started: Date?
    /// The number of workers in this place that ended early.
    var kills: Int
  }

  /// Samples of the recent past, oldest first.
  struct Traffic: Codable, Sendable {
    /// Seconds between two points.
    var interval = 0.0
    var points: [Point] = []

    struct Point: Codable, Equatable, Sendable {
      var time: Date
      /// Requests per second.
      var requests: Double
      /// Answers with a 5xx status per second.
      var faults: Double
      /// The share of responses that came from the cache, from 0 to 1; `nil` without requests.
      var hits: Double?
      /// The median time to respond in seconds; `nil` without requests.
      var median: Double?
      var p95: Double?
    }
  }
}

/// The version of the daemon, as `--version` and the dashboard show it.
enum HostVersion {
  static let current = "0.1.0"
  /// The commit that the program was built from; `nil` if it is unknown.
  @TaskLocal static var commit: String?

  /// The version, with the commit if it is known.
  static var text: String { current + (commit.map { " (\($0))" } ?? "") }
}
