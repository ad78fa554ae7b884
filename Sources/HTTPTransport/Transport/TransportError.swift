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
