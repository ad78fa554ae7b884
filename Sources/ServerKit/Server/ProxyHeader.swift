import NIOCore

/// The header that a proxy sends before the bytes of its client, in version 1 or 2 of the PROXY protocol of HAProxy
/// (haproxy.org, doc/proxy-protocol.txt).
enum ProxyHeader: Equatable {
  /// The address of the client, which is `nil` if the proxy connects for itself, or names none; and the number of bytes of
  /// the header.
  case whole(client: HostAddress?, length: Int)
  /// More bytes are needed.
  case incomplete
  case malformed

  /// The longest line of version 1, with its end. §2.1.
  private static let lineLimit = 107
  /// The longest rest of version 2: addresses and further values. §2.2.
  private static let restLimit = 4096
  private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]

  /// - Parameter bytes: what has come of a connection.
  init(_ bytes: [UInt8]) {
    if bytes.isEmpty {
      self = .incomplete
    } else if zip(bytes, Self.signature).allSatisfy({ $0 == $1 }) {
      self = Self.readBinary(bytes)
    } else {
      self = zip(bytes, "PROXY ".utf8).allSatisfy { $0 == $1 } ? Self.readLine(bytes) : .malformed
    }
  }

  /// §2.1.
  private static func readLine(_ bytes: [UInt8]) -> ProxyHeader {
    guard let end = bytes.prefix(lineLimit).firstIndex(of: 10) else {
      return bytes.count < lineLimit ? .incomplete : .malformed
    }
    guard end > 0, bytes[end - 1] == 13 else { return .malformed }
    let words = String(decoding: bytes[..<(end - 1)], as: UTF8.self)
      .split(separator: " ", omittingEmptySubsequences: false)
    // What follows UNKNOWN is ignored.
    if words.count >= 2, words[1] == "UNKNOWN" { return .whole(client: nil, length: end + 1) }
    guard words.count == 6, let size = ["TCP4": 4, "TCP6": 16][words[1]], isPort(words[4]), isPort(words[5]),
      let client = address(words[2], size), address(words[3], size) != nil
    else { return .malformed }
    return .whole(client: client, length: end + 1)
  }

  private static func address(_ text: Substring, _ size: Int) -> HostAddress? {
    guard !text.contains("%"), let address = HostAddress(String(text)), address.bytes.count == size else { return nil }
    return address
  }

  private static func isPort(_ text: Substring) -> Bool {
    text.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt16(text).map { String($0) == text } ?? false
  }

  /// §2.2.
  private static func readBinary(_ bytes: [UInt8]) -> ProxyHeader {
    let start = signature.count + 4
    guard bytes.count >= start else { return .incomplete }
    let (version, command) = (bytes[12] >> 4, bytes[12] & 15)
    let (family, transport) = (bytes[13] >> 4, bytes[13] & 15)
    let rest = Int(bytes[14]) << 8 | Int(bytes[15])
    guard version == 2, command <= 1, family <= 3, transport <= 2, rest <= restLimit else { return .malformed }
    guard bytes.count >= start + rest else { return .incomplete }
    let size = [1: 4, 2: 16][family] ?? 0
    // With LOCAL the proxy connects for itself. Addresses of other kinds are not told from none.
    guard command == 1, size > 0, transport == 1 else {
      return .whole(client: nil, length: start + rest)
    }
    guard rest >= 2 * size + 4 else { return .malformed }
    return .whole(client: HostAddress(bytes: Array(bytes[start..<(start + size)])), length: start + rest)
  }
}

/// Reads the PROXY header of a connection before anything else reads its bytes, and closes a connection that begins with
/// other bytes. The time limit of the first head holds for it too.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum State {
    case reading([UInt8])
    case passing
    case refused
  }

  private var state = State.reading([])
  private let admit: (HostAddress?) -> ByteBuffer?

  /// - Parameter admit: is given the address of the client, or `nil` if the proxy names none; returns the last bytes for
  ///   a client that is refused.
  init(admit: @escaping (HostAddress?) -> ByteBuffer?) { self.admit = admit }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch state {
    case .passing: context.fireChannelRead(data)
    case .refused: break
    case .reading(let former):
      let bytes = former + unwrapInboundIn(data).readableBytesView
      switch ProxyHeader(bytes) {
      case .incomplete: state = .reading(bytes)
      case .malformed: refuse(context, with: ByteBuffer())
      case .whole(let client, let length):
        if let answer = admit(client) { return refuse(context, with: answer) }
        state = .passing
        guard bytes.count > length else { return }
        context.fireChannelRead(wrapInboundOut(ByteBuffer(bytes: bytes[length...])))
      }
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .reading = state, let event = event as? ChannelEvent, event == .inputClosed {
      return refuse(context, with: ByteBuffer())
    }
    context.fireUserInboundEventTriggered(event)
  }

  private func refuse(_ context: ChannelHandlerContext, with bytes: ByteBuffer) {
    state = .refused
    let channel = context.channel
    guard bytes.readableBytes > 0 else { return channel.close(promise: nil) }
    context.writeAndFlush(wrapOutboundOut(bytes)).whenComplete { _ in channel.close(promise: nil) }
  }
}
