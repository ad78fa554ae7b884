import Foundation
import Synchronization

/// Appends reports of installs to a journal: those that come while a batch is being appended are the next one.
///
/// One of the callers appends the batch for all whose reports are in it.
final class ReportBatches: Sendable {
  private enum Turn: Sendable {
    case append
    case done(Result<Void, any Error>)
  }

  private struct Waiting {
    let report: FleetOrder.Report
    let turn: CheckedContinuation<Turn, Never>
  }

  private struct State {
    var isAppending = false
    var waiting: [Waiting] = []
  }

  /// The reports that wait; more are refused.
  private static let limit = 4_096

  private let journal: any FleetJournal
  private let patience: Duration
  private let state = Mutex(State())

  init(journal: any FleetJournal, patience: Duration) { (self.journal, self.patience) = (journal, patience) }

  var waiting: Int { state.withLock(\.waiting.count) }

  /// Returns when the journal has the report.
  ///
  /// - Throws: ``JournalError``; the journal may have it even so.
  func append(_ report: FleetOrder.Report) async throws {
    let turn = await withCheckedContinuation { (turn: CheckedContinuation<Turn, Never>) in
      let known: Turn? = state.withLock { state in
        guard state.isAppending else {
          state.isAppending = true
          return .append
        }
        guard state.waiting.count < Self.limit else { return .done(.failure(JournalError.busy)) }
        state.waiting.append(Waiting(report: report, turn: turn))
        return nil
      }
      if let known { turn.resume(returning: known) }
    }
    switch turn {
    case .done(let result): try result.get()
    case .append: try await appendBatch(with: report)
    }
  }

  private func appendBatch(with report: FleetOrder.Report) async throws {
    let others = state.withLock { state in
      let others = Array(state.waiting.prefix(FleetReports.limit - 1))
      state.waiting.removeFirst(others.count)
      return others
    }
    let (bytes, id) = (FleetReports([report] + others.map(\.report)).bytes, UUID().uuidString)
    // The others' reports do not end with the client of this one.
    let appending = Task { [journal, patience] in
      _ = try await JournalError.retryingWhileAway(for: patience) {
        try await journal.append(bytes, id: id, to: .reports)
      }
    }
    let result = await appending.result
    let next = state.withLock { state in
      state.isAppending = !state.waiting.isEmpty
      return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
    }
    for other in others { other.turn.resume(returning: .done(result)) }
    next?.turn.resume(returning: .append)
    try result.get()
  }
}
