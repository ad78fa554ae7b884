import Logging
import ServiceLifecycle
import UnixSignals

/// SIGHUP: the certificate is read again, and everything is verified again.
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

  /// Reads the certificate again and begins a new launch. A failure is logged, and the previous state stays.
  func reload() async {
    // A start that is not over ends with the first READY=1, which is not this one's to send.
    let wasReady = readiness.isReady
    if wasReady { notifier.send(.reloading(monotonic: ServiceNotifier.monotonic)) }
    if let tls {
      do {
        try tls.reload()
        logger.notice("The certificate was read again")
      } catch {
        logger.error("The certificate stays as it was: \(error)")
      }
    }
    do {
      try await relaunch()
      logger.notice("A new launch has begun")
    } catch {
      logger.error("The new launch failed: \(error)")
    }
    if wasReady { notifier.send(.ready) }
  }
}
