import Foundation
import HTTPTransport
import Logging
import ServiceLifecycle
import UnixSignals

/// Handles SIGHUP: reads the certificate again and starts a new launch.
package struct HangupService: Service {
  let notifier: ServiceNotifier
  let readiness: ReadinessService
  let tls: TLSReloader?
  let relaunch: @Sendable () async throws -> Void
  let logger: Logger

  package func run() async throws {
    let signals = await UnixSignalsSequence(trapping: .sighup)
    for await _ in signals.cancelOnGracefulShutdown() { await reload() }
  }

  /// Reads the certificate again and starts a new launch. A failure is logged, and the previous state stays.
  func reload() async {
    // During the start, ReadinessService sends the first READY=1.
    let wasReady = readiness.isReady
    if wasReady { notifier.send(.reloading(monotonic: ServiceNotifier.monotonic)) }
    if let tls {
      do {
        try tls.reload()
        logger.notice("The certificate was read again")
        if let problem = tls.validity.problem(at: Date()) { logger.warning("\(problem)") }
      } catch {
        logger.error("The former certificate stays: \(error.sentence)")
      }
    }
    do {
      try await relaunch()
      logger.notice("A new launch has begun")
    } catch {
      logger.error("The new launch failed: \(error.sentence)")
    }
    if wasReady { notifier.send(.ready) }
  }
}
