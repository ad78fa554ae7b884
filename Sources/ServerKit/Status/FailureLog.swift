import Foundation
import Synchronization

/// The latest failures with their times. A kind of failure that comes often hides no other; the same one again takes
/// the place of the former.
package final class FailureLog: Sendable {
  /// A kind of failure. Each part names its own.
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
    /// The bundle, the bundles or the origin that it is about.
    package var subject: String?
  }

  /// Failures of one kind that are kept, and characters of each text.
  package static let limit = 10
  static let textLimit = 1_000

  private struct Entry: Sendable {
    let failure: Failure
    let cause: String
  }

  /// Newest first.
  private let state = Mutex<[Kind: [Entry]]>([:])

  package init() {}

  /// - Parameters:
  ///   - subject: the bundle or bundles that it is about, as they are called outside.
  ///   - cause: equal for failures that are the same although their messages differ, by a measured time for example;
  ///     by default the message.
  package func append(
    _ kind: Kind, _ message: String, of subject: String? = nil, cause: String? = nil, at time: Date = Date()
  ) {
    let failure = Failure(
      time: time, kind: kind.name, message: String(message.prefix(Self.textLimit)),
      subject: subject.map { String($0.prefix(Self.textLimit)) })
    let entry = Entry(failure: failure, cause: cause ?? failure.message)
    state.withLock { state in
      let others = (state[kind] ?? []).filter { $0.cause != entry.cause || $0.failure.subject != failure.subject }
      state[kind] = [entry] + others.prefix(Self.limit - 1)
    }
  }

  /// The failures of all kinds, newest first.
  package var latest: [Failure] {
    state.withLock { $0.values.flatMap { $0.map(\.failure) } }.sorted { ($0.time, $0.message) > ($1.time, $1.message) }
  }
}
