import PageKit
import PageWorkers

/// A confined process that runs the script of a recording again.
struct ReplayProcess {
  private let pool: WorkerPool
  private let running: Task<Void, Never>
  private let url: PageURL?
  private let limits: WorkerLimits

  private static let number: UInt64 = 1

  /// Starts the process, and boots the framework of the recording there.
  ///
  /// - Parameters:
  ///   - lines: the lines of the recording that a run needs.
  ///   - executable: the program that is started as `… worker`; by default this one.
  /// - Throws: ``DescribedError``.
  init(
    _ recording: Recording, _ lines: [UInt8], _ limits: WorkerLimits, executable: String = "/proc/self/exe"
  ) async throws {
    let pool = WorkerPool(quietly: WorkerPool.Configuration(limits, executable: executable))
    self.pool = pool
    self.limits = limits
    url = PageURL(recording.url)
    running = Task { try? await pool.run() }
    do {
      if let refusal = WorkerPage.refusal(try await pool.ready(within: .seconds(60))) { throw refusal }
      try await pool.replay(Self.number, lines)
    } catch WorkerError.cannotStart(let reason) {
      await end()
      throw DescribedError(
        "no process can be started for the page: \(reason); --in-process runs the page without one")
    } catch {
      let described = described(error)
      await end()
      throw described
    }
  }

  /// Runs a step.
  ///
  /// - Throws: ``DescribedError``, ``RecordingError``.
  func run(_ step: RecordedStep) async throws -> ReplayedStep {
    let answer: [UInt8]
    do {
      answer = try await pool.call(Self.number) { .replay(call: $0, page: Self.number, step: step.number) }.1
    } catch {
      throw described(error)
    }
    return try ReplayedStep(reading: answer, besides: step)
  }

  /// Ends the process.
  func end() async {
    running.cancel()
    await running.value
  }

  private func described(_ error: any Error) -> DescribedError {
    guard let url else { return DescribedError(error.message) }
    return DescribedError(limits.fault(error, url).message)
  }
}
