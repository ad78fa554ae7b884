import CCurl
import Foundation
import HTTPTransport
import HTTPTypes

/// HTTP through libcurl: one thread owns one `curl_multi`, everything else sends it messages.
///
/// HTTP/1.1 and, over TLS, HTTP/2; connections are kept and reused. Proxies come from the environment
/// (`http_proxy`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`). The body arrives as wire bytes: redirects are not
/// followed and `Content-Encoding` is not undone. Cookies are sent and kept where a request has a store for them, such
/// as a ``CookieJar``.
public final class CurlTransport: HTTPTransporting {
  public struct Configuration: Sendable {
    /// A PEM file of certificate authorities instead of the system's.
    public var certificateAuthorities: String?
    /// Open connections to one host at once.
    public var connectionsPerHost: Int
    /// Open connections at once, idle ones included.
    public var connections: Int
    /// Sent unless the request has one of its own.
    public var userAgent: String
    /// Whether proxies come from the environment; false for no proxy.
    public var usesEnvironmentProxies = true
    /// Whether transfers to one host share an HTTP/2 connection. libcurl 7.88 lets a server send 32 MiB ahead of a
    /// reader there; on a connection of its own an unread body waits in the sockets' buffers.
    public var sharesConnections = true
    /// Asked before each request is sent, on a connection that is used again too, with the URL's host and the address
    /// and port that it is connected to. Why the request may not go there; nil lets it go.
    public var refusal: (@Sendable (_ host: String, _ address: String, _ port: Int) -> String?)?

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

  /// - Throws: ``TransportError`` where libcurl cannot be set up.
  public init(_ configuration: Configuration = Configuration()) throws {
    let mailbox = try CurlMailbox()
    self.mailbox = mailbox
    thread = try CurlThread { CurlLoop(mailbox: mailbox, configuration: configuration).run() }
  }

  deinit { mailbox.post(.stop) }

  public func send(_ request: TransportRequest) async throws -> TransportResponse {
    try Task.checkCancellation()
    guard RequestTarget(of: request) != nil else { throw TransportError.invalidURL(request.url) }
    guard request.stream?.isTaken != true else {
      throw TransportError.requestBody(url: request.url, reason: RequestFeed.Fault.sentBefore.description)
    }
    let added = AddedCookies(to: request)
    let transfer = Transfer(request: added?.request ?? request, mailbox: mailbox)
    mailbox.post(.start(transfer))
    let head = try await transfer.head()
    added?.receive(head)
    // Letting go of the body must end a transfer that nobody reads any more.
    let lease = TransferLease(transfer)
    var body = Body(next: { try await lease.transfer.nextChunk() }, summary: { lease.transfer.summary })
    body.url = request.url
    return TransportResponse(head: head, body: body, version: transfer.version)
  }

  /// Ends every transfer with ``TransportError/shutDown(url:)``, and returns when the thread of its own has ended;
  /// later requests fail at once. A process that exits without this tears OpenSSL down beside transfers that use it.
  public func shutDown() async {
    mailbox.post(.stop)
    await thread.end()
  }

  /// libcurl's version and the libraries it was built with, as it reports them.
  public static var libraryVersion: String { String(cString: curl_version()) }
}

/// Cancels its transfer when the last reader has gone.
private final class TransferLease: Sendable {
  let transfer: Transfer

  init(_ transfer: Transfer) { self.transfer = transfer }

  deinit { transfer.abandon() }
}
