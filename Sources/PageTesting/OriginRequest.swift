import HTTPTypes

/// A request as the origin received it.
public struct OriginRequest: Hashable, Sendable {
  /// Its place among all requests of the origin, from 0.
  public let index: Int
  /// The number of the connection it came on, from 0: two requests with the same number shared one.
  public let connection: Int
  public let method: HTTPRequest.Method
  /// The request target as it was sent: the path with its query.
  public let path: String
  public internal(set) var headers: HTTPFields
  /// The body, cut after the bytes that the origin records (1 MiB unless told otherwise).
  public let body: [UInt8]
  /// The size of the whole body in bytes, also where `body` is cut.
  public let bodySize: Int
  /// The fields after a body in chunks.
  public let trailers: HTTPFields
  /// When its head had arrived.
  public let began: ContinuousClock.Instant

  /// The recorded body as text.
  public var text: String { String(decoding: body, as: UTF8.self) }

  init(_ received: ReceivedRequest, index: Int, connection: Int) {
    self.index = index
    self.connection = connection
    method = received.method
    path = received.path
    headers = received.headers
    body = received.body
    bodySize = received.bodySize
    trailers = received.trailers
    began = received.began
  }
}
