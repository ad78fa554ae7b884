import CCurl
import Foundation
import HTTPTransport
import HTTPTypes

/// A transport for HTTP/1.1 and, over TLS, HTTP/2, with libcurl. One thread owns a `curl_multi` and gets messages from
/// the others.
///
/// Connections are kept and reused. Proxies come from the environment (`http_proxy`, `HTTPS_PROXY`, `ALL_PROXY`,
/// `NO_PROXY`). The body arrives as wire bytes: redirects are not followed and `Content-Encoding` is not decoded.
/// Cookies are sent and kept if a request has a store for them, such as a ``CookieJar``. A transport that is released
/// without ``shutDown()`` ends when the last body of its responses is released.
///
///     let transport = try CurlTransport(.init(certificateAuthorities: "/etc/shop/ca.pem", connectionsPerHost: 6))
///     let loader = ResourceLoader(cache: try .shared, transport: transport)
///     await loader.shutDown()
///     await transport.shutDown()  // before the process exits
public final class CurlTransport: CallbackTransporting {
  /// The configuration of a transport.
  public struct Configuration: Sendable {
    /// The path of a PEM file of certificate authorities; `nil`, the default, for the system's.
    public var certificateAuthorities: String?
    /// The largest number of open connections to one host; 16 by default.
    public var connectionsPerHost: Int
    /// The largest number of open connections, including idle ones; 64 by default.
    public var connections: Int
    /// The value of `User-Agent` for requests without one; `PageKit` by default.
    public var userAgent: String
    /// Takes proxies from the environment; `false` for no proxy.
    public var usesEnvironmentProxies = true
    /// Shares HTTP/2 connections among transfers to one host. libcurl 7.88 then lets a server send 32 MiB ahead of a
    /// reader; on a connection of its own an unread body waits in the sockets' buffers.
    package var sharesConnections = true
    /// Decides before each request, also on a reused connection, whether it may be sent. Gets the URL's host, and the
    /// address and port of the connection; returns the reason to refuse the request, or `nil` to send it.
    public var refusal: (@Sendable (_ host: String, _ address: String, _ port: Int) -> String?)?

    /// Makes a configuration with the given values.
    public init(
      certificateAuthorities: String? = nil, connectionsPerHost: Int = 16, connections: Int = 64,
      userAgent: String = "PageKit"
    ) {
      self.certificateAuthorities = certificateAuthorities
      self.connectionsPerHost = connectionsPerHost
      self.connections = connections
      self.userAgent = userAgent
    }
  }

  private let mailbox: CurlMailbox
  private let thread: CurlThread

  /// Makes a transport, and starts its thread.
  ///
  /// - Throws: ``TransportError`` if libcurl cannot be loaded or set up.
  public init(_ configuration: Configuration = Configuration()) throws {
    let mailbox = try CurlMailbox()
    self.mailbox = mailbox
    // The thread alone uses both from the moment that it begins.
    nonisolated(unsafe) let multi = try CurlMailbox.handle { curl_multi_init() }
    do {
      nonisolated(unsafe) let loop = try CurlLoop(multi: multi, mailbox: mailbox, configuration: configuration)
      thread = try CurlThread { loop.run() }
    } catch {
      curl_multi_cleanup(multi)
      throw error
    }
  }

  /// Only once no request waits for its head and no body is read: they keep the transport. It may be the thread itself
  /// that releases it last, so that nothing is waited for here.
  deinit { mailbox.post(.stop) }

  /// Sends a request, and returns when the final head has arrived.
  ///
  /// - Throws: ``TransportError``, `CancellationError`.
  public func send(_ request: TransportRequest) async throws -> TransportResponse {
    try Task.checkCancellation()
    guard let target = RequestTarget(of: request) else { throw TransportError.invalidURL(request.url) }
    guard request.stream?.isUsed != true else {
      throw TransportError.requestBody(url: request.url, reason: RequestFeed.Fault.sentBefore.description)
    }
    let (transfer, cookies) = start(request, target)
    return response(try await transfer.head(), of: transfer, cookies)
  }

  package var mayBegin: Bool { true }

  package func begin(
    _ request: TransportRequest, on loop: @escaping EventLoopCall,
    _ receive: @escaping @Sendable (Result<TransportResponse, any Error>) -> Void
  ) -> (@Sendable () -> Void)? {
    // A stream is read by a task.
    guard request.stream == nil else { return nil }
    guard let target = RequestTarget(of: request) else {
      loop { receive(.failure(TransportError.invalidURL(request.url))) }
      return {}
    }
    let (transfer, cookies) = start(request, target)
    transfer.receiveHead { [self] head in
      loop { [self] in receive(head.map { response($0, of: transfer, cookies) }) }
    }
    return { transfer.abandon() }
  }

  /// The store that gets the cookies of a response, and their URL.
  private typealias CookieReceiver = (store: any CookieStoring, url: PageURL)

  private func start(_ request: TransportRequest, _ target: RequestTarget) -> (Transfer, CookieReceiver?) {
    var request = request
    let cookies = request.addCookies()
    let transfer = Transfer(request: request, target: target, mailbox: mailbox)
    mailbox.post(.start(transfer))
    return (transfer, cookies)
  }

  private func response(
    _ head: HTTPResponse, of transfer: Transfer, _ cookies: CookieReceiver?
  ) -> TransportResponse {
    if let (store, url) = cookies, head.headerFields[.setCookie] != nil { store.receive(head.headerFields, from: url) }
    return TransportResponse(head: head, body: body(of: transfer), version: transfer.version)
  }

  private func body(of transfer: Transfer) -> Body {
    if let bytes = transfer.removeWholeBody() { return Body(bytes, summary: transfer.summary) }
    // Releasing the body ends a transfer that is no longer read.
    let lease = TransferLease(transfer, of: self)
    var body = Body(
      next: { try await lease.transfer.nextChunk() }, summary: { lease.transfer.summary }, callbacks: lease)
    body.url = transfer.request.url
    return body
  }

  /// Ends every transfer with ``TransportError/shutDown(url:)``, and returns when the transport's thread has ended;
  /// later requests fail at once. To be called before the process exits, which cleans OpenSSL up even if transfers use
  /// it.
  public func shutDown() async {
    mailbox.post(.stop)
    await thread.end()
  }

  /// The versions of libcurl and of the libraries that it was built with, as it reports them; or the reason why it cannot be
  /// loaded.
  package static var libraryVersion: String { String(cString: pk_load_curl() ?? UnsafePointer(curl_version())) }

  /// Begins to load libcurl on a thread of its own, which takes a few milliseconds, for a process that will soon send a
  /// request. A transport that is made meanwhile waits for that.
  ///
  /// It is not set up there: libcrypto's clean-up at the exit of a process must not meet its set-up.
  package static func loadAhead() { Thread.detachNewThread { _ = pk_load_curl() } }
}

/// Cancels its transfer when its last reader is released. Until then the transport has an owner, and so its thread goes
/// on.
private final class TransferLease: CallbackReading {
  let transfer: Transfer
  private let transport: CurlTransport

  var summary: TransferSummary { transfer.summary }

  init(_ transfer: Transfer, of transport: CurlTransport) { (self.transfer, self.transport) = (transfer, transport) }

  func next(on loop: @escaping EventLoopCall, _ receive: @escaping @Sendable (Result<[UInt8]?, any Error>) -> Void) {
    transfer.receiveChunk { chunk in loop { receive(chunk) } }
  }

  deinit { transfer.abandon() }
}
