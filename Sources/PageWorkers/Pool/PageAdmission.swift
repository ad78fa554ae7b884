import PageKit

/// Limits the concurrent calls of pages in workers. Further calls wait in a queue with limits of length and time, in
/// which clients take turns.
///
/// Calls mostly use the processor, so that more of them at once only add latency and memory. Since a call may wait for
/// the network, each worker has more than one.
package final class PageAdmission: Sendable {
  /// The number of concurrent calls of one worker.
  package static let callsPerWorker = 8

  /// The reason why a call does not reach a worker.
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

  /// The number of workers for calls.
  func serve(workers: Int) { gate.width = workers * Self.callsPerWorker }

  /// The numbers of running and of waiting calls.
  package var counts: (running: Int, waiting: Int) { gate.counts }

  /// Runs `body` when it is the client's turn.
  ///
  /// - Parameter limit: the longest wait; `nil` for that of all calls.
  /// - Throws: ``Refusal``, `CancellationError`, and errors of `body`.
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
