import PageKit

/// Chooses the worker for a page. A pure function.
package enum Placement {
  struct Candidate: Hashable, Sendable {
    let id: Int
    let pages: Int
    /// The number of calls that it has not answered.
    let calls: Int
    /// The seconds of the longest running entry; 0 for none.
    let busy: Double
    /// The used share of its memory limit.
    let memory: Double
  }

  /// An entry of more seconds may be endless.
  private static let suspicious = 0.25
  /// A worker above this share of its memory limit gets no page, since its open pages may need the rest.
  package static let full = 0.8
  /// A worker above this share releases unused memory.
  static let crowded = 0.6
  /// The memory of a page of a hundred elements with its engine, in bytes.
  package static let pageBytes: Int64 = 4 << 20
  /// The number of pages that a worker that ran the bundle may have above the least loaded one.
  private static let detour = 8

  /// - Parameters:
  ///   - warmWorkers: the workers that have run the bundle.
  ///   - near: the worker of a former run, whose viewers then need not fetch the whole page; `nil` for none.
  /// - Returns: `nil` if no worker has memory for another page.
  static func choose(_ candidates: [Candidate], warmWorkers: Set<Int>, near: Int? = nil) -> Int? {
    let roomy = candidates.filter { $0.memory < full }
    let sound = roomy.filter { $0.busy < suspicious }
    guard let free = least(sound) else {
      return roomy.min { ($0.busy, $0.memory, $0.id) < ($1.busy, $1.memory, $1.id) }?.id
    }
    // Also while others run there: several pages may be saved at once.
    if let near, sound.contains(where: { $0.id == near }) { return near }
    // Waiting for a warm worker while another is free gains nothing.
    let hot = sound.filter { warmWorkers.contains($0.id) && $0.calls <= free.calls && $0.pages <= free.pages + detour }
    return (least(hot) ?? free).id
  }

  private static func least(_ candidates: [Candidate]) -> Candidate? {
    candidates.min { ($0.calls, $0.pages, $0.memory, $0.id) < ($1.calls, $1.pages, $1.memory, $1.id) }
  }
}

/// Limits the concurrent calls of pages in workers. Further calls wait in a queue with limits of length and time, in
/// which clients take turns.
///
/// Calls mostly use the processor, so that more of them at once only add latency and memory. Since a call may wait for
/// the network, there are several for each worker. They are counted for all workers together: a worker with the pages that
/// clients ask for may have those of the others too.
///
/// This is where clients of a server wait. A worker's own queues, such as the one for pictures of pages (32 drawings in all),
/// are reached only by calls that were admitted, that is by 8 for each worker: their bounds are for apps that draw without a
/// pool, and for pools of five workers or more.
package final class PageAdmission: Sendable {
  /// The number of concurrent calls for each worker.
  package static let callsPerWorker = 8

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
  /// - Throws: ``WorkerError/full(waiting:)``, ``WorkerError/late(after:)``, `CancellationError`, and errors of `body`.
  package func admitted<Result: Sendable>(
    _ client: String, within limit: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Result
  ) async throws -> Result {
    let limit = limit ?? waitingTime
    let pass: FairGate<String>.Pass
    do {
      pass = try await gate.enter(for: client, until: .now + limit)
    } catch FairGate<String>.Refusal.full(let waiting) {
      throw WorkerError.full(waiting: waiting)
    } catch FairGate<String>.Refusal.late {
      throw WorkerError.late(after: limit)
    }
    defer { gate.leave(pass) }
    return try await body()
  }
}
