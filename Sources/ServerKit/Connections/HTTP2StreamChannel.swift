import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Synchronization

/// The bytes that are still to be sent on a stream of HTTP/2 after the head of its response.
///
/// Belongs to the event loop of its connection.
final class StreamOutput {
  private var pieces = CircularBuffer<(bytes: ByteBuffer, promise: EventLoopPromise<Void>?)>()
  /// The bytes that were not taken.
  private(set) var size = 0
  /// `true` if nothing follows.
  private(set) var isEnded = false
  /// `true` if the rest is not sent.
  private(set) var isDiscarded = false
  private(set) var trailers: HTTP2Fields?
  /// The writes whose bytes were taken.
  private(set) var taken: [EventLoopPromise<Void>] = []
  /// `true` if everything was taken, and more is awaited.
  var isAwaited = false
  /// `true` if the rest of the request is not read: the stream is reset a while after the end of its response.
  var refusesRest = false
  /// The reset, until the client ends its request.
  var reset: Scheduled<Void>?

  init() {}

  /// The whole of a body.
  init(_ body: ByteBuffer) {
    append(body, nil)
    end(trailers: nil)
  }

  func append(_ bytes: ByteBuffer, _ promise: EventLoopPromise<Void>?) {
    guard bytes.readableBytes > 0 else {
      promise?.succeed(())
      return
    }
    size += bytes.readableBytes
    pieces.append((bytes, promise))
  }

  func end(trailers: HTTPFields?) {
    isEnded = true
    if let trailers, !trailers.isEmpty { self.trailers = HTTP2Fields(trailers: trailers) }
  }

  /// Moves bytes to a buffer.
  ///
  /// - Returns: their number; 0 if there are none.
  func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var count = 0
    while count < buffer.count, var piece = pieces.first {
      let length = min(piece.bytes.readableBytes, buffer.count - count)
      piece.bytes.readWithUnsafeReadableBytes { bytes in
        buffer[count..<count + length].copyBytes(from: bytes[..<length])
        return length
      }
      count += length
      if piece.bytes.readableBytes > 0 {
        pieces[pieces.startIndex] = piece
      } else {
        pieces.removeFirst()
        if let promise = piece.promise { taken.append(promise) }
      }
    }
    size -= count
    return count
  }

  func removeTaken() -> [EventLoopPromise<Void>] {
    defer { taken = [] }
    return taken
  }

  /// Nothing more is sent.
  func discard() {
    for piece in pieces { piece.promise?.fail(ChannelError.ioOnClosedChannel) }
    for promise in taken { promise.succeed(()) }
    (pieces, taken, size, isDiscarded) = ([], [], 0, true)
  }
}

/// A stream of HTTP/2 whose request gets an answer from a task: a channel of requests and responses, as a connection of
/// HTTP/1 is behind its decoder.
///
/// Its state belongs to the event loop of the connection; what other threads may ask is atomic or constant.
final class HTTP2StreamChannel: Channel, ChannelCore, @unchecked Sendable {
  /// The bytes of a response that wait for the connection before its writer has to wait, and those at which it goes on.
  private static let fullSize = 32 << 10
  private static let roomySize = 16 << 10

  let id: Int32
  let allocator: ByteBufferAllocator
  let eventLoop: any EventLoop
  let localAddress: SocketAddress?
  let remoteAddress: SocketAddress?
  let parent: (any Channel)?
  let output = StreamOutput()
  private let closePromise: EventLoopPromise<Void>
  /// Made with the channel; nothing is assigned to it later.
  private(set) lazy var pipeline = ChannelPipeline(channel: self)
  private let hasRoom = Atomic(true)
  private let isOpen = Atomic(false)
  private let readsOn = Atomic(true)
  private var isClosed = false

  /// `nil` once the stream has ended.
  private var connection: HTTP2Handler?
  /// The head that waits for what follows: a response without a body is one frame.
  private var head: HTTPResponse?
  private var hasSentHead = false
  /// The response as it is recorded, and what is stated about replaying it.
  var recording: (response: ResponseRecording, context: ReplayContext)?
  private var input = CircularBuffer<HTTPRequestPart>()
  private(set) var isInputEnded = false
  private var isReading = false
  private var isDelivering = false
  /// `true` if the channel is to be closed when the client has taken the rest of the response.
  private var isEnding = false

  init(_ id: Int32, on connection: HTTP2Handler, of parent: any Channel) {
    self.id = id
    self.connection = connection
    self.parent = parent
    (allocator, eventLoop) = (parent.allocator, parent.eventLoop)
    (localAddress, remoteAddress) = (parent.localAddress, parent.remoteAddress)
    closePromise = parent.eventLoop.makePromise()
    _ = pipeline
  }

  var closeFuture: EventLoopFuture<Void> { closePromise.futureResult }
  var isWritable: Bool { hasRoom.load(ordering: .relaxed) }
  var isActive: Bool { isOpen.load(ordering: .relaxed) }
  var _channelCore: any ChannelCore { self }

  // MARK: Options

  private struct Options: NIOSynchronousChannelOptions {
    let channel: HTTP2StreamChannel

    func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) throws {
      guard option is ChannelOptions.Types.AutoReadOption, let value = value as? Bool else {
        throw ChannelError.operationUnsupported
      }
      channel.readsOn.store(value, ordering: .relaxed)
      if value { channel.pipeline.read() }
    }

    func getOption<Option: ChannelOption>(_ option: Option) throws -> Option.Value {
      guard option is ChannelOptions.Types.AutoReadOption,
        let value = channel.readsOn.load(ordering: .relaxed) as? Option.Value
      else { throw ChannelError.operationUnsupported }
      return value
    }
  }

  var syncOptions: (any NIOSynchronousChannelOptions)? { Options(channel: self) }

  func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> {
    onLoop { try Options(channel: self).setOption(option, value: value) }
  }

  func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> {
    onLoop { try Options(channel: self).getOption(option) }
  }

  private func onLoop<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) -> EventLoopFuture<Value> {
    eventLoop.inEventLoop ? eventLoop.makeCompletedFuture(withResultOf: body) : eventLoop.submit(body)
  }

  // MARK: What the client sends

  func activate() {
    isOpen.store(true, ordering: .relaxed)
    pipeline.fireChannelActive()
    if readsOn.load(ordering: .relaxed) { pipeline.read() }
  }

  /// Takes a part of the request, which waits until it is read.
  func receive(_ part: HTTPRequestPart) {
    guard !isClosed else { return }
    if case .end = part { isInputEnded = true }
    if case .body(let bytes) = part, case .body(var body)? = input.last {
      // A frame may have one byte, and its part takes a hundred.
      input.removeLast()
      body.writeImmutableBuffer(bytes)
      input.append(.body(body))
    } else {
      input.append(part)
    }
    deliver()
  }

  private func deliver() {
    while isReading, !isDelivering, isActive, !input.isEmpty {
      (isReading, isDelivering) = (false, true)
      while let part = input.popFirst() {
        if case .body(let bytes) = part { connection?.wasRead(bytes.readableBytes, of: self) }
        pipeline.fireChannelRead(part)
      }
      isDelivering = false
      guard !isClosed else { return }
      pipeline.fireChannelReadComplete()
      if readsOn.load(ordering: .relaxed), !isClosed { pipeline.read() }
    }
  }

  func read0() {
    isReading = true
    deliver()
  }

  // MARK: What is sent

  func write0(_ data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard !isClosed else {
      promise?.fail(ChannelError.ioOnClosedChannel)
      return
    }
    let part = unwrapData(data, as: HTTPResponsePart.self)
    record(part)
    switch part {
    case .head(let head):
      if head.status.kind == .informational {
        if self.head == nil, !hasSentHead { connection?.send(interim: head, on: self) }
      } else {
        self.head = head
      }
      promise?.succeed(())
    case .body(let bytes):
      output.append(bytes, promise)
      if output.size > Self.fullSize, isWritable {
        hasRoom.store(false, ordering: .relaxed)
        pipeline.fireChannelWritabilityChanged()
      }
    case .end(let trailers):
      output.end(trailers: trailers)
      promise?.succeed(())
    }
  }

  func flush0() {
    guard !isClosed, let connection else { return }
    if let head {
      self.head = nil
      hasSentHead = true
      connection.send(head, on: self)
    } else if hasSentHead {
      connection.goOn(with: self)
    }
  }

  /// The connection has taken bytes.
  func outputWasTaken() {
    for promise in output.removeTaken() { promise.succeed(()) }
    if isEnding, output.size == 0 { return closeAtOnce() }
    guard !isWritable, output.size <= Self.roomySize, !isClosed else { return }
    hasRoom.store(true, ordering: .relaxed)
    pipeline.fireChannelWritabilityChanged()
  }

  private func record(_ part: HTTPResponsePart) {
    guard var recording else { return }
    self.recording = nil
    switch part {
    case .head(let head):
      // RFC 9110 §15.2: interim responses come before the one that is recorded.
      guard head.status.kind != .informational else { return }
      recording.response.head = head
    case .body(let bytes):
      guard recording.response.add(bytes) else { return }
    case .end(let trailers):
      guard trailers?.isEmpty ?? true, recording.response.head != nil, let connection,
        let offer = recording.context.removeOffer()
      else { return }
      return recording.response.remember(offer, in: connection.common.memory)
    }
    self.recording = recording
  }

  // MARK: The end

  func close0(error: any Error, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard mode == .all else {
      promise?.fail(ChannelError.operationUnsupported)
      return
    }
    guard !isClosed else {
      promise?.fail(ChannelError.alreadyClosed)
      return
    }
    closePromise.futureResult.cascade(to: promise)
    guard hasSentHead, output.isEnded, output.size > 0, !isEnding else { return closeAtOnce() }
    // A slow client gets what was written.
    isEnding = true
    closeUnlessTaken(output.size)
  }

  private func closeAtOnce() {
    // RFC 9113 §8.1: without an error, if only the rest of the request is not wanted.
    connection?.reset(self, isAnswered: hasSentHead && output.isEnded && output.size == 0)
    close(nil)
  }

  /// Closes the channel of a client that has stopped to read.
  ///
  /// - Parameter left: the bytes that the client has not taken.
  private func closeUnlessTaken(_ left: Int) {
    guard let patience = connection?.patience else { return }
    eventLoop.scheduleTask(in: patience) { [self] in
      guard !isClosed else { return }
      if output.size < left { closeUnlessTaken(output.size) } else { closeAtOnce() }
    }
  }

  /// The stream has ended.
  ///
  /// - Parameter error: `nil` if both sides have sent all.
  func close(_ error: HTTP2StreamError?) {
    guard !isClosed else { return }
    isClosed = true
    let wasActive = isOpen.exchange(false, ordering: .relaxed)
    output.discard()
    recording = nil
    connection = nil
    if let error { pipeline.fireErrorCaught(error) }
    if wasActive { pipeline.fireChannelInactive() }
    input = []
    eventLoop.execute { [self] in
      removeHandlers(pipeline: pipeline)
      closePromise.succeed(())
    }
  }

  // MARK: What a stream has not

  func localAddress0() throws -> SocketAddress {
    guard let localAddress else { throw ChannelError.operationUnsupported }
    return localAddress
  }

  func remoteAddress0() throws -> SocketAddress {
    guard let remoteAddress else { throw ChannelError.operationUnsupported }
    return remoteAddress
  }

  func register0(promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.operationUnsupported) }

  func registerAlreadyConfigured0(promise: EventLoopPromise<Void>?) {
    promise?.fail(ChannelError.operationUnsupported)
  }

  func bind0(to: SocketAddress, promise: EventLoopPromise<Void>?) { promise?.fail(ChannelError.operationUnsupported) }

  func connect0(to: SocketAddress, promise: EventLoopPromise<Void>?) {
    promise?.fail(ChannelError.operationUnsupported)
  }

  func triggerUserOutboundEvent0(_ event: Any, promise: EventLoopPromise<Void>?) {
    promise?.fail(ChannelError.operationUnsupported)
  }

  func channelRead0(_ data: NIOAny) {}

  func errorCaught0(error: any Error) {}
}

/// A stream ended before its request was whole, or before its response was.
struct HTTP2StreamError: Error, CustomStringConvertible {
  /// The code of RFC 9113 §7.
  let code: UInt32

  var description: String { "the stream ended with the error code \(code)" }
}
