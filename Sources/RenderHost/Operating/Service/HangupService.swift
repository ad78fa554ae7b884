import Logging
import ServiceLifecycle
import UnixSignals

/// SIGHUP: the certificate is read again, and everything is verified again.
struct HangupService: Service {
  let notifier: ServiceNotifier
  let tls: TLSReloader?
  let relaunch: @Sendable () async throws -> Void
  let logger: Logger

  func run() async throws {
    let signals = await UnixSignalsSequence(trapping: .sighup)
    for await _ in signals.cancelOnGracefulShutdown() { await reload() }
  }

  /// What fails is said, and what was there stays.
  func reload() async {
    notifier.send(.reloading(monotonic: ServiceNotifier.monotonic))
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
    notifier.send(.ready)
  }
}
