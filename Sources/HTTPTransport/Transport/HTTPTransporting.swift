import HTTPTypes
import Synchronization

/// Sends HTTP requests and streams the wire bytes of the responses, without redirects, decoding or a cache.
///
///     struct Canned: HTTPTransporting {
///       func send(_ request: TransportRequest) async throws -> TransportResponse {
///         let head = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"])
///         return TransportResponse(head: head, body: Body(Array("[]".utf8)))
///       }
///     }
public protocol HTTPTransporting: Sendable {
  /// Sends a request, and returns when the final head has arrived; the body follows in ``TransportResponse/body``.
  ///
  /// Cancelling the task cancels the transfer; releasing the body does too.
  ///
  /// - Throws: ``TransportError``, `CancellationError`.
  func send(_ request: TransportRequest) async throws -> TransportResponse

  /// Ends every transfer with ``TransportError/shutDown(url:)``, and returns when all of them have ended; later
  /// requests fail at once. The default implementation does nothing, for transports without resources of their own.
  func shutDown() async
}

extension HTTPTransporting {
  /// Does nothing.
  public func shutDown() async {}
}

/// A transport that also serves event loops, which have no task.
package protocol CallbackTransporting: HTTPTransporting {
  /// `false` if only tasks can send requests now. It is looked at before a request waits for a place at the gate, which it
  /// would give up and wait for again.
  var mayBegin: Bool { get }

  /// Sends a request without a ``TransportRequest/stream``, as ``HTTPTransporting/send(_:)`` does.
  ///
  /// - Parameter receive: is called once, on the event loop. The body has ``Body/callbacks``, or all its bytes.
  /// - Returns: cancels the transfer until there is a response; `nil` if the request can only be sent by a task by now,
  ///   so that nothing was done.
  func begin(
    _ request: TransportRequest, on loop: @escaping EventLoopCall,
    _ receive: @escaping @Sendable (Result<TransportResponse, any Error>) -> Void
  ) -> (@Sendable () -> Void)?
}

/// A request for a transport, with the limits of its transfer.
public struct TransportRequest: Sendable {
  /// The method, URL and fields. The path is the request target: a path with its query, sent byte for byte, or another
  /// form of RFC 9112 §3.2 such as `*`. The request always goes to the authority.
  public var head: HTTPRequest
  /// The body in memory.
  public var body: [UInt8]
  /// A stream in place of ``body``, which is never sent twice; ignored for `HEAD`. Its own length is used:
  /// `Content-Length` and `Transfer-Encoding` of the head are left out.
  public var stream: RequestStream?
  /// The limits of the transfer.
  public var limits: TransferLimits
  /// Sends the request on a new connection, for example after a transfer on a reused one has stalled.
  public var needsFreshConnection: Bool
  /// The store whose cookies are sent, and which keeps the response's cookies; `nil` for no cookies.
  ///
  /// A `Cookie` field of the head replaces the store's cookies, and an empty one sends none; the response's cookies are
  /// kept even then.
  public var cookies: (any CookieStoring)?
  /// Sends no fields besides the head's own, such as `Accept` or `User-Agent`, except for the host and the message's
  /// framing.
  public var addsNothing = false
  /// The key that signs the request; `nil` for none.
  package var signing: RequestSigning?
  /// Receives each interim head (1xx except 101) as it arrives, before the final one. It must not block.
  public var informational: (@Sendable (HTTPResponse) -> Void)?

  /// Makes a request with the given values.
  public init(
    _ head: HTTPRequest, body: [UInt8] = [], limits: TransferLimits = .standard, needsFreshConnection: Bool = false,
    cookies: (any CookieStoring)? = nil
  ) {
    self.head = head
    self.body = body
    self.limits = limits
    self.needsFreshConnection = needsFreshConnection
    self.cookies = cookies
  }

  /// The URL as text, for messages. A request target that is not a path is left out.
  public var url: String {
    let path = head.path ?? "/"
    let isPath = path.hasPrefix("/") || path.hasPrefix("?")
    let (scheme, authority) = (head.scheme ?? "http", head.authority ?? "")
    // An interpolation takes twice as long, and operators allocate each part.
    var text = ""
    text.reserveCapacity(scheme.utf8.count + 3 + authority.utf8.count + path.utf8.count)
    text += scheme
    text += "://"
    text += authority
    if isPath { text += path }
    return text
  }
}

extension HTTPRequest {
  /// Makes a request for a URL; `nil` for a `file` URL.
  ///
  /// - Parameters:
  ///   - method: the method; `GET` by default.
  ///   - url: an `http` or `https` URL.
  ///   - fields: the fields.
  package init?(method: HTTPRequest.Method = .get, url: PageURL, fields: HTTPFields = [:]) {
    let text = url.text
    guard !url.isFile, let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text[colon...].hasPrefix("://") else {
      return nil
    }
    let rest = text[text.utf8.index(colon, offsetBy: 3)...]
    let end = rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
    let path = rest[end...]
    self.init(
      method: method, scheme: String(text[..<colon]), authority: String(rest[..<end]),
      path: path.hasPrefix("/") ? String(path) : "/" + path, headerFields: fields)
  }
}

/// The time and size limits of a transfer.
public struct TransferLimits: Hashable, Sendable {
  /// The time limit for name lookup, connection and TLS together; 10 seconds by default.
  public var connect: Duration
  /// The lowest speed in bytes per second; 256 by default, 0 for no limit. A transfer that is slower for
  /// ``lowSpeedTime`` ends.
  public var lowSpeedBytesPerSecond: Int
  /// The longest time for which a transfer may be slower than ``lowSpeedBytesPerSecond``; 15 seconds by default.
  public var lowSpeedTime: Duration
  /// The time limit for the whole transfer; `nil`, the default, for no limit.
  public var total: Duration?
  /// The largest number of wire bytes of the body; `nil`, the default, for no limit.
  public var bodyBytes: Int64?

  /// Makes limits with the given values.
  public init(
    connect: Duration = .seconds(10), lowSpeedBytesPerSecond: Int = 256, lowSpeedTime: Duration = .seconds(15),
    total: Duration? = nil, bodyBytes: Int64? = nil
  ) {
    self.connect = connect
    self.lowSpeedBytesPerSecond = lowSpeedBytesPerSecond
    self.lowSpeedTime = lowSpeedTime
    self.total = total
    self.bodyBytes = bodyBytes
  }

  /// The defaults.
  public static let standard = TransferLimits()
}

/// A response: its final head, and the body that follows.
public struct TransportResponse: Sendable {
  /// The status and fields.
  public let head: HTTPResponse
  /// The wire bytes as they arrive.
  public let body: Body
  /// The version of HTTP, such as `1.1` or `2`; `nil` if it is unknown.
  public let version: String?

  /// Makes a response with the given values.
  public init(head: HTTPResponse, body: Body, version: String? = nil) {
    self.head = head
    self.body = body
    self.version = version
  }
}

/// The figures and trailers of a transfer. All durations count from its start.
public struct TransferSummary: Hashable, Sendable {
  /// The end of the look-up of the host's name; zero on a reused connection.
  public var nameLookup: Duration = .zero
  /// The end of the connecting; zero on a reused connection.
  public var connected: Duration = .zero
  /// The end of the TLS handshake; zero without TLS.
  public var secured: Duration = .zero
  /// The arrival of the response's first byte.
  public var firstByte: Duration = .zero
  /// The end of the transfer.
  public var total: Duration = .zero
  /// The wire bytes of all heads and the body that were received.
  public var bytesReceived: Int64 = 0
  /// The wire bytes of head and body that were sent.
  public var bytesSent: Int64 = 0
  /// `true` if an earlier request had opened the connection.
  public var reusedConnection = false
  /// The version of HTTP, `1.1` or `2`; `nil` before there is a response.
  public var httpVersion: String?
  /// The fields that came behind the body.
  public var trailers: HTTPFields = [:]

  /// Makes figures that are all zero.
  public init() {}
}

/// A request's body that is sent in chunks. It can be sent once.
///
/// The next chunk is requested only when there is room for it: a transport buffers at most 256 KiB and one chunk. The
/// first chunk is requested when the request's head was sent.
public final class RequestStream: Sendable {
  /// The length in bytes; `nil` if it is unknown until the end.
  public let length: Int64?
  private let chunks: @Sendable (_ body: @Sendable ([UInt8]) async throws -> Void) async throws -> Void
  /// Returns the trailers after the last chunk. They are sent with HTTP/1.1 if the length is unknown, otherwise left
  /// out.
  package let trailers: (@Sendable () async throws -> HTTPFields)?
  private let used = Atomic(false)

  /// Makes a stream of chunks.
  ///
  /// - Parameters:
  ///   - chunks: the chunks. An error that they throw ends the transfer and leaves the body visibly incomplete. Their
  ///     task is cancelled when no more of them will be sent.
  ///   - length: the length in bytes; the transfer fails if the chunks have more or fewer.
  ///   - trailers: returns the trailers after the last chunk.
  public init<Chunks: AsyncSequence & Sendable>(
    _ chunks: Chunks, length: Int64? = nil, trailers: (@Sendable () async throws -> HTTPFields)? = nil
  ) where Chunks.Element == [UInt8] {
    self.length = length
    self.trailers = trailers
    self.chunks = { body in
      for try await chunk in chunks { try await body(chunk) }
    }
  }

  /// `true` if the first chunk was requested, so that the stream cannot be sent again.
  package var isUsed: Bool { used.load(ordering: .acquiring) }

  /// Passes the chunks to `body`, one after the other, each when `body` has returned from the one before.
  ///
  /// - Returns: `false`, without a call of `body`, if the stream was used before.
  /// - Throws: the error of the chunks or of `body`.
  public func forEach(_ body: @escaping @Sendable ([UInt8]) async throws -> Void) async throws -> Bool {
    guard !used.exchange(true, ordering: .acquiringAndReleasing) else { return false }
    try await chunks(body)
    return true
  }
}

/// Keeps the cookies of a page's requests. RFC 6265.
///
/// A transport uses it with every request that has it, from the task that sends; its methods should return quickly.
public protocol CookieStoring: AnyObject, Sendable {
  /// Returns the value of `Cookie` for a request to the URL; `nil` for none. Safe from any thread, without I/O.
  func cookieHeader(for url: PageURL) -> String?

  /// Stores the cookies of a response's `Set-Cookie` fields. RFC 6265 §5.3.
  func receive(_ fields: HTTPFields, from url: PageURL)

  /// Removes all cookies.
  func removeAll()
}

/// The reason why a transfer gave no complete response. Every case names the URL.
public enum TransportError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The text is not a URL that can be fetched.
  case invalidURL(String)
  /// The host's name has no address.
  case cannotResolve(url: String, reason: String)
  /// No connection could be made.
  case cannotConnect(url: String, reason: String)
  /// The server's certificate was refused, or TLS failed otherwise.
  case insecure(url: String, reason: String)
  /// The response was not complete within the time limit.
  case timedOut(url: String, after: Duration)
  /// The transfer was slower than ``TransferLimits/lowSpeedBytesPerSecond`` for ``TransferLimits/lowSpeedTime``.
  case tooSlow(url: String, bytesPerSecond: Int, over: Duration)
  /// The connection ended before the response was complete, after `received` bytes of the body.
  case closedEarly(url: String, received: Int64, reason: String)
  /// The body has more than `limit` wire bytes.
  case tooLarge(url: String, limit: Int64)
  /// The response is not valid HTTP.
  case malformed(url: String, reason: String)
  /// The transport must not connect to the host's address.
  case notPermitted(url: String, address: String, reason: String)
  /// The request's own body failed or had another length than announced, so that the request was not sent completely.
  case requestBody(url: String, reason: String)
  /// The transport was shut down.
  case shutDown(url: String)
  /// Another failure, with libcurl's code.
  case failed(url: String, code: Int, reason: String)

  /// `true` if the same request may succeed a little later.
  public var isTransient: Bool {
    switch self {
    case .cannotResolve, .cannotConnect, .timedOut, .tooSlow, .closedEarly, .failed: true
    case .invalidURL, .insecure, .tooLarge, .malformed, .notPermitted, .requestBody, .shutDown: false
    }
  }

  public var description: String {
    switch self {
    case .invalidURL(let url): "\"\(url)\" is not a URL that can be fetched"
    case .cannotResolve(let url, let reason): "\(url): the host's name cannot be resolved: \(reason)"
    case .cannotConnect(let url, let reason): "\(url): cannot connect: \(reason)"
    case .insecure(let url, let reason): "\(url): no secure connection: \(reason)"
    case .timedOut(let url, let after): "\(url): no complete answer within \(after.inSeconds)"
    case .tooSlow(let url, let bytesPerSecond, let over):
      "\(url): slower than \(bytesPerSecond) bytes a second for \(over.inSeconds)"
    case .closedEarly(let url, let received, let reason):
      "\(url): the connection ended after \(received) bytes of the body: \(reason)"
    case .tooLarge(let url, let limit): "\(url): the answer has more than the limit of \(limit) bytes"
    case .malformed(let url, let reason): "\(url): the answer is not valid HTTP: \(reason)"
    case .notPermitted(let url, let address, let reason):
      "\(url): \(address) may not be asked: \(reason)"
    case .requestBody(let url, let reason): "\(url): the request's body could not be sent whole: \(reason)"
    case .shutDown(let url): "\(url): the transport was shut down"
    case .failed(let url, let code, let reason): "\(url): \(reason) (libcurl code \(code))"
    }
  }
}
