import Foundation
import HTTPTransport
import Logging
import ServiceLifecycle
import UnixSignals

/// Handles SIGHUP: reads the settings and the certificate again, and starts a new launch.
package struct HangupService: Service {
  let notifier: ServiceNotifier
  let readiness: ReadinessService
  let tls: TLSReloader?
  /// Reads the settings again, and applies all that can be applied or nothing. Returns the changes, each in words; `nil`
  /// for a host whose settings are read once.
  var reconfigure: (@Sendable () async throws -> [String])?
  let relaunch: @Sendable () async throws -> Void
  let logger: Logger

  package func run() async throws {
    let signals = await UnixSignalsSequence(trapping: .sighup)
    for await _ in signals.cancelOnGracefulShutdown() { await reload() }
  }

  /// Reads the settings and the certificate again, and starts a new launch. A failure is logged, and the previous state
  /// stays; if the settings cannot be used, nothing changes.
  func reload() async {
    // During the start, ReadinessService sends the first READY=1.
    let wasReady = readiness.isReady
    if wasReady { notifier.send(.reloading(monotonic: ServiceNotifier.monotonic)) }
    defer { if wasReady { notifier.send(.ready) } }
    if let reconfigure {
      do {
        let changes = try await reconfigure()
        let text = changes.isEmpty ? "nothing has changed" : changes.joined(separator: "; ")
        logger.notice("The settings were read again: \(text)")
      } catch {
        return logger.error("Nothing is changed: \(error.sentence)")
      }
    }
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
  }
}
