import CoreMetrics
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore

/// Wraps another channel set-up: counts connections, refuses those over the limit, and watches each.
struct GuardedChannel<Base: ServerChildChannel>: ServerChildChannel {
  typealias Value = Base.Value

  let base: Base
  let isPlain: Bool
  let limits: ServerSettings.Limits
  let connections: ConnectionRegister
  let metrics: HostMetrics
  let memory: RawResponseCache
  let ownFields: HTTPFields
  let proxies: TrustedProxies
  /// `true` if connections of trusted proxies begin with a PROXY header.
  let readsProxyHeader: Bool
  let refusals = LogThrottles()

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    do {
      try guardConnection(channel, logger)
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
    return base.setup(channel: channel, logger: logger)
  }

  func handle(value: Value, logger: Logger) async {
    let common = try? await value.channel.pipeline.handler(type: ConnectionHandler.self).map(\.common).get()
    await ConnectionContext.$current.withValue(common) { await base.handle(value: value, logger: logger) }
  }

  private func guardConnection(_ channel: any Channel, _ logger: Logger) throws {
    let address = channel.remoteAddress?.ipAddress ?? "-"
    let isProxy = proxies.contains(address)
    // A proxy has the connections of all its clients.
    guard isProxy || isAdmitted(address, channel, logger) else {
      return try channel.pipeline.syncOperations.addHandler(RefusalHandler(isPlain: isPlain, fields: ownFields))
    }
    metrics.connections.increment()
    channel.closeFuture.whenComplete { _ in metrics.connections.decrement() }
    // The buffer of each connection for a slow client.
    try channel.syncOptions?.setOption(.writeBufferWaterMark, value: .init(low: 16 << 10, high: 32 << 10))
    let common = ConnectionContext(memory: memory, address: address)
    if isProxy, readsProxyHeader {
      try channel.pipeline.syncOperations.addHandler(
        ProxyHeaderHandler { client in
          guard let client = client?.text else { return nil }
          common.forwards(for: client)
          return proxies.contains(client) || isAdmitted(client, channel, logger)
            ? nil : isPlain ? RefusalHandler.answer(ownFields) : ByteBuffer()
        })
    }
    try channel.pipeline.syncOperations.addHandler(
      ConnectionHandler(limits: limits, isPlain: isPlain, common: common))
  }

  /// Counts the connection of an address.
  ///
  /// - Returns: `false` if the address has too many.
  private func isAdmitted(_ address: String, _ channel: any Channel, _ logger: Logger) -> Bool {
    guard connections.enter(address) else {
      if let times = refusals.note("connections", at: .now) {
        logger.notice(
          "Too many connections", metadata: ["address": .string(address), "times": .stringConvertible(times)])
      }
      metrics.refusals("connections").increment()
      return false
    }
    channel.closeFuture.whenComplete { _ in connections.leave(address) }
    return true
  }
}
