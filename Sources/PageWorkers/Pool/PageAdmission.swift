import PageKit

/// Lets as many calls of pages reach the workers at once as these can deal with; the others wait, clients in turns, in
/// a queue that has an end, and only so long.
///
/// What a worker does with a page is mostly the processor's work, and more of it at once makes everything later and
/// takes more memory. A call that waits for the network leaves the processor to others: so there are more than one.
package final class PageAdmission: Sendable {
  /// Calls that one worker deals with at once.
  package static let callsPerWorker = 8

  /// Why a call does not reach a worker.
  package enum Refusal: Error, CustomStringConvertible {
    case full(waiting: Int)
    case late(after: Duration)

    package var description: String {
      switch self {
      case .full(let waiting): "the workers are busy, and \(waiting) calls wait for them already (--page-queue)"
      case .late(let time): "the workers were busy for \(time.inSeconds) (--page-wait)"
      }
    }
  }

  private let gate: FairGate<String>
  private let waitingTime: Duration

  init(waitingLimit: Int, waitingTime: Duration) {
    gate = FairGate(width: 0, limit: waitingLimit)
    self.waitingTime = waitingTime
  }

  /// How many workers there are for calls.
  func serve(workers: Int) { gate.width = workers * Self.callsPerWorker }

  /// Calls that are being dealt with, and those that wait.
  package var counts: (running: Int, waiting: Int) { gate.counts }

  /// Does something when it is the client's turn.
  ///
  /// - Parameter limit: how long it may wait; `nil` for as long as calls may.
  /// - Throws: ``Refusal``, `CancellationError`, what `body` throws.
  package func admitted<Result: Sendable>(
    _ client: String, within limit: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Result
  ) async throws -> Result {
    let limit = limit ?? waitingTime
    let pass: FairGate<String>.Pass
    do {
      pass = try await gate.enter(for: client, until: .now + limit)
    } catch FairGate<String>.Refusal.full(let waiting) {
      throw Refusal.full(waiting: waiting)
    } catch FairGate<String>.Refusal.late {
      throw Refusal.late(after: limit)
    }
    defer { gate.leave(pass) }
    return try await body()
  }
}
