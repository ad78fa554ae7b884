import NIOCore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension Channel {
  /// Closes with RST after the client has received all written bytes, so that it gets exactly those bytes.
  ///
  /// A client that does not read gets the RST after a second, and may lose bytes.
  func resetWhenDelivered(attempts: Int = 500) {
    undeliveredCount.whenComplete { [self] count in
      guard case .success(1...) = count, attempts > 0 else { return reset() }
      eventLoop.scheduleTask(in: .milliseconds(2)) { [self] in resetWhenDelivered(attempts: attempts - 1) }
    }
  }

  private func reset() {
    // Closing with a linger time of zero discards unsent bytes and sends RST.
    let lingering = (self as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
    (lingering ?? eventLoop.makeSucceededVoidFuture()).whenComplete { [self] _ in close(promise: nil) }
  }

  #if os(Linux)
    /// The number of unacknowledged segments and unsent bytes; zero when all bytes have arrived.
    private var undeliveredCount: EventLoopFuture<UInt64> {
      guard let socket = self as? any SocketOptionProvider else { return eventLoop.makeSucceededFuture(0) }
      // Linux's `struct tcp_info` begins with 8 single bytes and 24 words, and has `tcpi_notsent_bytes` at
      // byte 144; glibc's declaration of it ends before that.
      let info: EventLoopFuture<InlineArray<38, UInt32>> = socket.unsafeGetSocketOption(level: .tcp, name: .tcp_info)
      return info.map { words in UInt64(words[6]) + UInt64(words[36]) }
    }
  #else
    private var undeliveredCount: EventLoopFuture<UInt64> { eventLoop.makeSucceededFuture(0) }
  #endif
}
