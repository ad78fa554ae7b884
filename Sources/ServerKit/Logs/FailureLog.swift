import Foundation
import Synchronization

/// Records the events of a daemon's parts: as metrics, and as failures for the dashboard.
package struct HostRecord: Sendable {
  package var metrics = HostMetrics()
  package var failures = FailureLog()

  package init(
    metrics: HostMetrics = HostMetrics(), failures: FailureLog = FailureLog()
  ) {
    self.metrics = metrics
    self.failures = failures
  }
}

/// The latest failures with their times. Each kind has its own limit, so that frequent failures hide no others; a
/// repeated failure replaces the former one.
package final class FailureLog: Sendable {
  /// A kind of failure. Each part defines its own.
  package struct Kind: Hashable, Sendable {
    package let name: String

    package init(_ name: String) { self.name = name }
  }

  /// One failure, as the dashboard shows it.
  package struct Failure: Codable, Sendable {
    package var time: Date
    /// The name of its ``Kind``.
    package var kind: String
    package var message: String
    /// The bundle, the bundles or the origin that the failure concerns.
    package var subject: String?
  }

  /// The limits of failures of each kind, and of characters in each text.
  package static let limit = 10
  static let textLimit = 1_000

  /// The failures with their causes, newest first.
  private let state = Mutex<[Kind: [(failure: Failure, cause: String)]]>([:])

  package init() {}

  /// - Parameters:
  ///   - subject: the public name of the bundle or the bundles that the failure concerns.
  ///   - cause: equal for failures that are the same although their messages differ, for example by a measured time;
  ///     the message by default.
  package func append(
    _ kind: Kind, _ message: String, of subject: String? = nil, cause: String? = nil, at time: Date = Date()
  ) {
    let failure = Failure(
      time: time, kind: kind.name, message: String(message.prefix(Self.textLimit)),
      subject: subject.map { String($0.prefix(Self.textLimit)) })
    let cause = cause ?? failure.message
    state.withLock { state in
      let others = (state[kind] ?? []).filter { $0.cause != cause || $0.failure.subject != failure.subject }
      state[kind] = [(failure, cause)] + others.prefix(Self.limit - 1)
    }
  }

  /// The failures of all kinds, newest first.
  package var latest: [Failure] {
    state.withLock { $0.values.flatMap { $0.map { $0.failure } } }.sorted {
      ($0.time, $0.message) > ($1.time, $1.message)
    }
  }
}
