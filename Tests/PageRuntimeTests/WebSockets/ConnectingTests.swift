import HTTPTransport
import NIOConnecting
import NIOCore
import NIOPosix
import PageTesting
import Testing

/// Connecting to a host with several addresses, of which none answers.
@Suite(.timeLimit(.minutes(1)))
struct ConnectingTests {
  private let loop = MultiThreadedEventLoopGroup.singleton.next()
  private let begun = Monitor(0)
  private let ended = Monitor(0)

  private func connect(_ resolver: HeldResolver) -> Task<Void, any Error> {
    Task { [loop, begun, ended] in
      try await ClientBootstrap(group: loop).resolver(resolver).connectTimeout(.hours(1))
        .connect(host: "several.test", port: 1) { channel in
          try channel.pipeline.syncOperations.addHandler(SilentServer())
          channel.closeFuture.whenComplete { _ in ended.change { $0 += 1 } }
          begun.change { $0 += 1 }
          return channel.closeFuture
        }
    }
  }

  @Test("cancelling ends the connections to all addresses that are being tried")
  func cancelling() async throws {
    let resolver = HeldResolver(loop)
    resolver.answer(try ["127.0.0.1", "127.0.0.2"].map { try SocketAddress(ipAddress: $0, port: 1) })
    let connecting = connect(resolver)
    try await begun.wait(within: .seconds(30)) { $0 == 2 }
    connecting.cancel()
    try await ended.wait(within: .seconds(30)) { $0 == 2 }
    await #expect(throws: CancellationError.self) { try await connecting.value }
  }

  @Test("after cancelling no further address is tried")
  func lateAddress() async throws {
    let resolver = HeldResolver(loop)
    let connecting = connect(resolver)
    try await resolver.questions.wait(within: .seconds(30)) { $0 == 2 }
    connecting.cancel()
    resolver.answer([try SocketAddress(ipAddress: "127.0.0.1", port: 1)])
    await #expect(throws: CancellationError.self) { try await connecting.value }
    #expect(begun.read(\.self) == 0)
  }
}

/// Knows a host's addresses when the test says so.
private final class HeldResolver: Resolver, Sendable {
  let questions = Monitor(0)
  private let addresses: EventLoopPromise<[SocketAddress]>

  init(_ loop: any EventLoop) { addresses = loop.makePromise() }

  func answer(_ addresses: [SocketAddress]) { self.addresses.succeed(addresses) }

  func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
    questions.change { $0 += 1 }
    return addresses.futureResult
  }

  func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
    questions.change { $0 += 1 }
    return addresses.futureResult.eventLoop.makeSucceededFuture([])
  }

  func cancelQueries() {}
}

/// A server that does not answer: the connection is neither made nor refused.
private final class SilentServer: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer

  private var connected: EventLoopPromise<Void>?

  func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
    connected = promise
  }

  func handlerRemoved(context: ChannelHandlerContext) { connected?.fail(ChannelError.ioOnClosedChannel) }
}
