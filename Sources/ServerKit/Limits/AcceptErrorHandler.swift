import CoreMetrics
import Foundation
import Logging
import NIOCore

/// Pauses accepting connections after an error, and logs it: the first time, and then at most once a minute with the
/// number of errors.
///
/// NIO's own `AcceptBackoffHandler` delays the next read, but the channel stays registered for the read that failed and
/// so tries again at once: 10,000 times a second. Only a channel with `autoRead` off is unregistered.
package final class AcceptErrorHandler: ChannelInboundHandler {
  package typealias InboundIn = any Channel

  /// The connections that may wait to be accepted, where the system allows as many.
  package static let backlog = 4_096

  private let metrics: HostMetrics
  private let logger: Logger
  private var errors = LogThrottle(every: .seconds(60))
  private static let pause = TimeAmount.seconds(1)

  package init(metrics: HostMetrics, logger: Logger) { (self.metrics, self.logger) = (metrics, logger) }

  /// - Parameters:
  ///   - channel: a listening channel.
  ///   - connections: the limit of open connections. It is checked before a read, and a read accepts up to a sixteenth of
  ///     it, at most 64: with fewer, many clients that come at once wait for each other's requests.
  package static func add(to channel: any Channel, connections: Int, metrics: HostMetrics, logger: Logger) async {
    try? await channel.setOption(.maxMessagesPerRead, value: UInt(min(max(connections / 16, 1), 64))).get()
    try? await channel.eventLoop.submit {
      try channel.pipeline.syncOperations.addHandler(
        AcceptErrorHandler(metrics: metrics, logger: logger), position: .first)
    }.get()
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let error = error as? IOError else { return context.fireErrorCaught(error) }
    note(error, at: .now)
    let channel = context.channel
    channel.setOption(.autoRead, value: false).whenSuccess {
      channel.eventLoop.scheduleTask(in: Self.pause) { channel.setOption(.autoRead, value: true) }
    }
  }

  private func note(_ error: IOError, at now: ContinuousClock.Instant) {
    metrics.refusals("accept").increment()
    guard let count = errors.note(at: now) else { return }
    let advice = [EMFILE, ENFILE].contains(error.errnoCode) ? "; lower --max-connections or raise ulimit -n" : ""
    logger.error(
      "Connections cannot be accepted: \(String(cString: strerror(error.errnoCode)))\(advice)",
      metadata: ["tries": "\(count)"])
  }
}
