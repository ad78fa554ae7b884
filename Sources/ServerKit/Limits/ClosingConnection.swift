import NIOCore

/// Closes a connection after its client has received all written bytes, or has stopped reading.
final class ClosingConnection {
  private static let interval = TimeAmount.milliseconds(50)

  private let context: ChannelHandlerContext
  private let patience: TimeAmount
  private let options: any NIOSynchronousChannelOptions
  private var check: RepeatedTask?
  private var left: Int
  private var lastTaken = NIODeadline.now()

  /// Returns `nil` if no bytes wait to be sent.
  ///
  /// - Parameter patience: the time without progress after which a client counts as stopped.
  init?(_ context: ChannelHandlerContext, patience: TimeAmount) {
    guard let options = context.channel.syncOptions else { return nil }
    (self.context, self.options, self.patience) = (context, options, patience)
    left = Self.left(options)
    guard left > 0, context.channel.isActive else { return nil }
  }

  func begin() {
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    check = context.eventLoop.scheduleRepeatedTask(initialDelay: Self.interval, delay: Self.interval) { _ in
      bound.value.look(at: .now())
    }
  }

  func whenClosed(_ promise: EventLoopPromise<Void>?) { context.channel.closeFuture.cascade(to: promise) }

  /// Closes the connection at once.
  func end() {
    guard let check else { return }
    check.cancel()
    self.check = nil
    context.close(promise: nil)
  }

  private func look(at now: NIODeadline) {
    let remaining = Self.left(options)
    if remaining < left { (left, lastTaken) = (remaining, now) }
    if remaining == 0 || now - lastTaken > patience { end() }
  }

  private static func left(_ options: any NIOSynchronousChannelOptions) -> Int {
    (try? options.getOption(.bufferedWritableBytes)) ?? 0
  }
}
