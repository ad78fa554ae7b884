import Foundation
import Synchronization

/// What went wrong of late, when it did. A kind of failure that comes often hides no other; the same one again takes
/// the place of the former.
final class FailureLog: Sendable {
  enum Kind: String, CaseIterable, Sendable {
    /// A script threw, or was stopped, or a page could not be opened.
    case page
    /// A worker process ended before its time.
    case worker
    /// The source's newest release is not served.
    case release
    /// An origin behind the gateway gave no answer.
    case origin
  }

  /// Failures of one kind that are kept, and characters of each text.
  static let limit = HostStatus.failureLimit / Kind.allCases.count
  static let textLimit = 1_000

  private struct Entry: Sendable {
    let failure: HostStatus.Failure
    let cause: String
  }

  /// Newest first.
  private let state = Mutex<[Kind: [Entry]]>([:])

  /// - Parameters:
  ///   - subject: the bundle or bundles that it is about, as they are called outside.
  ///   - cause: equal for failures that are the same although their messages differ, by a measured time for example;
  ///     by default the message.
  func append(
    _ kind: Kind, _ message: String, of subject: String? = nil, cause: String? = nil, at time: Date = Date()
  ) {
    let failure = HostStatus.Failure(
      time: time, kind: kind.rawValue, message: String(message.prefix(Self.textLimit)),
      subject: subject.map { String($0.prefix(Self.textLimit)) })
    let entry = Entry(failure: failure, cause: cause ?? failure.message)
    state.withLock { state in
      let others = (state[kind] ?? []).filter { $0.cause != entry.cause || $0.failure.subject != failure.subject }
      state[kind] = [entry] + others.prefix(Self.limit - 1)
    }
  }

  /// Of all kinds, newest first.
  var latest: [HostStatus.Failure] {
    state.withLock { $0.values.flatMap { $0.map(\.failure) } }.sorted { ($0.time, $0.message) > ($1.time, $1.message) }
  }
}
