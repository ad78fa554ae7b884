/// Why a transfer gave no (whole) answer. Every case names the URL.
public enum TransportError: Error, Hashable, Sendable, CustomStringConvertible {
  case invalidURL(String)
  case cannotResolve(url: String, reason: String)
  case cannotConnect(url: String, reason: String)
  /// The certificate was not accepted, or TLS failed otherwise.
  case insecure(url: String, reason: String)
  case timedOut(url: String, after: Duration)
  /// Slower than the limit for the limit's time.
  case tooSlow(url: String, bytesPerSecond: Int, over: Duration)
  /// The connection ended before the answer did.
  case closedEarly(url: String, received: Int64, reason: String)
  /// More wire bytes than allowed.
  case tooLarge(url: String, limit: Int64)
  /// What came is not HTTP.
  case malformed(url: String, reason: String)
  /// The transport may not talk to the address that the host has.
  case notPermitted(url: String, address: String, reason: String)
  /// The request's own body failed, or was not as long as announced: the request did not go out whole.
  case requestBody(url: String, reason: String)
  /// The transport was shut down.
  case shutDown(url: String)
  case failed(url: String, code: Int, reason: String)

  /// Whether the same request may succeed a little later.
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

extension Duration {
  /// For messages: whole or decimal seconds.
  public var inSeconds: String {
    let value = seconds
    return value == value.rounded() ? "\(Int64(value)) s" : "\((value * 1000).rounded() / 1000) s"
  }

  /// As JSON has durations.
  public var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
