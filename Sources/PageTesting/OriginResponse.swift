import HTTPTypes

/// A response of a ``FaultOrigin`` before faults are applied.
///
/// The origin adds `Content-Length` and the fields of the connection.
public struct OriginResponse: Hashable, Sendable {
  /// The status.
  public var status: HTTPResponse.Status
  /// The fields.
  public var headers: HTTPFields
  /// The body; not sent for `HEAD`, nor with a status without content.
  public var body: [UInt8] {
    get { Array(bytes) }
    set { bytes = newValue[...] }
  }

  /// The body as a slice, so that a range of a large body shares its memory.
  package var bytes: ArraySlice<UInt8>

  /// Creates a response.
  ///
  /// - Parameters:
  ///   - status: the status; 200 by default.
  ///   - headers: the fields.
  ///   - body: the content.
  public init(
    status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], body: some Sequence<UInt8> = [UInt8]()
  ) {
    self.init(status: status, headers: headers, bytes: Array(body)[...])
  }

  package init(status: HTTPResponse.Status, headers: HTTPFields, bytes: ArraySlice<UInt8>) {
    self.status = status
    self.headers = headers
    self.bytes = bytes
  }

  /// A response with plain text.
  static func plain(_ status: HTTPResponse.Status, _ text: String) -> OriginResponse {
    OriginResponse(status: status, headers: [.contentType: "text/plain; charset=utf-8"], body: text.utf8)
  }
}
