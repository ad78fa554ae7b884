import HTTPTypes

/// A request as the origin received it.
public struct OriginRequest: Hashable, Sendable {
  /// The index among all requests of the origin, from 0.
  public let index: Int
  /// The number of its connection, from 0. Requests on the same connection have the same number.
  public let connection: Int
  /// The method.
  public let method: HTTPRequest.Method
  /// The request target as received: the path with its query.
  public let path: String
  /// The fields as received.
  public internal(set) var headers: HTTPFields
  /// The body up to the limit of ``FaultOrigin/start(port:recordedBodyBytes:on:)``.
  public let body: [UInt8]
  /// The size of the whole body in bytes.
  public let bodySize: Int
  /// The trailer fields of a chunked body.
  public let trailers: HTTPFields
  /// The time at which the head had arrived.
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
